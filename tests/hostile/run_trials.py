"""A process of its own that reads mutants, and tells about each one on its standard output.

    python run_trials.py {folder of sound files} {scratch folder} {root seed} {first} {end}

One line of JSON before a mutant is read and one after; so whoever reads the lines knows which
mutant ended the process, if one did.
"""

from __future__ import annotations

import json
import shutil
import sys
import traceback
import warnings
from pathlib import Path

from guard import MOST_ADDRESS_SPACE, MOST_BYTES, Watch, bound_process, trial
from kinds import KINDS, Kind
from mutations import write_mutant

from sparsekm.storage.input_error import InputError

_SOUND_ENOUGH = (InputError, FileNotFoundError)


def kind_of(number: int) -> Kind:
    """Give the kind of a mutant: all kinds take turns."""
    return KINDS[number % len(KINDS)]


def judge(kind: Kind, error: Exception | None) -> str:
    """Say what is wrong with how a reader ended; nothing where it is as documented."""
    if error is None:
        return ""
    where = "".join(traceback.format_exception(error)[-6:])
    if isinstance(error, AssertionError):
        return f"what was read is not valid: {where}"
    if kind.is_silent or not isinstance(error, _SOUND_ENOUGH):
        return f"{type(error).__name__} is no documented error: {where}"
    message, file = str(error), Path(kind.file)
    if file.name not in message and str(file.parent) not in message:
        return f"the message does not name the file: {message}"
    if "\n" in message or len(message) > 2500:
        return f"the message is not one short line: {message}"
    return ""


def try_mutant(number: int, root: int, sound: Path, scratch: Path, watch: Watch) -> dict:
    """Read one mutant and judge what came of it."""
    kind = kind_of(number)
    others = [(sound / other.file).read_bytes() for other in KINDS[number % 7 :: 7]]
    file = scratch / "mutant" / Path(kind.file).name
    seed = [root, number]
    write_mutant(file, (sound / kind.file).read_bytes(), kind.form, seed, others)
    error = None
    with trial(watch) as cost:
        try:
            kind.check(kind.read(file, sound))
        except Exception as raised:
            error = raised
    fault = judge(kind, error)
    if not fault and watch.offences:
        fault = f"did what no reader may: {watch.offences}"
    most = MOST_ADDRESS_SPACE if kind.form == "hdf5" else MOST_BYTES
    if not fault and cost.bytes > most:
        fault = f"took {cost.bytes} bytes"
    shutil.rmtree(scratch / "mutant")
    return {
        "number": number,
        "kind": kind.name,
        "is_refused": error is not None,
        "fault": fault,
        "seconds": cost.seconds,
        "bytes": cost.bytes,
        "message": str(error)[:300] if error else "",
    }


def main(sound: Path, scratch: Path, root: int, first: int, end: int) -> None:
    """Read the mutants of a range of numbers."""
    warnings.simplefilter("ignore")
    own = scratch / "sound"
    shutil.copytree(sound, own)
    # Once without bounds and damage: whatever is imported late is imported now.
    for kind in KINDS:
        copy = scratch / "copy" / Path(kind.file).name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((own / kind.file).read_bytes())
        kind.check(kind.read(copy, own))
        shutil.rmtree(copy.parent)
    watch = bound_process(scratch)
    for number in range(first, end):
        print(json.dumps({"begins": number}), flush=True)
        print(json.dumps(try_mutant(number, root, own, scratch, watch)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:6]))
