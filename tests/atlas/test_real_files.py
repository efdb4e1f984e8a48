"""Facts about genuine files of the servers; skipped where they are not at hand."""

import csv
import gzip
from collections import Counter

import numpy as np
import pytest

from sparsekm.atlas.grid import read_annotation, read_energy
from sparsekm.atlas.listing import assign_region, parse_ontology, read_rows
from sparsekm.atlas.phantom import FULL_COUNTS, REGIONS, get_size
from sparsekm.atlas.phantom.anatomy import UPPER, VENTRICLE_IDS


@pytest.fixture(scope="module")
def ontology(test_data):
    return parse_ontology(*read_rows(test_data / "dev_mouse_ontology" / "structure_graph_17.json"))


@pytest.mark.parametrize("gene", ["Nrp1_P56_coronal_74272479", "Pdyn_P56_coronal_71717084"])
def test_a_genuine_energy_grid_reads(test_data, gene):
    volume = read_energy((test_data / "adult_grid" / f"{gene}_200um.zip").read_bytes())
    assert volume.dims == (67, 41, 58)
    assert volume.values.size == 159_326
    assert volume.spacing == (200.0, 200.0, 200.0)
    # A share of -1 of 34.5 and 37.9 per cent.
    n_missing = int((volume.values == -1).sum())
    assert n_missing == {"Nrp1": 54_982, "Pdyn": 60_307}[gene[:4]]
    measured = volume.values[volume.values != -1]
    assert measured.min() >= 0
    assert 1 < measured.max() < 100


def test_a_genuine_annotation_keeps_ids_beyond_two_to_the_24(test_data):
    volume = read_annotation(
        (test_data / "adult_grid" / "P56_Mouse_gridAnnotation.zip").read_bytes()
    )
    assert volume.dims == (67, 41, 58)
    assert np.count_nonzero(volume.values) == 62_529
    ids = np.unique(volume.values)
    assert ids[ids > 2**24].size == 6
    # float32 would make this one 182305696.
    assert 182305693 in ids


def test_the_genuine_tree_has_its_2691_structures(ontology):
    assert len(ontology) == 2691
    levels = Counter(node.st_level for node in ontology.values())
    assert [levels[level] for level in range(14)] == [
        3, 8, 12, 38, 28, 164, 50, 121, 44, 486, 616, 884, 225, 12,
    ]  # fmt: skip


def test_the_phantom_repeats_the_upper_levels_of_the_genuine_tree(ontology):
    for acronym, (node_id, name, color, level, parent) in UPPER.items():
        node = ontology[node_id]
        assert (node.acronym, node.name, node.color, node.st_level) == (acronym, name, color, level)
        if parent:
            assert node.parent_id == UPPER[parent][0]
    for acronym, node_id in VENTRICLE_IDS.items():
        node = ontology[node_id]
        assert node.acronym == ("ventricles" if acronym == "NP" else f"v_{acronym}")
        assert node.st_level == UPPER[acronym][3]


@pytest.mark.parametrize("age", FULL_COUNTS)
def test_genuine_labels_roll_up_to_the_known_counts(test_data, ontology, age):
    short = age.split(".")[0]
    dims = get_size("full").ages[age].dims
    counts: Counter = Counter()
    with gzip.open(test_data / "dev_mouse_voxels" / f"{short}.csv.gz", "rt") as opened:
        for row in csv.DictReader(opened):
            assert 1 <= int(row["idx"]) <= np.prod(dims)
            counts[int(row["structure_id"]), row["l3_acronym"]] += 1
    rolled: Counter = Counter()
    for (structure_id, acronym), n in counts.items():
        tissue, region = assign_region(ontology, structure_id)
        assert (tissue, region.acronym) == ("brain", acronym)
        rolled[acronym] += n
    expected = dict(zip(REGIONS, FULL_COUNTS[age], strict=True))
    del expected["SpC"]
    assert rolled == expected
