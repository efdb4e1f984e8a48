"""One age at a time, in at most two and a half times the memory of its matrix."""

import gc
import tracemalloc

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
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.phantom.source import pack_annotation, pack_energy
from sparsekm.atlas.retrieval import retrieve_age
from sparsekm.io.hdf5_format import write_anndata

MOST = 2.5
DIMS = (24, 20, 24)
N_GENES = 500


class Repeated:
    """A source of many genes with few different energies, in a grid that is brain throughout."""

    simulated = True

    def __init__(self):
        rng = np.random.default_rng(0)
        shape = DIMS[::-1]
        volumes = [rng.random(shape, dtype=np.float32) for _ in range(3)]
        for volume in volumes:
            volume[0, :5] = -1
        self._zips = [pack_energy(volume, 100, 1) for volume in volumes]
        labels = np.full(shape, 900_000_001, dtype=np.uint32)
        labels[:, ::2] = 126652053
        self._annotation = pack_annotation(labels, 100)

    def listing(self, age):
        specimen = {"donor": {"age": {"name": age}}}
        told = {"specimen": specimen, "reference_space_id": AGES[age]}
        genes = ([{"id": i, "acronym": f"G{i}"}] for i in range(1, N_GENES + 1))
        return wrap([section_row(i, genes=gene, **told) for i, gene in enumerate(genes, start=1)])

    def annotation(self, age):
        return self._annotation

    def energy(self, age, section_data_set_id):
        return self._zips[section_data_set_id % 3]

    def describe_url(self, *_):
        return ""

    def truth(self, age):
        return None


def write_age(folder, ontology):
    data = assemble_age(folder, ontology, "P4")
    write_anndata(folder / "expression.h5ad", data)
    return data.X.nbytes


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
def test_each_step_of_an_age_stays_within_the_bound(tmp_path):
    retrieve_age(Repeated(), "P4", tmp_path)
    folder, ontology = tmp_path, parse_ontology(TREE)
    n_bytes, peak = peak_of(write_age, folder, ontology)
    assert n_bytes == 4 * np.prod(DIMS) * N_GENES
    assert 1 <= peak / n_bytes < MOST
    file = folder / "expression.h5ad"

    def normalise(fill):
        return normalise_age(read_expression(file), fill=fill).n_vars

    for fill in ("gene_mean", "region_mean"):
        n_genes, peak = peak_of(normalise, fill)
        assert n_genes == N_GENES
        assert 1 <= peak / n_bytes < MOST
    ages = {"P4": file, "P14": file, "P28": file}
    table, peak = peak_of(find_common_genes, ages)
    assert table["common"].all()
    # Three ages, of which one is held at a time.
    assert 1 <= peak / n_bytes < MOST
