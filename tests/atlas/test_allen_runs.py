"""Runs that are killed, repeated, planned, or only check the servers."""

import re
import subprocess
import sys
import threading
from dataclasses import replace

import jsonschema
import pytest
import server_faults as faults
import yaml

from sparsekm.atlas import open_source
from sparsekm.atlas.allen import Client
from sparsekm.atlas.assembly import assemble_age
from sparsekm.atlas.listing import read_rows
from sparsekm.atlas.live_check import Expectations, Grid, check_servers, format_findings
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.retrieval import (
    describe_plan,
    plan_retrieval,
    read_manifest,
    retrieve_age,
    retrieve_tables,
)
from sparsekm.atlas.vocabulary import AGES, TISSUES
from sparsekm.io.atomic import write_table

AGE = "E11.5"


@pytest.fixture(scope="module")
def direct(few_sections, tmp_path_factory):
    """Manifest entries of the phantom's files, with no server in between."""
    return retrieve_age(few_sections, AGE, tmp_path_factory.mktemp("direct"))


def hashes(entries):
    return {entry.file: entry.sha256 for entry in entries if entry.role != "listing"}


def test_a_second_run_asks_for_nothing(server, open_client, tmp_path, direct):
    def run():
        source = open_client()
        return [*retrieve_tables(source, tmp_path), *retrieve_age(source, AGE, tmp_path / AGE)]

    first = run()
    manifest = (tmp_path / AGE / "manifest.csv").read_bytes()
    n_asked = len(server.requests)
    assert run() == first
    assert len(server.requests) == n_asked
    assert (tmp_path / AGE / "manifest.csv").read_bytes() == manifest
    assert hashes(direct).items() <= hashes(first).items()


def test_another_plane_leaves_what_was_downloaded(server, open_client, tmp_path):
    def cut_half_in_another_plane(answer):
        planes = [{"id": 1, "name": "coronal"}, {"id": 2, "name": "sagittal"}]
        rows = [{**row, "plane_of_section": planes[row["id"] % 2]} for row in answer["msg"]]
        return {**answer, "msg": rows}

    def run(plane):
        entries = retrieve_age(open_client(), AGE, tmp_path / AGE, plane=plane)
        return entries, {e.section_data_set_id for e in entries if e.role == "energy"}

    server.fail("SectionDataSet", faults.with_answer(cut_half_in_another_plane))
    first, sagittal = run("sagittal")
    _, coronal = run("coronal")
    assert sagittal
    assert coronal
    assert sagittal.isdisjoint(coronal)
    server.work_well()
    assert run("sagittal")[0] == first
    assert not server.requests


def test_the_manifest_tells_gene_address_size_digest_status_and_share(
    server, open_client, tmp_path
):
    retrieve_age(open_client(), AGE, tmp_path / AGE)
    entries = read_manifest(tmp_path / AGE / "manifest.csv")
    for entry in entries:
        assert entry.url.startswith(server.url)
        assert len(entry.sha256) == 64
        assert entry.bytes == (tmp_path / AGE / entry.file).stat().st_size
    energies = [entry for entry in entries if entry.role == "energy"]
    assert all(entry.gene and entry.gene_id and entry.section_data_set_id for entry in energies)
    assert all(0 < entry.valid_share <= 1 for entry in energies)
    assert min(entry.valid_share for entry in energies) < 1


def test_a_grid_damaged_on_disk_is_fetched_anew(server, open_client, tmp_path, direct):
    retrieve_age(open_client(), AGE, tmp_path / AGE)
    path = next((tmp_path / AGE / "energy").glob("*.zip"))
    body = path.read_bytes()
    path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    server.work_well()
    entries = retrieve_age(open_client(), AGE, tmp_path / AGE)
    assert len(server.requests) == 1
    assert path.stem in server.requests[0].path
    assert path.read_bytes() == body
    assert hashes(entries) == hashes(direct)


