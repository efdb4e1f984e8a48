"""The error that every reader raises for an unusable file, and how it shows any text."""

from __future__ import annotations

import re
from pathlib import Path

MOST_CHARACTERS = 1000
"""Maximum length of a message, because it may quote a value of any length."""

MOST_OF_ADVICE = 10_000
"""Maximum length of its advice, which begins with "Set". It is complete and can be pasted."""


def escape_unprintable(text: str) -> str:
    """Write characters that do not print, such as line breaks, as in Python and YAML."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


# User, password and query of an address, or of the part that urllib3 quotes after "url: ". A
# password may contain a slash that should have been escaped.
_SECRETS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{0,20}://|\burl:\ )
    (?:[^\s/?#'"]{0,2000}@ | [^\s/?#'"]{0,200}:(?!\d*[/?#'"\s])[^\s'"]{0,2000}@)?
    ([^\s?#'"]*) (?:[?#](?:[^\s'"]*[^\s'":;,.)])?)?""",
    re.IGNORECASE | re.VERBOSE,
)


def hide_secrets(text: str) -> str:
    """Remove user, password and query from every address in a text.

    Examples
    --------
    >>> hide_secrets("https://me:secret@host.org/sets.gmt?token=secret: no such file.")
    'https://host.org/sets.gmt: no such file.'
    """
    return _SECRETS.sub(r"\1\2", text)


def shorten(text: str, most: int) -> str:
    """Leave out the middle of a text of more than `most` characters."""
    if len(text) <= most:
        return text
    end = (most - 5) // 2
    return f"{text[: most - 5 - end].rstrip()} ... {text[-end:].lstrip()}"


class InputError(ValueError):
    """A file that cannot be used; the message names the file, the problem and the rule.

    The message may quote anything from the file, and goes to terminals and logs. Therefore it is
    one line of at most `MOST_CHARACTERS` printable characters, and `MOST_OF_ADVICE` from "Set" on.
    """

    def __init__(self, message: str) -> None:
        what, mark, advice = message.partition(" Set ")
        what = escape_unprintable(shorten(what, MOST_CHARACTERS))[: 2 * MOST_CHARACTERS]
        super().__init__(what + mark + escape_unprintable(advice)[:MOST_OF_ADVICE])


def check_file(file: str | Path, *, or_folder: bool = False) -> None:
    """Refuse a path that does not exist or cannot be read twice."""
    path = Path(file)
    if not path.exists():
        raise FileNotFoundError(f"{file}: no such file.")
    if not (path.is_file() or (or_folder and path.is_dir())):
        raise InputError(
            f"{file}: should be a file; it is a folder, a pipe, a socket or a device. A pipe can "
            "be read only once, so let the program write to a file."
        )


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    # A KeyError's message is the key in quotation marks.
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = text.strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def is_storable(text: str) -> bool:
    """Tell whether files can hold a text, without NUL and unpaired surrogates."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
