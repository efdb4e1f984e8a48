"""What must hold of anything that a reader gives back, whatever stood in its file.

Each check fails by AssertionError where what was read is not valid.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sound_files import AGE

from sparsekm.atlas.grid import MAX_VOLUME_BYTES
from sparsekm.atlas.listing import select_candidates
from sparsekm.atlas.ontology import MAX_DEPTH
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.raw_matrix import MIN_LABELS


def is_text(value: object) -> bool:
    """Say whether a value is text that UTF-8 files can hold."""
    return isinstance(value, str) and "\0" not in value and bool(value.encode("utf-8") or True)


def check_volume(dtype: str, volume) -> None:
    values = volume.values
    assert values.dtype == dtype
    assert values.ndim == 3
    assert 0 < values.nbytes <= MAX_VOLUME_BYTES
    assert all(math.isfinite(step) and step > 0 for step in volume.spacing)
    if dtype == "float32":
        assert (np.isfinite(values) & ((values >= 0) | (values == -1))).all()


def check_header(header) -> None:
    assert len(header.dims) == len(header.spacing) == 3
    assert all(isinstance(extent, int) and 1 <= extent <= 10_000 for extent in header.dims)
    assert all(math.isfinite(step) and step > 0 for step in header.spacing)
    assert header.dtype.itemsize in (1, 2, 4, 8)


def check_ontology(ontology) -> None:
    assert len(ontology) >= 1
    for structure in ontology:
        assert 0 < structure.id < 2**63
        assert len(ontology.path(structure.id)) <= max(MAX_DEPTH, len(ontology))
        assert is_text(structure.acronym)
        assert structure.acronym
        assert is_text(structure.name)
        assert len(structure.color) == 6
        assert int(structure.color, 16) >= 0


def check_listing(listing) -> None:
    for item in listing:
        assert 0 < item.id < 2**63
        assert isinstance(item.failed, bool)
        for gene in item.genes:
            assert 0 < gene.id < 2**63
            assert is_text(gene.symbol)
            assert gene.symbol
            assert is_text(gene.name)
    candidates, excluded = select_candidates(listing, AGE)
    assert sum(map(len, candidates.values())) + sum(excluded.values()) == len(listing)


def check_genes(genes: pd.DataFrame) -> None:
    assert genes.index.dtype == np.int64
    assert genes.index.is_unique
    assert all(is_text(value) for column in ("ensembl_id", "aliases") for value in genes[column])


def is_finite(X) -> bool:
    if not issparse(X):
        return bool(np.isfinite(X).all())
    X.check_format(full_check=True)
    return X.has_canonical_format and bool(np.isfinite(X.data).all())


def check_matrix(raw) -> None:
    n, p = raw.X.shape
    X = raw.X.collect()
    assert X.shape == (n, p)
    assert X.dtype == np.float32
    assert n >= 3
    assert p >= 1
    # NaN is a missing value.
    assert is_finite(X) if issparse(X) else not np.isinf(X).any()
    assert raw.offset.shape == (p,)
    assert np.isfinite(raw.offset).all()
    assert len(raw.features) == len(set(raw.features)) == p
    assert all(is_text(name) and name.strip() for name in raw.features)
    if raw.samples is not None:
        assert len(raw.samples) == len(set(raw.samples)) == n
        assert all(is_text(name) for name in raw.samples)
    if raw.labels is not None:
        assert raw.labels.shape == (n,)
        assert all(is_text(label) and label == label.strip() for label in raw.labels)
        assert np.count_nonzero(raw.labels != UNKNOWN) >= MIN_LABELS
    if raw.relevant is not None:
        assert raw.relevant.shape == (p,)
        assert raw.relevant.dtype == bool


def check_normalised(data) -> None:
    n, p = data.X.shape
    assert data.X.dtype == np.float32
    assert is_finite(data.X)
    for of_features in (data.center, data.means, data.deviations):
        assert of_features is None or (of_features.shape == (p,) and np.isfinite(of_features).all())
    assert len(data.features) == p
    assert isinstance(data.provenance, dict)
    labels = data.labels
    assert labels is None or (labels.shape == (n,) and all(map(is_text, labels)))
    assert data.relevant is None or (data.relevant.dtype == bool and data.relevant.shape == (p,))


def check_gene_sets(sets) -> None:
    assert len(sets.terms) == len(sets.names) == len(sets.members)
    for members in sets.members:
        assert ((members >= 0) & (members < len(sets.genes))).all()
    assert all(is_text(word) for word in (*sets.genes, *sets.terms, *sets.names))


def check_table(columns: dict[str, str], read) -> None:
    table = read[0] if isinstance(read, tuple) else read
    for name, kinds in columns.items():
        assert table[name].dtype.kind in kinds, name
        if "f" in kinds and "?" not in kinds:
            assert np.isfinite(table[name]).all(), name
    for name in table.select_dtypes(object):
        assert all(is_text(cell) for cell in table[name]), name
