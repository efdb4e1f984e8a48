"""The phantom's brain and files, and facts about genuine files of the servers."""

import csv
import gzip
import io
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import label as label_components

from sparsekm.atlas.grid import read_annotation, read_energy
from sparsekm.atlas.listing import (
    assign_region,
    map_regions,
    parse_listing,
    parse_ontology,
    parse_rows,
    read_rows,
)
from sparsekm.atlas.phantom import AGE_ROWS, FULL_COUNTS, REGIONS, USABLE, get_size
from sparsekm.atlas.phantom.anatomy import (
    LUMEN,
    UPPER,
    VENTRICLE_IDS,
    build_geometry,
    label_voxels,
    ontology_document,
)
from sparsekm.atlas.phantom.source import PhantomSource


@pytest.mark.parametrize(
    ("size", "age"), [("tiny", "P4"), ("default", "E11.5"), ("default", "P14"), ("full", "P28")]
)
def test_counts_are_exact_and_every_region_is_there_on_one_side_in_one_piece(size, age):
    plan = get_size(size).ages[age]
    geometry = build_geometry(age, plan)
    labels = np.zeros(plan.dims[::-1], dtype=np.uint32)
    labels.flat[geometry.index] = label_voxels(age, geometry)
    mapped = map_regions(labels, parse_ontology(*parse_rows(ontology_document(), "phantom")))
    assert mapped.table.set_index("acronym")["n_voxels"].to_dict() == plan.region_voxels
    assert set(mapped.table["acronym"]) == set(REGIONS) - ({"SpC"} if age == "P14" else set())
    assert (geometry.kind == LUMEN).sum() == sum(plan.lumen_voxels.values())
    assert len(np.unique(geometry.index)) == len(geometry.index)
    assert geometry.coordinates[:, 2].max() <= plan.dims[2] // 2
    volume = np.zeros(plan.dims[::-1], dtype=bool)
    volume.flat[geometry.index] = True
    assert size == "tiny" or label_components(volume, np.ones((3, 3, 3)))[1] == 1


AGE = "P14"


@pytest.fixture(scope="module")
def default():
    return PhantomSource("default", seed=3)


def test_the_same_seed_gives_the_same_bytes_in_any_order(tiny_phantom):
    tiny, again = tiny_phantom, PhantomSource("tiny", seed=3)
    ids = list(tiny.sections(AGE))
    backwards = {i: again.energy(AGE, i) for i in reversed(ids)}
    assert all(tiny.energy(AGE, i) == backwards[i] for i in ids)
    for part in ("listing", "annotation", "truth"):
        assert getattr(tiny, part)(AGE) == getattr(again, part)(AGE)
    assert tiny.ontology() == again.ontology()


def test_every_oddity_of_the_listing_is_there(default):
    rows, _ = parse_rows(default.listing(AGE), "listing")
    items = parse_listing(rows)
    assert len(rows) == len(items) + 1
    of_gene = [(table, table[~table["failed"] & (table["plane"] == "sagittal")])
               for _, table in items.groupby("gene_id")]  # fmt: skip
    patterns = {tuple(sorted(usable["delegate"])) for _, usable in of_gene}
    assert {(True,), (False, True), (False, False), (True, True), ()} <= patterns
    assert items["entrez_id"].isna().any()
    assert items["symbol"].str.endswith("*").any()
    assert items["symbol"].str.startswith("Phm").all()
    assert items["name"].str.contains("phantom").all()
    assert any(table["failed"].all() for table, _ in of_gene)


@pytest.mark.parametrize("age", AGE_ROWS)
def test_each_age_has_its_share_of_markers(default, age):
    truth = pd.read_csv(io.BytesIO(default.truth(age)), keep_default_na=False)
    share = float(AGE_ROWS[age]["planted_share"])
    # At P14, which has no spinal cord, a marker of the cord alone does not count.
    assert truth[truth["kind"].isin(USABLE)]["relevant"].mean() == pytest.approx(share, abs=0.01)
    assert set(truth.loc[truth["relevant"], "kind"]) == {"marker"}
    if share > 0.05:
        regions = set(";".join(truth.loc[truth["relevant"], "regions"]).split(";"))
        assert regions == set(default.size.ages[age].region_voxels)


@pytest.fixture(scope="module")
def genuine(test_data):
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
    file = test_data / "adult_grid" / "P56_Mouse_gridAnnotation.zip"
    volume = read_annotation(file.read_bytes())
    assert volume.dims == (67, 41, 58)
    assert np.count_nonzero(volume.values) == 62_529
    ids = np.unique(volume.values)
    assert ids[ids > 2**24].size == 6
    # float32 would make this one 182305696.
    assert 182305693 in ids


def test_the_phantom_repeats_the_upper_levels_of_the_genuine_tree_of_2691_structures(genuine):
    assert len(genuine) == 2691
    levels = Counter(node.st_level for node in genuine.values())
    numbers = [3, 8, 12, 38, 28, 164, 50, 121, 44, 486, 616, 884, 225, 12]
    assert [levels[level] for level in range(14)] == numbers
    for acronym, (node_id, name, color, level, parent) in UPPER.items():
        node = genuine[node_id]
        assert (node.acronym, node.name, node.color, node.st_level) == (acronym, name, color, level)
        if parent:
            assert node.parent_id == UPPER[parent][0]
    for acronym, node_id in VENTRICLE_IDS.items():
        node = genuine[node_id]
        assert node.acronym == ("ventricles" if acronym == "NP" else f"v_{acronym}")
        assert node.st_level == UPPER[acronym][3]


@pytest.mark.parametrize("age", FULL_COUNTS)
def test_genuine_labels_roll_up_to_the_known_counts(test_data, genuine, age):
    short = age.split(".")[0]
    dims = get_size("full").ages[age].dims
    counts: Counter = Counter()
    with gzip.open(test_data / "dev_mouse_voxels" / f"{short}.csv.gz", "rt") as opened:
        for row in csv.DictReader(opened):
            assert 1 <= int(row["idx"]) <= np.prod(dims)
            counts[int(row["structure_id"]), row["l3_acronym"]] += 1
    rolled: Counter = Counter()
    for (structure_id, acronym), n in counts.items():
        tissue, region = assign_region(genuine, structure_id)
        assert (tissue, region.acronym) == ("brain", acronym)
        rolled[acronym] += n
    expected = dict(zip(REGIONS, FULL_COUNTS[age], strict=True))
    del expected["SpC"]
    assert rolled == expected
