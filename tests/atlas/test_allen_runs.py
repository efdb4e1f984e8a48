"""Runs that are killed, repeated, planned, or only check the servers."""

import re
import subprocess
import sys
import threading
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest
import server_faults as faults
import yaml
from hand_made import AGE

from sparsekm.atlas import AGES, TISSUES, open_source
from sparsekm.atlas.allen import Grid, check_servers
from sparsekm.atlas.retrieval import (
    describe_plan,
    plan_retrieval,
    read_manifest,
    retrieve_age,
    retrieve_tables,
)
from sparsekm.io.atomic import write_table


def energies(manifest):
    return manifest[manifest["role"] == "energy"]


def hashes(manifest):
    table = manifest[manifest["role"] != "listing"]
    return dict(zip(table["file"], table["sha256"], strict=True))


def test_a_second_run_asks_for_nothing(server, open_client, tmp_path, direct):
    def run():
        source = open_client()
        tables = retrieve_tables(source, tmp_path)
        return pd.concat([tables, retrieve_age(source, AGE, tmp_path / AGE)])

    first = run()
    manifest = (tmp_path / AGE / "manifest.csv").read_bytes()
    n_asked = len(server.requests)
    assert run().equals(first)
    assert len(server.requests) == n_asked
    assert (tmp_path / AGE / "manifest.csv").read_bytes() == manifest
    assert hashes(direct[0]).items() <= hashes(first).items()


def test_another_plane_leaves_what_was_downloaded(server, open_client, tmp_path):
    def cut_half_in_another_plane(answer):
        planes = [{"id": 1, "name": "coronal"}, {"id": 2, "name": "sagittal"}]
        rows = [{**row, "plane_of_section": planes[row["id"] % 2]} for row in answer["msg"]]
        return {**answer, "msg": rows}

    def run(plane):
        manifest = retrieve_age(open_client(), AGE, tmp_path / AGE, plane=plane)
        return manifest, set(energies(manifest)["section_data_set_id"])

    server.fail("SectionDataSet", faults.with_answer(cut_half_in_another_plane))
    first, sagittal = run("sagittal")
    _, coronal = run("coronal")
    assert sagittal
    assert coronal
    assert sagittal.isdisjoint(coronal)
    server.work_well()
    assert run("sagittal")[0].equals(first)
    assert not server.requests


def test_the_manifest_tells_gene_address_size_digest_status_and_share(
    server, open_client, tmp_path
):
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
    assert table["valid_share"].between(0, 1, inclusive="right").all()
    assert table["valid_share"].min() < 1


def test_a_grid_damaged_on_disk_is_fetched_anew(server, open_client, tmp_path, direct):
    retrieve_age(open_client(), AGE, tmp_path / AGE)
    path = next((tmp_path / AGE / "energy").glob("*.zip"))
    body = path.read_bytes()
    path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    server.work_well()
    manifest = retrieve_age(open_client(), AGE, tmp_path / AGE)
    assert len(server.requests) == 1
    assert path.stem in server.requests[0].path
    assert path.read_bytes() == body
    assert hashes(manifest) == hashes(direct[0])


