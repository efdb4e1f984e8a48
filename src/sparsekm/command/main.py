"""The command line of ``sparsekm``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sparsekm
from sparsekm.command.refusals import CommandError
from sparsekm.command.signals import Stopped, stoppable
from sparsekm.io.input_error import escape_unprintable
from sparsekm.io.readers.messages import Way
from sparsekm.io.table_settings import TABLE_SETTINGS, VALUE_SETTINGS, add_options, options_of
from sparsekm.pipeline.registry import DEFAULT_METHODS, METHODS
from sparsekm.runtime.unread_settings import leave_unread

_FORMATS = "a file (.csv .tsv .txt .gct, also .gz; .xlsx .parquet .h5ad .zarr .npz .h5)"
_EXAMPLES = """examples:
  sparsekm run tumours.csv --labels kind
  sparsekm run counts.tsv.gz --clusters 4 --batch plate --output by-plate

documentation: README.md and docs/own_data.md in the source of sparsekm; help(sparsekm) in Python
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, and return the exit status."""
    for number in range(3):
        # If a stream was closed, a file that is opened later would take its number and be written
        # to.
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        # A terminal with another encoding shows unknown characters as escapes.
        stream.reconfigure(errors="backslashreplace")
    leave_unread()
    # An empty entry of PYTHONPATH means this folder, whose files are the user's and not modules.
    sys.path[:] = [path for path in sys.path if Path(path).absolute() != Path.cwd()]
    options = _parser().parse_args(arguments)
    try:
        with stoppable():
            if sys.flags.optimize > 1:
                raise CommandError("no_docstrings", level=sys.flags.optimize)
            if options.command == "predict":
                from sparsekm.command.tables import predict_table as work
            else:
                from sparsekm.command.run import run_table as work
            return work(options)
    except BrokenPipeError:
        # Otherwise Python would fail again when it flushes its output.
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        print(
            "sparsekm: the output pipe was closed. Keep it open, or add --quiet.",
            file=sys.stderr,
        )
        return 2
    except (CommandError, ValueError, OSError) as error:
        ways, typed = getattr(error, "ways", []), sys.argv[1:] if arguments is None else arguments
        told = str(error)
        if any(way.meaning for way in ways):
            # The commands below replace the rest of the message.
            told = told.partition(" Set ")[0]
        print(*(f"sparsekm: {told}", *_cures(ways, typed)), sep="\n", file=sys.stderr)
        return 2
    except Stopped as stopped:
        how = f"stopped by {stopped.signal.name}; run the same command to continue."
        print(f"sparsekm: {how}", file=sys.stderr)
        return 128 + stopped.signal


def _cures(ways: Sequence[Way], typed: Sequence[str]) -> Iterator[str]:
    """Write the meaning of each way out, a preview, and the command, which can be pasted."""
    for way in ways:
        if way.meaning:
            yield f"  {way.meaning}:"
        kept = _without_lists(typed, way.settings)
        command = [f"    sparsekm {shlex.join(kept)}", *options_of(way.settings)]
        yield from map(
            escape_unprintable, [*(f"      {line}" for line in way.preview), " ".join(command)]
        )


def _without_lists(typed: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return the typed arguments without the lists in these settings, which are replaced."""
    flags = [one.flag for one in TABLE_SETTINGS if isinstance(settings.get(one.name), list)]
    kept, is_kept = [], True
    for text in typed:
        is_kept = text.partition("=")[0] not in flags if text[:2] == "--" else is_kept
        kept += [text] * is_kept
    return kept


def _cores(text: str) -> str:
    """Check a number of cores, or "all"."""
    if text != "all" and not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} should be a whole number >= 1, or all")
    return text


def _profile(text: str) -> str:
    """Return the absolute path of a profile, or its name, which Snakemake looks up."""
    return str(Path(text).absolute()) if "/" in text else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sparsekm", description=sparsekm.__doc__)
    parser.add_argument("--version", action="version", version=f"sparsekm {sparsekm.__version__}")
    commands = parser.add_subparsers(required=True, dest="command", metavar="run | predict")
    _add_run(commands)
    _add_predict(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        usage="sparsekm run TABLE [options]",
        help="cluster a table and write a report",
        description="Cluster the samples of a table and keep the features that separate the "
        "clusters.\nAll output goes to one folder, with a configuration that you can edit and run "
        "again.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    table = f"{_FORMATS}, a 10x folder, or a config.yaml"
    run.add_argument("table", type=Path, metavar="TABLE", help=table)
    add_options(run, [setting.name for setting in TABLE_SETTINGS])
    known = f"one or more of {', '.join(METHODS)} (default: {' '.join(DEFAULT_METHODS)})"
    shown = {"choices": METHODS, "metavar": "METHOD", "help": known}
    how = run.add_argument_group("the run")
    how.add_argument("--methods", nargs="+", **shown)
    folder = "the folder to write (default: sparsekm-TABLE)"
    how.add_argument("--output", type=Path, metavar="DIR", help=folder)
    cores = "the number of cores (default: all, or as in the profile)"
    how.add_argument("--cores", type=_cores, metavar="N", help=cores)
    profile = "a Snakemake profile, such as one for Slurm: its name, or its path (with a slash)"
    how.add_argument("--profile", type=_profile, metavar="P", help=profile)
    for flag, meaning in (
        ("--force", "replace results of other settings"),
        ("--dry-run", "read the table, print a summary, and stop"),
        ("--quiet", "print errors only"),
    ):
        how.add_argument(flag, action="store_true", default=None, help=meaning)


def _add_predict(commands: Any) -> None:
    new = commands.add_parser(
        "predict",
        usage="sparsekm predict RUN TABLE [options]",
        help="assign the samples of another table to the clusters of a run",
        description="Assign each sample of a table to the nearest cluster that a run found, "
        "or to none of them. Features are matched by name; those that the run lacks are ignored.",
    )
    new.add_argument("run", type=Path, metavar="RUN", help="the folder of the run")
    new.add_argument("table", type=Path, metavar="TABLE", help=f"{_FORMATS} or a 10x folder")
    new.add_argument("--dataset", metavar="NAME", help="the data set, if the run has several")
    new.add_argument(
        "--method",
        choices=METHODS,
        metavar="METHOD",
        help=f"one of {', '.join(METHODS)} (default: the one that the report shows first)",
    )
    new.add_argument(
        "--scaling",
        choices=("run", "own"),
        default="run",
        help="run: standardise as in the run (default); own: standardise TABLE by itself",
    )
    file = "the file to write (default: TABLE-clusters.csv)"
    new.add_argument("--output", type=Path, metavar="CSV", help=file)
    new.add_argument("--force", action="store_true", help="replace an earlier output")
    new.add_argument("--quiet", action="store_true", help="print errors only")
    add_options(new, VALUE_SETTINGS)


if __name__ == "__main__":
    sys.exit(main())
