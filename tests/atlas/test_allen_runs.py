"""Runs that are killed, repeated, planned, or only check the servers."""

import re

import hand_made as faults
import jsonschema
import pandas as pd
import pytest
import yaml
from hand_made import AGE

from sparsekm.atlas import open_source
from sparsekm.atlas.allen import check_servers
from sparsekm.atlas.retrieval import plan_retrieval, read_manifest, retrieve_age, retrieve_tables


def energies(manifest):
    return manifest[manifest["role"] == "energy"]


def hashes(manifest):
    table = manifest[manifest["role"] != "listing"]
    return dict(zip(table["file"], table["sha256"], strict=True))


def test_a_second_run_asks_for_nothing_but_what_was_damaged(server, open_client, tmp_path, direct):
    def run():
        source = open_client()
        tables = retrieve_tables(source, tmp_path)
        return pd.concat([tables, retrieve_age(source, AGE, tmp_path / AGE)])

    first = run()
    manifest = (tmp_path / AGE / "manifest.csv").read_bytes()
    assert hashes(direct[0]).items() <= hashes(first).items()
    server.work_well()
    assert run().equals(first)
    assert not server.requests
    path = next((tmp_path / AGE / "energy").glob("*.zip"))
    body = path.read_bytes()
    path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    assert run().equals(first)
    (request,) = server.requests
    assert path.stem in request.path
    assert path.read_bytes() == body
    assert (tmp_path / AGE / "manifest.csv").read_bytes() == manifest


def test_another_plane_leaves_what_was_downloaded(server, open_client, tmp_path):
    def cut_half_in_another_plane(answer):
        planes = [{"id": 1, "name": "coronal"}, {"id": 2, "name": "sagittal"}]
        rows = [{**row, "plane_of_section": planes[row["id"] % 2]} for row in answer["msg"]]
        return {**answer, "msg": rows}

    def run(plane):
        manifest = retrieve_age(open_client(), AGE, tmp_path / AGE, plane=plane)
        return manifest, set(energies(manifest)["section_data_set_id"])

    server.fail("SectionDataSet", faults.with_answer(cut_half_in_another_plane))
    (first, sagittal), (_, coronal) = map(run, ("sagittal", "coronal"))
    assert sagittal
    assert coronal
    assert sagittal.isdisjoint(coronal)
    server.work_well()
    assert run("sagittal")[0].equals(first)
    assert not server.requests


def test_the_manifest_tells_gene_address_size_digest_and_status(server, open_client, tmp_path):
    written = retrieve_age(open_client(), AGE, tmp_path / AGE)
    manifest = read_manifest(tmp_path / AGE / "manifest.csv")
    pd.testing.assert_frame_equal(manifest, written, check_dtype=False)
    assert manifest["url"].str.startswith(server.url).all()
    assert (manifest["sha256"].str.len() == 64).all()
    sizes = [(tmp_path / AGE / file).stat().st_size for file in manifest["file"]]
    assert manifest["bytes"].tolist() == sizes
    table = energies(manifest)
    assert (table["gene"] != "").all()
    assert table[["gene_id", "section_data_set_id"]].notna().all(axis=None)
    assert set(table["status"]) == {"ok"}


def test_a_run_cut_short_ends_in_equal_hashes(server, open_client, tmp_path, direct, monkeypatch):
    source, n_energies = open_client(), len(energies(direct[0]))
    fetched, energy = [], source.energy

    def killed(*item):
        if len(fetched) == n_energies // 2:
            raise KeyboardInterrupt
        fetched.append(item)
        return energy(*item)

    monkeypatch.setattr(source, "energy", killed)
    with pytest.raises(KeyboardInterrupt):
        retrieve_age(source, AGE, tmp_path / AGE)
    assert not (tmp_path / AGE / "manifest.csv").exists()
    server.work_well()
    manifest = retrieve_age(open_client(), AGE, tmp_path / AGE)
    assert len(server.asked("/grid_data/")) == len(server.requests) == n_energies - len(fetched)
    assert hashes(manifest) == hashes(direct[0])


