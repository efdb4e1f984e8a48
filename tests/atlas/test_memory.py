"""One age at a time, in at most two and a half times the memory of its matrix."""

import gc
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hand_made import TREE, section_row, wrap

from sparsekm.atlas import AGES
from sparsekm.atlas.expression import (
    assemble_age,
    find_common_genes,
    normalise_age,
    read_expression,
)
from sparsekm.atlas.listing import parse_ontology
from sparsekm.atlas.phantom.source import pack_annotation, pack_energy
from sparsekm.atlas.retrieval import retrieve_age
from sparsekm.io.hdf5_format import write_anndata

MOST = 2.5
DIMS = (24, 20, 24)
N_GENES = 500


@pytest.fixture
def repeated():
    """A source of many genes with few different energies, in a grid that is brain throughout."""
    rng, shape = np.random.default_rng(0), DIMS[::-1]
    volumes = [rng.random(shape, dtype=np.float32) for _ in range(3)]
    for volume in volumes:
        volume[0, :5] = -1
    zips = [pack_energy(volume, 100, 1) for volume in volumes]
    labels = np.full(shape, 900_000_001, dtype=np.uint32)
    labels[:, ::2] = 126652053
    told = {"specimen": {"donor": {"age": {"name": "P4"}}}, "reference_space_id": AGES["P4"]}
    genes = ([{"id": i, "acronym": f"G{i}"}] for i in range(1, N_GENES + 1))
    rows = [section_row(i, genes=gene, **told) for i, gene in enumerate(genes, start=1)]
    return SimpleNamespace(
        simulated=True,
        listing=lambda age: wrap(rows),
        annotation=lambda age: pack_annotation(labels, 100),
        energy=lambda age, section_data_set_id: zips[section_data_set_id % 3],
        describe_url=lambda *_: "",
        truth=lambda age: None,
    )


def peak_of(work, *arguments):
    """Bytes that Python and NumPy had allocated at most while working, beyond those before."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work(*arguments)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.release
def test_each_step_of_an_age_stays_within_the_bound(tmp_path, repeated):
    retrieve_age(repeated, "P4", tmp_path)
    file, ontology = tmp_path / "expression.h5ad", parse_ontology(TREE)

    def assemble():
        data = assemble_age(tmp_path, ontology, "P4")
        write_anndata(file, data)
        return data.X.nbytes

    def normalise(fill):
        return normalise_age(read_expression(file), fill=fill).n_vars

    n_bytes, peak = peak_of(assemble)
    assert n_bytes == 4 * np.prod(DIMS) * N_GENES
    # Of three ages one is held at a time.
    table, of_ages = peak_of(find_common_genes, dict.fromkeys(("P4", "P14", "P28"), file))
    assert table["common"].all()
    peaks = [peak, of_ages]
    for fill in ("gene_mean", "region_mean"):
        n_genes, peak = peak_of(normalise, fill)
        assert n_genes == N_GENES
        peaks.append(peak)
    assert all(1 <= peak / n_bytes < MOST for peak in peaks), peaks
