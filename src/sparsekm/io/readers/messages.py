"""What readers say: refusals and remarks, whose texts with the settings that help are data.

`messages.json` holds the texts. In them ``{name}`` stands for a value; ``!n`` writes names to be
read, ``!l`` a list that can be pasted into a setting, and ``!q`` one name likewise.
"""

from __future__ import annotations

import json
import re
import shlex
import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from sparsekm.io.input_error import InputError, reason_of

MOST_SHOWN = 10  # names in a message that only describes

# Endings of formats that are not read, and the command that writes one that is; all messages.
KNOWN_FORMATS, _TEXTS = (
    json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    for name in ("known_formats", "messages")
)
_BARE = re.compile(r"[A-Za-z0-9_][\w .+/()%-]*(?<! )")
_NOT_TEXT = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n|0[\dxo].*|\d.*[.e_:].*)")


class MatrixError(InputError):
    """A user's matrix cannot be used; the message gives the problem, its place and the rule."""


def quoted(name: object) -> str:
    """Write a name as YAML reads it back in a list: in quotation marks where it needs them."""
    is_bare = not isinstance(name, str) or (_BARE.fullmatch(name) and not _NOT_TEXT.fullmatch(name))
    return str(name) if is_bare else json.dumps(name, ensure_ascii=False)


def shown(names: Sequence[object], most: int = MOST_SHOWN) -> str:
    """Write the first names of a list that is only described."""
    return f"[{', '.join(map(str, names[:most]))}{', ...' if len(names) > most else ''}]"


class _Texts(string.Formatter):
    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "l":
            return f"[{', '.join(map(quoted, value))}]"
        write = {"n": shown, "q": quoted}.get(conversion or "")
        return write(value) if write else super().convert_field(value, conversion)


def say(key: str, /, **values: Any) -> str:
    """Return one of the texts in `messages.json`, with its values."""
    return _Texts().format(_TEXTS[key], **values)


def refusal(key: str, /, **values: Any) -> MatrixError:
    """Return an error with one of the texts in `messages.json`; `of_file` adds the file."""
    return MatrixError(say(key, **values))


@contextmanager
def of_file(file: object) -> Iterator[None]:
    """Let refusals begin with the name of a file."""
    try:
        yield
    except MatrixError as error:
        raise MatrixError(f"{file}: {error}") from error


def suggest(key: str, name: str, names: Iterable[str]) -> str:
    """Return a question for the end of a message if a name resembles one that there is."""
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), list(lower), n=1)
    if not close:
        return ""
    found = quoted(lower[close[0]])
    return f" Do you mean {key}: {f'[{found}]' if key in ('ignore', 'keep') else found}?"


def refuse_format(file: Path, kind: str, ending: str) -> NoReturn:
    """Refuse a file of a known format with the command that converts it."""
    path, stem = shlex.quote(str(file)), file.with_name(file.name[: -len(ending)])
    command = KNOWN_FORMATS[kind].format(file=file, path=path, stem=stem)
    raise refusal("format", kind=ending if kind.startswith(".") else kind, command=command)


def need(package: str, what: str, extra: str) -> Any:
    """Import a package that is optional, or name the extra that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise refusal("lacks_package", what=what, package=package, extra=extra) from error


@contextmanager
def explain_damage(kind: str, cure: str) -> Iterator[None]:
    """Turn any error of a library that reads a damaged file into a `MatrixError`."""
    try:
        yield
    except (MatrixError, MemoryError):
        raise
    except Exception as error:
        raise refusal("damage", kind=kind, reason=reason_of(error), cure=cure) from error
