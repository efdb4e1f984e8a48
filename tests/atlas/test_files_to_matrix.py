"""From a source's bytes through files on disk to the matrix of an age, in little memory."""

import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hand_made import AGE, TREE, section_row

from sparsekm.atlas import AGES
from sparsekm.atlas.expression import (
    add_truth,
    assemble_age,
    find_common_genes,
    normalise_age,
    read_expression,
)
from sparsekm.atlas.grid import GridError
from sparsekm.atlas.listing import parse_ontology, write_envelope
from sparsekm.atlas.phantom.source import draw_energy, pack_annotation, pack_energy
from sparsekm.atlas.retrieval import read_manifest, retrieve_age
from sparsekm.io.hdf5_format import write_anndata
from sparsekm.network import NotFoundError


@pytest.fixture(scope="module")
def matrix(phantom_files, ontology):
    origin = {"source": "phantom", "simulated": True}
    return assemble_age(phantom_files / AGE, ontology, AGE, origin=origin)


def test_the_matrix_holds_exactly_the_planted_values(matrix, tiny_phantom):
    canvas, sections = tiny_phantom.canvas(AGE), tiny_phantom.sections(AGE)
    index = matrix.obs.index.astype(int)
    for column, used in enumerate(matrix.var["section_data_set_ids"]):
        planted = draw_energy(canvas, sections[int(used)], tiny_phantom.seed).ravel()[index]
        np.testing.assert_array_equal(matrix.X[:, column], np.where(planted == -1, np.nan, planted))
    assert matrix.X.dtype == np.float32


def test_regions_and_coordinates_are_those_of_the_phantom(matrix, tiny_phantom):
    plan = tiny_phantom.size.ages[AGE]
    geometry = tiny_phantom.canvas(AGE).geometry
    table = matrix.uns["regions"].set_index("acronym")
    assert table["n_voxels"].to_dict() == plan.region_voxels
    assert table.loc["SpC", "id"] == 17651
    place = pd.Series(geometry.region, index=geometry.index)
    assert (place[matrix.obs.index.astype(int)].to_numpy() == matrix.obs["region"]).all()
    nx, ny, _ = plan.dims
    linear = matrix.obs["x"] + nx * (matrix.obs["y"] + ny * matrix.obs["z"])
    assert (linear == matrix.obs.index.astype(int)).all()
    assert matrix.obs["region_id"].dtype == np.int64


@pytest.mark.parametrize(
    ("level", "tissue"), [(1, ("brain", "spinal_cord")), (9, ("brain", "ventricle"))]
)
def test_regions_and_voxels_are_of_the_level_and_tissue(phantom_files, ontology, level, tissue):
    matrix = assemble_age(phantom_files / AGE, ontology, AGE, level=level, tissue=tissue)
    table, told = matrix.uns["regions"], matrix.uns["provenance"]["counts"]
    counts = told["voxels"]
    assert {ontology[int(i)].st_level for i in table["id"][table["tissue"] == "brain"]} == {level}
    assert set(table["tissue"]) == set(tissue)
    assert table["n_voxels"].sum() == sum(counts[name] for name in tissue) == len(matrix.X)
    # Those that the listing itself rules out.
    assert min(told["section_data_sets"][reason] for reason in ("failed", "other_plane")) >= 1


def test_a_delegate_without_a_grid_is_replaced_by_its_replicate(phantom_files, ontology):
    manifest = read_manifest(phantom_files / "P14" / "manifest.csv")
    (gridless,) = manifest[manifest["status"] == "no_grid"].itertuples()
    matrix = assemble_age(phantom_files / "P14", ontology, "P14")
    used = matrix.var.set_index("gene_id").loc[gridless.gene_id, "section_data_set_ids"]
    assert used != str(gridless.section_data_set_id)
    assert matrix.uns["provenance"]["counts"]["genes"]["without_grid"] == 0


