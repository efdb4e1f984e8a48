"""What must hold of anything that a reader gives back, whatever stood in its file.

Each check fails by AssertionError where what was read is not valid.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sound_files import AGE

from sparsekm.atlas.grid import MAX_VOLUME_BYTES
from sparsekm.atlas.listing import select_candidates
from sparsekm.atlas.ontology import MAX_DEPTH
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.raw_matrix import MIN_LABELS
from sparsekm.studies.paper.repetition import METRICS
from sparsekm.tuning.resampled_paths import FAMILIES


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


def check_age(matrix) -> None:
    n, p = len(matrix.obs), len(matrix.var)
    assert matrix.X.shape == (n, p)
    assert matrix.X.dtype == np.float32
    assert n >= 1
    assert p >= 1
    assert not (matrix.X < 0).any()
    assert not np.isinf(matrix.X).any()
    assert matrix.var.index.is_unique
    assert matrix.obs["region_id"].dtype == np.int64


def check_manifest(entries) -> None:
    for entry in entries:
        assert entry.bytes is None or isinstance(entry.bytes, int)
        assert not Path(entry.file).is_absolute()
        assert ".." not in Path(entry.file).parts
        assert is_text(entry.gene)


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


def check_labelled_set(data) -> None:
    assert data.X.ndim == 2
    assert data.X.dtype == np.float64
    assert data.labels.shape == (len(data.X),)
    assert data.n_clusters >= 1


def check_expression(data) -> None:
    assert data.X.dtype == np.float32
    assert data.X.shape == (len(data.obs), len(data.var))
    assert not np.isinf(data.X).any()
    assert data.obs["region_id"].dtype == data.var["gene_id"].dtype == np.int64


def check_normalised(read: tuple) -> None:
    data, whole, var, (labels, regions) = read
    n, p = data.X.shape
    assert data.X.dtype == np.float32
    assert is_finite(data.X)
    assert data.center is None or data.center.shape == (p,)
    assert len(data.features) == p == len(var) == whole.n_vars
    assert isinstance(data.provenance, dict)
    assert whole.n_obs == n
    for found in (data.labels, labels):
        assert found is None or (found.shape == (n,) and all(map(is_text, found)))
    assert data.relevant is None or (data.relevant.dtype == bool and data.relevant.shape == (p,))
    assert regions is None or {"acronym", "name", "id", "color"} <= set(regions.columns)


def check_path(read) -> None:
    path, attributes = read
    m, n = path.labels.shape
    p = path.scores.shape[1]
    assert path.weights.shape == path.scores.shape == (m, p)
    assert path.sparsities.shape == path.objectives.shape == path.n_iter.shape == (m,)
    assert path.labels.dtype == np.int32
    assert n == 0 or (path.labels.min() >= 0 and path.labels.max() < attributes["n_clusters"])
    assert all(np.isfinite(a).all() for a in (path.weights, path.scores, path.objectives))
    check_attributes(attributes)


def check_attributes(attributes) -> None:
    assert isinstance(attributes["parameters"], dict)
    assert isinstance(attributes["versions"], dict)
    assert isinstance(attributes["n_clusters"], int)
    assert isinstance(attributes["seed"], int)
    assert isinstance(attributes["method"], str)


def check_fit(fit) -> None:
    p = fit.scores.size
    assert fit.weights.shape == (p,)
    assert fit.centers.shape == (fit.attributes["n_clusters"], p)
    assert fit.labels.dtype == np.int32
    assert all(np.isfinite(a).all() for a in (fit.weights, fit.scores, fit.centers))
    for shares, length in ((fit.confidence, fit.labels.size), (fit.selection_frequency, p)):
        assert shares is None or (shares.shape == (length,) and (shares**2 <= shares).all())
    assert math.isfinite(fit.sparsity)
    assert math.isfinite(fit.objective)
    check_attributes(fit.attributes)


def check_references(references) -> None:
    shape = (references.indices.size, references.sparsities.size)
    assert min(shape) >= 1
    assert references.objectives.shape == shape
    assert np.isfinite(references.objectives).all()
    check_attributes(references.attributes)


def check_resamplings(read) -> None:
    n_clusters, m = read.attributes["n_clusters"], read.sparsities.size
    n, p = read.paths[0].labels.shape[-1], read.paths[0].drawn.size
    assert len(read.paths) == read.indices.size
    for path in read.paths:
        assert path.labels.shape == (len(FAMILIES), m, n)
        assert path.labels.min() >= 0
        assert path.labels.max() < n_clusters
        assert path.kept.shape == (len(FAMILIES), m, p)
        assert path.drawn.shape == (p,)
        assert not (path.kept & ~path.drawn).any()
        assert not np.isinf(path.separation).any()
    check_attributes(read.attributes)


def check_repetition(repetition) -> None:
    if repetition is None:
        return
    assert set(repetition.metrics) == set(METRICS)
    assert all(isinstance(value, float) for value in repetition.metrics.values())
    assert repetition.weights.ndim == 1
    assert np.isfinite(repetition.weights).all()
    assert repetition.gap.ndim == 2


def check_gene_sets(sets) -> None:
    assert len(sets.terms) == len(sets.names) == len(sets.members)
    for members in sets.members:
        assert ((members >= 0) & (members < len(sets.genes))).all()
    assert all(is_text(word) for word in (*sets.genes, *sets.terms, *sets.names))


def check_body(body) -> None:
    assert body in (None, b"a body")


def check_table(columns: dict[str, str], read) -> None:
    table = read[0] if isinstance(read, tuple) else read
    for name, kinds in columns.items():
        assert table[name].dtype.kind in kinds, name
        if "f" in kinds and "?" not in kinds:
            assert np.isfinite(table[name]).all(), name
    for name in table.select_dtypes(object):
        assert all(is_text(cell) for cell in table[name]), name


def check_scores(row) -> None:
    assert isinstance(row["method"], str)
    assert all(
        isinstance(row[name], float) for name in ("cer", "ami", "ecr", "sparsity", "n_samples")
    )


def check_evidence(row) -> None:
    assert isinstance(row["conclusion"], str)
    assert isinstance(row["strength"], float)


def check_ids(ids) -> None:
    assert all(isinstance(value, int) for value in ids)
