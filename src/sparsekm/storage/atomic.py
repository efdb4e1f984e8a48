"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd


@contextmanager
def atomic_path(file: str | Path) -> Iterator[Path]:
    """Give a temporary name in the same folder, which becomes `file` when the block succeeds.

    Renaming within a folder is atomic, so nobody ever sees a half-written file. When the block
    raises, the temporary file is removed and a file that was there before stays as it was.

    Parameters
    ----------
    file : path
        The final name; its folder is made where it does not exist.

    Yields
    ------
    temporary : Path
        Ends in the same suffix as `file`, since some writers look at it.
    """
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{os.getpid()}.partial.{file.name}")
    try:
        yield temporary
        with temporary.open("rb") as written:
            # Without this a crash of the machine could leave the new name with no content.
            os.fsync(written.fileno())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(table: pd.DataFrame, file: str | Path) -> None:
    """Write a table as UTF-8 CSV without its index, whole or not at all."""
    with atomic_path(file) as temporary:
        table.to_csv(temporary, index=False)


def write_text(text: str, file: str | Path) -> None:
    """Write a text as UTF-8, whole or not at all."""
    with atomic_path(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
