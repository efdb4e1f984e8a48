"""What an HDF5 file says that it holds, against what it can hold.

A few bytes can claim terabytes, point to other files, or name one group many times over so that
reading never ends. Everything is looked at here, by walking the links, before any value is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import h5py

from sparsekm.storage.checked_zip import MOST_INFLATION
from sparsekm.storage.hdf5_heaps import find_broken_heap

MOST_OBJECTS = 200_000
"""Groups and arrays of a file; a table of the widest data has some hundreds."""

_SLACK_BYTES = 2**20
_OWN = "everything should stand in the file itself"
# Filters of HDF5 that keep the number of bytes: shuffling, a checksum.
_PLAIN_FILTERS = (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)


def find_false_claim(opened: h5py.File, trees: Iterable[str] = ()) -> str | None:
    """Say what is wrong with a file's claims, if anything is.

    Parameters
    ----------
    opened : File
    trees : iterable of str
        Names of what will be read with everything below it: there, a name may not stand for what
        another name stands for.

    Returns
    -------
    problem : str or None
        A link to another file, values that stand in other files, an array that claims more than
        the file can hold, a heap that cannot be walked, more than `MOST_OBJECTS` objects, or a
        loop.
    """
    size = Path(opened.filename).stat().st_size
    broken = find_broken_heap(opened.filename) if _has_wide_sizes(opened) else None
    if broken:
        return broken
    roots = tuple(name.strip("/") for name in trees)
    seen: dict[tuple[int, int], str] = {}
    waiting: list[tuple[str, h5py.Group]] = [("", opened)]
    while waiting:
        folder, group = waiting.pop()
        for key in group:
            name = f"{folder}/{key}".lstrip("/")
            link = group.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                return f"{name} links to the file {link.filename!r}; {_OWN}"
            in_tree = any(not root or f"{name}/".startswith(f"{root}/") for root in roots)
            if isinstance(link, h5py.SoftLink):
                if in_tree:
                    return f"{name} is a link to {link.path!r}, where the thing should be"
                continue
            node = group[key]
            problem = _false_array(name, node, size)
            if problem:
                return problem
            place = _place(node)
            if place not in seen:
                seen[place] = name
                if len(seen) > MOST_OBJECTS:
                    return f"it has more than {MOST_OBJECTS} groups and arrays"
                if isinstance(node, h5py.Group):
                    waiting.append((name, node))
            elif in_tree:
                return f"{name} is {seen[place]} by another name; each should have one"
    return None


def _has_wide_sizes(opened: h5py.File) -> bool:
    return opened.id.get_create_plist().get_sizes()[1] == 8


def _place(node: h5py.HLObject) -> tuple[int, int]:
    info = h5py.h5o.get_info(node.id)
    return info.fileno, info.addr


def _false_array(name: str, node: h5py.HLObject, size: int) -> str | None:
    if not isinstance(node, h5py.Dataset) or node.shape is None:
        return None
    if node.is_virtual or node.external:
        return f"the values of {name} stand in other files; {_OWN}"
    stored = min(node.id.get_storage_size(), size)
    if node.nbytes > MOST_INFLATION * stored + _SLACK_BYTES:
        return (
            f"{name} with shape={node.shape} claims {node.nbytes} bytes, more than the {stored} "
            "bytes that hold it can give"
        )
    made = node.id.get_create_plist()
    filters = [made.get_filter(number)[0] for number in range(made.get_nfilters())]
    if len([code for code in filters if code not in _PLAIN_FILTERS]) > 1:
        return f"{name} is compressed more than once"
    return None
