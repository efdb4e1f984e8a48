"""A process of its own that tries the documented inputs, each within bounds, and tells what came.

python run_documented.py {folder of sound files} {scratch folder}
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from documented_inputs import INPUTS
from guard import bound_process, trial


def main(sound: Path, scratch: Path) -> None:
    """Make every input, and measure how it is read."""
    warnings.simplefilter("ignore")
    watch = bound_process(scratch)
    for number, (name, make) in enumerate(INPUTS.items()):
        folder = scratch / f"input{number}"
        folder.mkdir()
        message, kind = "", ""
        read = make(sound, folder)
        with trial(watch) as cost:
            try:
                read()
            except Exception as error:
                message, kind = str(error).replace(str(folder) + "/", ""), type(error).__name__
        told = {"name": name, "message": message, "kind": kind, "ran": (folder / "ran").exists()}
        told |= {"seconds": cost.seconds, "bytes": cost.bytes, "offences": watch.offences}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
