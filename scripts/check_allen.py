"""Check that the servers of the atlas still answer as expected: make check-allen.

This takes at most forty requests, one after another, and keeps nothing. It prints a table, and
exits with status 1 if anything differs.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))


def main() -> int:
    """Run the checks and print the table."""
    from sparsekm.atlas.allen import DOWNLOAD_URL, URL, Client
    from sparsekm.atlas.live_check import check_servers, format_findings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default=URL)
    parser.add_argument("--download-url", default=DOWNLOAD_URL)
    parser.add_argument("--contact", default="", help="an address for the servers' operators")
    arguments = parser.parse_args()
    # One attempt each, since the table should show failures.
    client = Client(arguments.contact, tries=1)
    findings = check_servers(client, arguments.url, arguments.download_url)
    print(format_findings(findings))
    return 0 if all(finding.agrees for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