def test_a_plan_tells_bytes_without_any_grid(server, open_client, tmp_path, direct, few_sections):
    source, table = open_client(), energies(direct[0])
    plan = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert not server.asked("/grid_data/")
    assert plan["age"].tolist() == [AGE, "P14", "all"]
    assert plan["n_grids"].tolist() == plan["n_to_fetch"].tolist()
    assert plan["n_grids"][0] == len(table)
    nx, ny, nz = few_sections.canvas(AGE).geometry.dims
    assert plan["bytes_to_fetch"][0] == round(len(table) * 0.2 * 4 * nx * ny * nz)
    retrieve_age(source, AGE, tmp_path / AGE)
    after = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert after["n_to_fetch"][0] == after["bytes_to_fetch"][0] == 0
    assert after["n_stored"][0] == after["n_stored"][2] == len(table)
    assert after["bytes_to_fetch"][2] == plan["bytes_to_fetch"][1]


@pytest.fixture
def check(open_client, tiny_phantom):
    expected = {"n_listed": range(8, 41), "n_structures": range(100, 1001)}
    return lambda: check_servers(open_client(tries=1), tiny_phantom.size.ages, **expected)


DIFFERENT = {
    "product of the atlas": ("Product", faults.html),
    "structures in the tree": ("structure_graph", faults.html),
    "annotation of E11.5": ("gridAnnotation", faults.status(404)),
    "energy grid at E11.5": ("grid_data", faults.without_raw),
}


def test_what_differs_is_a_finding_and_no_end_to_the_check(server, check):
    for pattern, fault in DIFFERENT.values():
        server.fail(pattern, fault)
    agrees = check().set_index("fact")["agrees"]
    assert not agrees[[*DIFFERENT]].any()
    assert agrees.sum() >= 3
    server.work_well()
    server.fail("SectionDataSet", faults.status(500))
    agrees = check().set_index("fact")["agrees"]
    assert not agrees["energy grid at E11.5"]
    assert agrees[["product of the atlas", "annotation of E11.5"]].all()
    assert len(server.requests) <= 40


def test_servers_agree_in_few_requests_unless_an_age_has_no_rows(server, check, monkeypatch):
    # As where a join repeats them.
    tables = {
        name: [row for row in rows for _ in range(3)] for name, rows in server._tables.items()
    }
    monkeypatch.setattr(server, "_tables", tables)
    found = check()
    assert found["agrees"].all(), found.to_string()
    assert len(found) == len(server.requests) + 1 == 18
    monkeypatch.setitem(tables, "SectionDataSet", [])
    found = check().set_index("fact")
    spaces = found.index.str.startswith("reference space of")
    assert {*found.loc[spaces, "found"]} == {"none, in 0 rows"}
    assert not found.loc[spaces, "agrees"].any()


def test_the_configurations_settings_are_those_of_the_source_and_the_pages_are_valid(project_root):
    settings = yaml.safe_load((project_root / "config.yaml").read_text(encoding="utf-8"))
    settings = settings["atlas"]["allen"]
    del settings["max_not_fetched"]
    source = open_source("allen", **settings)
    assert source.describe_url("energy", AGE, 5) == (
        "https://api.brain-map.org/grid_data/download/5?include=energy"
    )
    assert source.describe_url("annotation", AGE) == (
        "https://download.alleninstitute.org/informatics-archive/current-release/"
        "mouse_annotation/E11pt5_DevMouse2012_gridAnnotation.zip"
    )
    page = (project_root / "docs" / "real_atlas.md").read_text(encoding="utf-8")
    schema = project_root / "workflow" / "schemas" / "config.schema.yaml"
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    validator = jsonschema.Draft202012Validator(yaml.safe_load(schema.read_text(encoding="utf-8")))
    assert not list(validator.iter_errors(yaml.safe_load(block)))
