"""Check that the servers of the atlas still answer as expected: make check-allen.

This takes at most forty requests, one after another, and stores nothing. It prints a table, and
exits with status 1 if anything differs.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))


def main() -> int:
    """Run the checks and print the table."""
    from sparsekm.atlas.allen import DOWNLOAD_URL, URL, AllenSource, check_servers

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=URL)
    parser.add_argument("--download-url", default=DOWNLOAD_URL)
    parser.add_argument("--contact", default="", help="an address for the servers' operators")
    # There is one attempt each, because the table should show failures.
    findings = check_servers(AllenSource(**vars(parser.parse_args()), tries=1))
    print(findings.to_string(index=False))
    return 0 if findings["agrees"].all() else 1


if __name__ == "__main__":
    sys.exit(main())
