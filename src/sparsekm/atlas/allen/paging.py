"""Collect all rows of a query from its pages, and detect pages that do not fit together.

A page is a range of database rows, and joins can produce more rows than there are objects in the
answer: an object can occur twice, within a page or across a page border. Therefore counts alone do
not distinguish a repeated or shifted page from a join. If there are as many objects as announced
rows, the listing is complete; otherwise it is accepted once two passes with different page borders
agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sparsekm.atlas.envelope import EnvelopeError, open_envelope, require_id
from sparsekm.network import UnavailableError

# Relative page lengths of successive passes, chosen so that their borders rarely coincide.
_STRETCHES = (1.0, 1.37, 0.81, 1.63)


class PagingError(EnvelopeError):
    """Pages that do not fit together."""


def collect_rows(
    ask: Callable[[int, int], dict], *, num_rows: int = 1000, source: str = "listing"
) -> list[dict]:
    """Collect the rows of all pages, the first for each id, in ascending order of id.

    ``ask(start_row, num_rows)`` returns the envelope of a page. If no two passes over the pages
    agree, raise `UnavailableError`.
    """
    seen: list[Hashable] = []
    reason = ""
    for stretch in _STRETCHES:
        try:
            found = _pass_over_pages(ask, max(1, round(num_rows * stretch)), source)
        except PagingError as error:
            reason = str(error)
            continue
        if len(found.rows) == found.total or found.signature in seen:
            return [found.rows[key] for key in sorted(found.rows)]
        seen.append(found.signature)
        reason = f"{source}: {len(found.rows)} different ids of total_rows={found.total}."
    raise UnavailableError(
        f"{source}: no two of {len(_STRETCHES)} passes over the pages agree ({reason})"
    )


@dataclass
class _Pass:
    """The result of one pass over all pages: rows by id, and how often each id occurred."""

    rows: dict[int, dict] = field(default_factory=dict)
    times: Counter = field(default_factory=Counter)
    collapsed: bool = False
    total: int = -1

    @property
    def signature(self) -> Hashable:
        """What must agree between two passes with different borders.

        Rows repeated by joins occur equally often wherever the borders are, unless the server
        merges them into one object within a page; then only the ids can be compared.
        """
        return frozenset(self.times if self.collapsed else self.times.items())


def _pass_over_pages(ask: Callable[[int, int], dict], num_rows: int, source: str) -> _Pass:
    found, start = _Pass(), 0
    while start < found.total or found.total < 0:
        envelope = ask(start, num_rows)
        page = open_envelope(envelope, source)
        total = _count(envelope, "total_rows", source)
        advance = _count(envelope, "num_rows", source)
        if found.total not in (-1, total):
            raise PagingError(
                f"{source}: total_rows={total} at start_row={start} should be {found.total}, as on "
                "the page before."
            )
        if start < total and not (page and advance):
            raise PagingError(
                f"{source}: the page at start_row={start} should have rows, total_rows={total}."
            )
        ids = [require_id(row.get("id"), "id", source) for row in page]
        if start and ids and found.rows.keys() >= set(ids):
            raise PagingError(f"{source}: the page at start_row={start} should bring new rows.")
        for row_id, row in zip(ids, page, strict=True):
            found.rows.setdefault(row_id, row)
        found.times.update(ids)
        found.collapsed |= len(page) < advance
        found.total = total
        start += advance
    return found


def _count(envelope: dict, key: str, source: str) -> int:
    value = envelope.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise EnvelopeError(f"{source}: {key}={value!r} should be an integer >= 0.")
    return value
