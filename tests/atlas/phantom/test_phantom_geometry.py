"""The phantom's brain: exact counts, every region, one side, the real size."""

import numpy as np
import pytest
from scipy.ndimage import label as label_components

from sparsekm.atlas.listing import parse_json
from sparsekm.atlas.ontology import map_regions, parse_ontology
from sparsekm.atlas.phantom.anatomy import LUMEN, build_geometry, label_voxels, ontology_document
from sparsekm.atlas.phantom.sizes import GRIDS, REGIONS, get_size

AGES = list(GRIDS)
TABLE_SUMS = {
    "E11.5": 5155,
    "E13.5": 9510,
    "E15.5": 11416,
    "E18.5": 11546,
    "P4": 21185,
    "P14": 24213,
    "P28": 28455,
}


def count_regions(age, plan):
    geometry = build_geometry(age, plan)
    nx, ny, nz = plan.dims
    volume = np.zeros(nx * ny * nz, dtype=np.uint32)
    volume[geometry.index] = label_voxels(age, geometry)
    ontology = parse_ontology(parse_json(ontology_document(), "phantom"))
    return geometry, map_regions(volume, ontology)


@pytest.mark.parametrize(
    ("size", "age"), [("tiny", "P4"), ("default", "E11.5"), ("default", "P14")]
)
def test_counts_are_exact_and_every_region_is_there(size, age):
    plan = get_size(size).ages[age]
    geometry, mapped = count_regions(age, plan)
    assert dict(zip(mapped.table["acronym"], mapped.table["n_voxels"], strict=True)) == (
        plan.region_voxels
    )
    assert set(mapped.table["acronym"]) == set(REGIONS) - ({"SpC"} if age == "P14" else set())
    assert (geometry.kind == LUMEN).sum() == sum(plan.lumen_voxels.values())
    assert len(np.unique(geometry.index)) == len(geometry.index)


@pytest.mark.parametrize("age", ["E11.5", "P14", "P28"])
def test_the_full_size_has_the_atlas_own_counts(age):
    plan = get_size("full").ages[age]
    assert (plan.dims, plan.spacing) == GRIDS[age]
    geometry, mapped = count_regions(age, plan)
    table = mapped.table.set_index("acronym")["n_voxels"].to_dict()
    assert table == plan.region_voxels
    table.pop("SpC", None)
    assert sum(table.values()) == mapped.counts["brain"] == TABLE_SUMS[age]
    assert len(table) == 19
    assert set(geometry.coordinates[:, 2]) <= set(range(plan.dims[2] // 2 + 1))


@pytest.mark.parametrize("age", ["E11.5", "P28"])
def test_one_side_only_and_in_one_piece(age):
    plan = get_size("default").ages[age]
    geometry = build_geometry(age, plan)
    assert geometry.coordinates[:, 2].max() <= plan.dims[2] // 2
    nx, ny, nz = plan.dims
    volume = np.zeros(nx * ny * nz, dtype=bool)
    volume[geometry.index] = True
    _, n_pieces = label_components(volume.reshape(nz, ny, nx), np.ones((3, 3, 3)))
    assert n_pieces == 1


def test_unknown_sizes_are_refused():
    with pytest.raises(ValueError, match="size='huge' should be one of tiny, default, full"):
        get_size("huge")
