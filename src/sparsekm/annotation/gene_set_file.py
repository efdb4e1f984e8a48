"""The file ``gene_sets.h5``: gene sets after reading, mapping and propagation to ancestors.

Arrays of UTF-8 strings ``genes``, ``terms``, ``names``, ``synonyms/names``, ``obsolete``; the
members of term t are ``members/genes[members/indptr[t] : members/indptr[t + 1]]``, and
``synonyms/genes`` are positions among the genes too. Attributes: ``identifier`` and ``notes``
(JSON).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from sparsekm.annotation.gene_sets import IDENTIFIERS, GeneSets
from sparsekm.io.atomic_hdf5 import atomic_hdf5
from sparsekm.io.checked_hdf5 import DamagedFileError, open_checked, read_array
from sparsekm.io.input_error import reason_of

_RULE = "collect_gene_sets"


def write_gene_sets(file: str | Path, sets: GeneSets) -> None:
    """Write gene sets atomically."""
    place = {gene: at for at, gene in enumerate(sets.genes)}
    sizes = [len(found) for found in sets.members]
    flat = np.concatenate([*sets.members, np.empty(0, np.int64)]).astype(np.int32)
    with atomic_hdf5(file) as opened:
        for name in ("genes", "terms", "names", "obsolete"):
            _write_words(opened, name, getattr(sets, name))
        _write_words(opened, "synonyms/names", list(sets.synonyms))
        opened["synonyms/genes"] = np.array(
            [place[gene] for gene in sets.synonyms.values()], dtype=np.int64
        )
        opened["members/indptr"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        opened["members/genes"] = flat
        opened.attrs["identifier"] = sets.identifier
        opened.attrs["notes"] = json.dumps(dict(sets.notes))


def read_gene_sets_file(file: str | Path) -> GeneSets:
    """Read and check gene sets."""
    with open_checked(file, _RULE) as opened:
        try:
            identifier = str(opened.attrs["identifier"])
            notes = json.loads(opened.attrs["notes"])
            words = {
                name: tuple(opened[name].asstr()[:])
                for name in ("genes", "terms", "names", "obsolete", "synonyms/names")
            }
        except (KeyError, ValueError, TypeError, AttributeError, OSError) as error:
            raise DamagedFileError(
                file, f"a part is missing or damaged ({reason_of(error)})", _RULE
            ) from error
        if identifier not in IDENTIFIERS or not isinstance(notes, dict):
            raise DamagedFileError(file, f"identifier={identifier!r} or notes are not valid", _RULE)
        n_terms, n_genes = len(words["terms"]), len(words["genes"])
        ends = read_array(opened, "members/indptr", kind="i", shape=(n_terms + 1,), rule=_RULE)
        flat = read_array(opened, "members/genes", kind="i", shape=(None,), rule=_RULE)
        n_synonyms = len(words["synonyms/names"])
        meant = read_array(opened, "synonyms/genes", kind="i", shape=(n_synonyms,), rule=_RULE)
    sound = (
        len(words["names"]) == n_terms
        and ends[0] == 0
        and ends[-1] == flat.size
        and (np.diff(ends) >= 0).all()
        and all(((0 <= at) & (at < n_genes)).all() for at in (flat, meant))
    )
    if not sound:
        raise DamagedFileError(file, "terms, names and members should agree", _RULE)
    return GeneSets(
        identifier=identifier,
        genes=words["genes"],
        terms=words["terms"],
        names=words["names"],
        members=tuple(np.split(flat, ends[1:-1])) if n_terms else (),
        synonyms={
            name: words["genes"][at]
            for name, at in zip(words["synonyms/names"], meant, strict=True)
        },
        notes=notes,
        obsolete=words["obsolete"],
    )


def _write_words(opened: h5py.File, name: str, words: Sequence[str]) -> None:
    opened.create_dataset(name, data=list(words), shape=(len(words),), dtype=h5py.string_dtype())