def test_a_download_killed_half_way_resumes_to_identical_hashes(
    server, open_client, tmp_path, direct
):
    reached, released = threading.Event(), threading.Event()

    def stall_mid_body(reply):
        def send(handler, body):
            handler.wfile.write(body[: len(body) // 2])
            reached.set()
            released.wait(20)

        return replace(reply, send=send)

    n_energies = sum(entry.role == "energy" for entry in direct)
    server.fail("/grid_data/", stall_mid_body, skip=n_energies // 2)
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
    entries = retrieve_age(open_client(), AGE, tmp_path / AGE)
    assert len(server.asked("/grid_data/")) == n_energies - n_energies // 2
    assert not server.asked("query")
    assert hashes(entries) == hashes(direct)


def test_a_plan_tells_grids_and_bytes_and_asks_for_no_grid(
    server, open_client, tmp_path, direct, few_sections
):
    source = open_client()
    plan = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert not server.asked("/grid_data/")
    n_energies = sum(entry.role == "energy" for entry in direct)
    assert plan["n_grids"].tolist() == plan["n_to_fetch"].tolist()
    assert plan["n_grids"][0] == n_energies
    nx, ny, nz = few_sections.canvas(AGE).geometry.dims
    assert plan["bytes_to_fetch"][0] == round(n_energies * 0.2 * 4 * nx * ny * nz)
    text = describe_plan(plan)
    assert re.search(rf"E11.5: {n_energies} grids; 0 on disk \(0.000 GB\)", text)
    assert len(text.splitlines()) == 3
    retrieve_age(source, AGE, tmp_path / AGE)
    plan = plan_retrieval(source, [AGE, "P14"], tmp_path)
    assert plan["n_to_fetch"][0] == plan["bytes_to_fetch"][0] == 0
    stored = sum(entry.bytes for entry in direct if entry.role == "energy")
    assert plan["stored_bytes"][0] == stored
    write_table(plan, tmp_path / "plan.csv")
    assert (tmp_path / "plan.csv").read_text().startswith("age,n_grids,n_stored,stored_bytes,")


@pytest.fixture
def expectations(tiny_phantom):
    """What the stand-in says when all is well."""
    grids = {}
    for age in AGES:
        plan = tiny_phantom.size.ages[age]
        spinal_cord = plan.region_voxels.get("SpC", 0)
        counts = (
            plan.n_tissue - spinal_cord,
            spinal_cord,
            sum(plan.lumen_voxels.values()),
            plan.tract_voxels,
        )
        grids[age] = Grid(plan.dims, dict(zip(TISSUES, counts, strict=True)))
    return Expectations(n_section_data_sets=(8, 40), n_structures=(100, 1000), grids=grids)


@pytest.fixture
def check(all_ages, expectations):
    def run():
        client = Client("test", tries=1)
        return check_servers(client, all_ages.url, all_ages.url, expectations)

    return run


def test_servers_that_answer_as_expected_agree_in_few_requests(all_ages, check):
    findings = {finding.fact: finding for finding in check()}
    # The phantom plants voxels whose ids its tree does not know.
    assert [f.fact for f in findings.values() if not f.agrees] == [
        f"annotated voxels of {age}: unknown to the tree" for age in AGES
    ]
    assert findings["energy grid: has data"].agrees
    assert len(all_ages.requests) <= 40


@pytest.mark.parametrize(
    ("pattern", "fault", "fact"),
    [
        ("Product", faults.html, "product of the atlas"),
        ("gridAnnotation", faults.status(404), "annotation of E11.5: dimensions"),
    ],
)
def test_what_differs_is_a_finding_and_no_end_to_the_check(all_ages, check, pattern, fault, fact):
    all_ages.fail(pattern, fault)
    findings = {finding.fact: finding for finding in check()}
    assert not findings[fact].agrees
    assert sum(finding.agrees for finding in findings.values()) >= 3
    assert len(all_ages.requests) <= 40
    assert "DIFFERS" in format_findings(list(findings.values()))


def test_addresses_and_settings_are_checked_at_once():
    with pytest.raises(ValueError, match="url='ftp://x' should begin with http:// or https://"):
        open_source("allen", url="ftp://x")
    with pytest.raises(ValueError, match="tries=0 should be >= 1"):
        open_source("allen", tries=0)


@pytest.fixture(scope="module")
def page(project_root):
    return (project_root / "docs" / "real_atlas.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def configuration(project_root):
    return yaml.safe_load((project_root / "config.yaml").read_text(encoding="utf-8"))


def test_the_configurations_settings_are_those_of_the_source(configuration):
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


def test_the_pages_configuration_is_valid(page, project_root):
    schema = project_root / "workflow" / "schemas" / "config.schema.yaml"
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    validator = jsonschema.Draft202012Validator(yaml.safe_load(schema.read_text(encoding="utf-8")))
    assert not list(validator.iter_errors(yaml.safe_load(block)))


@pytest.mark.parametrize("level", [1, 9])
def test_regions_are_structures_of_the_level_asked_for(phantom_files, level):
    ontology = parse_ontology(*read_rows(phantom_files / "ontology.json"))
    matrix = assemble_age(phantom_files / AGE, ontology, AGE, level=level)
    table = matrix.uns["regions"]
    brain = table[table["tissue"] == "brain"]
    assert {ontology[int(i)].st_level for i in brain["id"]} == {level}
    counts = matrix.uns["provenance"]["counts"]["voxels"]
    assert table["n_voxels"].sum() == counts["brain"] + counts["spinal_cord"] == len(matrix.X)


@pytest.mark.parametrize("tissue", [("spinal_cord",), ("brain", "ventricle")])
def test_voxels_are_of_the_tissue_asked_for(phantom_files, tissue):
    ontology = parse_ontology(*read_rows(phantom_files / "ontology.json"))
    matrix = assemble_age(phantom_files / AGE, ontology, AGE, tissue=tissue)
    assert set(matrix.uns["regions"]["tissue"]) == set(tissue)
    assert len(matrix.X) == sum(
        matrix.uns["provenance"]["counts"]["voxels"][name] for name in tissue
    )