def test_a_download_killed_half_way_resumes_to_identical_hashes(
    server, open_client, tmp_path, direct
):
    reached, released = threading.Event(), threading.Event()

    def send(handler, body):
        handler.wfile.write(body[: len(body) // 2])
        reached.set()
        released.wait(20)

    n_energies = len(energies(direct[0]))
    server.fail("/grid_data/", lambda reply: replace(reply, send=send), skip=n_energies // 2)
    code = (
        "from sparsekm.atlas.retrieval import retrieve_age\n"
        "from sparsekm.atlas import open_source\n"
        f"source = open_source('allen', url={server.url!r}, download_url={server.url!r})\n"
        f"retrieve_age(source, {AGE!r}, {str(tmp_path / AGE)!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert reached.wait(30)
        process.kill()
    released.set()
    assert not (tmp_path / AGE / "manifest.csv").exists()
    server.work_well()
    manifest = retrieve_age(open_client(), AGE, tmp_path / AGE)
    assert len(server.asked("/grid_data/")) == n_energies - n_energies // 2
    assert not server.asked("query")
    assert hashes(manifest) == hashes(direct[0])


def test_a_plan_tells_grids_and_bytes_and_asks_for_no_grid(
    server, open_client, tmp_path, direct, few_sections
):
    source, table = open_client(), energies(direct[0])
    plan = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert not server.asked("/grid_data/")
    assert plan["n_grids"].tolist() == plan["n_to_fetch"].tolist()
    assert plan["n_grids"][0] == len(table)
    nx, ny, nz = few_sections.canvas(AGE).geometry.dims
    assert plan["bytes_to_fetch"][0] == round(len(table) * 0.2 * 4 * nx * ny * nz)
    text = describe_plan(plan)
    assert re.search(rf"E11.5: {len(table)} grids; 0 on disk \(0.000 GB\)", text)
    assert len(text.splitlines()) == 3
    retrieve_age(source, AGE, tmp_path / AGE)
    plan = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert plan["n_to_fetch"][0] == plan["bytes_to_fetch"][0] == 0
    assert plan["stored_bytes"][0] == table["bytes"].sum()
    write_table(plan, tmp_path / "plan.csv")
    assert (tmp_path / "plan.csv").read_text().startswith("age,n_grids,n_stored,stored_bytes,")


@pytest.fixture
def check(server, tiny_phantom):
    """Check the stand-in for what it says when all is well."""
    grids = {}
    for age, plan in tiny_phantom.size.ages.items():
        cord = plan.region_voxels.get("SpC", 0)
        lumen = sum(plan.lumen_voxels.values())
        counts = (plan.n_tissue - cord, cord, lumen, plan.tract_voxels)
        grids[age] = Grid(plan.dims, dict(zip(TISSUES, counts, strict=True)))

    def run():
        source = open_source("allen", url=server.url, download_url=server.url, tries=1)
        expected = {"n_listed": range(8, 41), "n_structures": range(100, 1001)}
        return check_servers(source, grids, **expected)

    return run


def test_servers_that_answer_as_expected_agree_in_few_requests(server, check):
    findings = {fact: agrees for fact, _, _, agrees in check()}
    # The phantom plants voxels whose ids its tree does not know.
    assert [fact for fact, agrees in findings.items() if not agrees] == [
        f"annotated voxels of {age}: unknown to the tree" for age in AGES
    ]
    assert findings["energy grid: has data"]
    assert len(server.requests) <= 40


@pytest.mark.parametrize(
    ("pattern", "fault", "fact"),
    [
        ("Product", faults.html, "product of the atlas"),
        ("structure_graph", faults.html, "structures in the tree"),
        ("gridAnnotation", faults.status(404), "annotation of E11.5: dimensions"),
    ],
)
def test_what_differs_is_a_finding_and_no_end_to_the_check(server, check, pattern, fault, fact):
    server.fail(pattern, fault)
    findings = check()
    agreeing = {fact: agrees for fact, _, _, agrees in findings}
    assert not agreeing[fact]
    assert sum(agreeing.values()) >= 3
    assert len(server.requests) <= 40
    assert "DIFFERS" in findings.format()


def test_addresses_and_settings_are_checked_at_once():
    with pytest.raises(ValueError, match="url='ftp://x' should begin with http:// or https://"):
        open_source("allen", url="ftp://x")
    with pytest.raises(ValueError, match="tries=0 should be >= 1"):
        open_source("allen", tries=0)


def test_the_configurations_settings_are_those_of_the_source(project_root):
    configuration = yaml.safe_load((project_root / "config.yaml").read_text(encoding="utf-8"))
    settings = {**configuration["atlas"]["allen"]}
    del settings["max_not_fetched"]
    source = open_source("allen", **settings)
    assert source.describe_url("energy", AGE, 5) == (
        "https://api.brain-map.org/grid_data/download/5?include=energy"
    )
    assert source.describe_url("annotation", AGE) == (
        "https://download.alleninstitute.org/informatics-archive/current-release/"
        "mouse_annotation/E11pt5_DevMouse2012_gridAnnotation.zip"
    )


def test_the_pages_configuration_is_valid(project_root):
    page = (project_root / "docs" / "real_atlas.md").read_text(encoding="utf-8")
    schema = project_root / "workflow" / "schemas" / "config.schema.yaml"
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    validator = jsonschema.Draft202012Validator(yaml.safe_load(schema.read_text(encoding="utf-8")))
    assert not list(validator.iter_errors(yaml.safe_load(block)))
