"""Refusals and remarks of readers; their texts, with the settings that help, are data.

`messages.json` holds the texts. In them ``{name}`` stands for a value, and ``!n`` writes a list of
names. ``{n} {n:feature is|features are}`` is singular if n is 1. ``{labels!o}`` is a setting with
its value, and ``{normalise=counts!o}`` a setting with this value. A text keeps its settings, so
that the command can print the options.
"""

from __future__ import annotations

import json
import math
import shlex
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml

from sparsekm.io.input_error import InputError, reason_of

MOST_SHOWN = 10  # names in a message that only describes

# All texts; commands that convert other formats, by ending; kinds of files, by first bytes.
_TEXTS = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))
CONVERSIONS, FIRST_BYTES = _TEXTS["convert"], _TEXTS["first bytes"]
_FLOW = {"default_flow_style": True, "width": math.inf, "sort_keys": False, "allow_unicode": True}


class Way(NamedTuple):
    """One way out of a refusal, or to read a table otherwise."""

    settings: dict[str, Any]
    meaning: str = ""
    preview: Sequence[str] = ()  # lines of the table as it is read then


class Said(str):
    """A text with the settings that it names, and their values."""

    __slots__ = ("ways",)

    def __new__(cls, text: str, ways: Sequence[Way] = ()) -> Said:
        """Make a text with ways out."""
        said = super().__new__(cls, text)
        said.ways = [*ways]
        return said


class MatrixError(InputError):
    """A user's matrix cannot be used; the message gives the problem, its place and the rule.

    Each of the `ways` is a set of settings that solves the problem.
    """

    def __init__(self, message: str, ways: Sequence[Way] | None = None) -> None:
        super().__init__(message)
        self.ways = getattr(message, "ways", []) if ways is None else [*ways]


def name_some(names: Sequence[object], most: int = MOST_SHOWN) -> str:
    """List the first `most` names, and the number of further ones."""
    more = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def written(settings: Mapping[str, Any]) -> str:
    """Write settings as in a configuration, such as ``ignore: [a, b], transpose: true``."""
    plain = {key: [*of] if isinstance(of, tuple) else of for key, of in settings.items()}
    return yaml.safe_dump(plain, **_FLOW).strip()[1:-1]


class _Texts(string.Formatter):
    """Writes texts; ``{name!o}`` and ``{name=value!o}`` are settings, which it notes."""

    def __init__(self) -> None:
        self.ways: list[Way] = []

    def get_field(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self._key, _, value = name.partition("=")
        return (yaml.safe_load(value), name) if value else super().get_field(name, args, kwargs)

    def format_field(self, value: Any, spec: str) -> str:
        one, is_either, many = spec.partition("|")
        return (one if value == 1 else many) if is_either else super().format_field(value, spec)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "o":
            self.ways.append(Way({self._key: value}))
            return written({self._key: value})
        self.ways += getattr(value, "ways", [])
        return name_some(value) if conversion == "n" else super().convert_field(value, conversion)


def say(key: str, /, **values: Any) -> Said:
    """Return one of the texts in `messages.json`, with its values."""
    texts = _Texts()
    return Said(texts.format(_TEXTS[key], **values), texts.ways)


def refusal(key: str, /, **values: Any) -> MatrixError:
    """Return an error with one of the texts in `messages.json`; `of_file` adds the file."""
    return MatrixError(say(key, **values))


def combine(doubts: Sequence[Said], given: Mapping[str, Any]) -> list[Way]:
    """Return the ways to settle all doubts; settings that are lists extend those in `given`.

    A doubt names its ways, the likeliest first. The first way settles each doubt in its likeliest
    way, and each of the others differs in one.
    """
    firsts = [doubt.ways[0] for doubt in doubts]
    choices = [firsts]
    for at, doubt in enumerate(doubts):
        choices += [[*firsts[:at], way, *firsts[at + 1 :]] for way in doubt.ways[1:]]
    found = []
    for ways in choices:
        settings: dict[str, Any] = {}
        for key, value in (item for way in ways for item in way.settings.items()):
            if isinstance(value, list):
                value = [*dict.fromkeys([*settings.get(key, given.get(key) or ()), *value])]
            settings[key] = value
        meaning = ", and ".join(way.meaning for way in ways if way.meaning)
        found.append(Way(settings, meaning, [line for way in ways for line in way.preview]))
    return found


def ask(doubts: Sequence[Said], given: Mapping[str, Any]) -> NoReturn:
    """Stop with the settings for each way to settle all doubts."""
    ways = combine(doubts, given)
    told = ", or ".join(f"{written(way.settings)} {way.meaning}" for way in ways)
    raise MatrixError(f"{' '.join(filter(None, doubts))} Set {told}.", ways)


@contextmanager
def of_file(file: object) -> Iterator[None]:
    """Let refusals begin with the name of a file."""
    try:
        yield
    except MatrixError as error:
        raise MatrixError(f"{file}: {error}", error.ways) from error
    except PermissionError as error:
        told = say("no_permission")
        raise MatrixError(f"{file}: {told}") from error


def suggest(key: str, name: str, names: Iterable[str], given: Sequence[str] = ()) -> Said:
    """Return a question for the end of a message if a name resembles an existing one.

    The setting is a name, or a list in which it is `given`.
    """
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), list(lower), n=1)
    if not close:
        return Said("")
    found = lower[close[0]]
    settings = {key: [found if one == name else one for one in given] if given else found}
    return Said(f" Do you mean {written(settings)}?", [Way(settings)])


def refuse_format(file: Path, kind: str, ending: str) -> NoReturn:
    """Refuse a file of a known format with the command that converts it."""
    path, stem = shlex.quote(str(file)), file.with_name(file.name[: -len(ending)])
    command = CONVERSIONS[kind].format(file=file, path=path, stem=stem)
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
    except (MatrixError, MemoryError, PermissionError):
        raise
    except Exception as error:
        raise refusal("damage", kind=kind, reason=reason_of(error), cure=cure) from error
