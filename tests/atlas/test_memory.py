"""One age at a time, in at most two and a half times the memory of its matrix."""

import gc
import json
import tracemalloc

import numpy as np
import pytest

from sparsekm.atlas.assembly import assemble_age, read_expression
from sparsekm.atlas.normalisation import find_common_genes, normalise_age
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.phantom.source import pack_annotation, pack_energy
from sparsekm.atlas.retrieval import retrieve_age
from sparsekm.atlas.vocabulary import AGES
from sparsekm.io.hdf5_format import write_anndata

MOST = 2.5
DIMS = (24, 20, 24)
N_GENES = 500


class Repeated:
    """A source of many genes with few different energies, in a grid that is brain throughout."""

    simulated, at_once = True, 1

    def __init__(self, tree, wrap, section_row):
        self._tree, self._wrap, self._row = tree, wrap, section_row
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
        def gene(i):
            return [{"id": i, "acronym": f"G{i}", "name": "", "entrez_id": None}]

        specimen = {"donor": {"age": {"name": age}}}
        space = AGES[age].reference_space_id
        rows = [
            self._row(i, genes=gene(i), specimen=specimen, reference_space_id=space)
            for i in range(1, N_GENES + 1)
        ]
        return self._wrap(rows)

    def annotation(self, age):
        return self._annotation

    def energy(self, age, section_data_set_id):
        return self._zips[section_data_set_id % 3]

    def describe_url(self, *_):
        return ""

    def truth(self, age):
        return None


@pytest.fixture(scope="module")
def large(tree, wrap, section_row, tmp_path_factory):
    """Files of an age whose matrix takes 23 megabytes, and its expression file."""
    folder = tmp_path_factory.mktemp("large")
    retrieve_age(Repeated(tree, wrap, section_row), "P4", folder)
    ontology = parse_ontology(json.loads(wrap(tree)))
    return folder, ontology


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
def test_each_step_of_an_age_stays_within_the_bound(large):
    folder, ontology = large
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
