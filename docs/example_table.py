"""Draw the table of docs/own_data.md for the example report: example_table.py FOLDER."""

import os
import re
import sys
from pathlib import Path

page = Path(__file__).with_name("own_data.md").read_text(encoding="utf-8")
block = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)[1]
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
exec(block)