def test_the_mean_rule_uses_all_replicates(phantom_files, ontology, matrix):
    mean = assemble_age(phantom_files / AGE, ontology, AGE, replicates="mean")
    several = mean.var["section_data_set_ids"].str.contains(";").to_numpy()
    assert several.any()
    np.testing.assert_array_equal(mean.X[:, ~several], matrix.X[:, ~several])
    assert (mean.X[:, several] != matrix.X[:, several]).any(axis=0).all()


def test_the_expression_file_reads_back_exactly(matrix, phantom_files, tmp_path):
    with_truth = matrix.copy()
    add_truth(with_truth, phantom_files / AGE / "truth.csv")
    write_anndata(tmp_path / "expression.h5ad", with_truth)
    read = read_expression(tmp_path / "expression.h5ad")
    np.testing.assert_array_equal(read.X, matrix.X)
    assert read.X.dtype == np.float32
    assert read.var["gene_id"].tolist() == matrix.var["gene_id"].tolist()
    assert read.var["entrez_id"].isna().sum() == matrix.var["entrez_id"].isna().sum() >= 1
    assert read.var["symbol"].str.endswith("*").any()
    assert read.var["relevant"].dtype == bool
    assert set(read.var["planted_kind"][read.var["relevant"]]) == {"marker"}
    told, written = read.uns["provenance"], matrix.uns["provenance"]
    assert told["simulated"]
    assert told["counts"]["voxels"]["brain"] == written["counts"]["voxels"]["brain"]
    spacing = written["spacing_um"][0] / 1000
    np.testing.assert_allclose(read.obsm["spatial"][:, 2], matrix.obs["z"] * spacing)
    assert [path.name for path in tmp_path.iterdir()] == ["expression.h5ad"]


def test_a_file_that_is_not_the_manifests_is_refused(phantom_files, ontology, matrix, tmp_path):
    folder = shutil.copytree(phantom_files / AGE, tmp_path / AGE)
    used, other = (folder / "energy" / f"{i}.zip" for i in matrix.var["section_data_set_ids"][:2])
    used.write_bytes(other.read_bytes())
    message = rf"{used.name}: sha256=.* should be .*, as in manifest.csv. Delete .*manifest.csv"
    with pytest.raises(GridError, match=message):
        assemble_age(folder, ontology, AGE)


def test_files_the_source_does_not_have_are_recorded(tiny_phantom, tmp_path, ontology, monkeypatch):
    def energy(*_):
        raise NotFoundError("no")

    monkeypatch.setattr(tiny_phantom, "energy", energy)
    manifest = retrieve_age(tiny_phantom, AGE, tmp_path)
    assert set(manifest["status"][manifest["role"] == "energy"]) == {"missing"}
    with pytest.raises(ValueError, match="n_genes=0 with a usable grid"):
        assemble_age(tmp_path, ontology, AGE)


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
        listing=lambda age: write_envelope(rows),
        annotation=lambda age: pack_annotation(labels, 100),
        energy=lambda age, section_data_set_id: zips[section_data_set_id % 3],
        describe_url=lambda *_: "",
        truth=lambda age: None,
    )


@pytest.mark.release
def test_each_step_of_an_age_stays_within_the_bound(tmp_path, repeated, peak_bytes):
    retrieve_age(repeated, "P4", tmp_path)
    file, ontology = tmp_path / "expression.h5ad", parse_ontology(TREE)

    def normalise(fill):
        assert normalise_age(read_expression(file), fill=fill).n_vars == N_GENES

    # Of three ages one is held at a time.
    three = dict.fromkeys(("P4", "P14", "P28"), file)
    peaks = [peak_bytes(lambda: write_anndata(file, assemble_age(tmp_path, ontology, "P4")))]
    peaks += [peak_bytes(find_common_genes, three)]
    peaks += [peak_bytes(normalise, fill) for fill in ("gene_mean", "region_mean")]
    n_bytes = 4 * np.prod(DIMS) * N_GENES
    assert all(1 <= peak / n_bytes < MOST for peak in peaks), peaks
    assert find_common_genes(three)["common"].all()
