"""How text that may be of any length and hold any character is shown in one short line."""

from __future__ import annotations


def escape_unprintable(text: str) -> str:
    """Write characters that do not print, such as line breaks, as in Python and YAML."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def shorten(text: str, most: int) -> str:
    """Leave out the middle of a text of more than `most` characters."""
    if len(text) <= most:
        return text
    end = (most - 5) // 2
    return f"{text[: most - 5 - end].rstrip()} ... {text[-end:].lstrip()}"
