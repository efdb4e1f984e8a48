"""The atlas' branch of the DAG, from a stand-in for the servers, with the genes of all ages."""

import re
from functools import partial

import anndata
import pytest
from stand_in_server import StandInServer

from sparsekm.atlas import open_source
from sparsekm.atlas.expression import (
    assemble_age,
    find_common_genes,
    normalise_age,
    read_expression,
    read_tables,
)
from sparsekm.atlas.retrieval import read_manifest, retrieve_age, retrieve_tables
from sparsekm.io.hdf5_format import write_anndata

# The run is made once in each process.
pytestmark = [pytest.mark.xdist_group("atlas from servers"), pytest.mark.release]

AGES = ("E11.5", "P14")


@pytest.fixture(scope="module")
def phantom():
    return open_source("phantom", size="tiny", seed=3)


@pytest.fixture(scope="module")
def server(phantom):
    with StandInServer(phantom, AGES) as server:
        yield server


@pytest.fixture(scope="module")
def from_server(server, tmp_path_factory, project_root, new_project):
    """A project after a plan and a run whose atlas came over HTTP."""
    project = new_project(tmp_path_factory.mktemp("allen"), project_root)

    allen = f'{{url: "{server.url}", download_url: "{server.url}"}}'
    project.configure(
        f"""
        atlas: {{source: allen, allen: {allen}, ages: [E11.5, P14], genes: common}}
        matrices: null
        methods: [kmeans]
        """
    )
    project.plan = project.snakemake("--cores", "1", "plan_retrieval")
    assert project.plan.returncode == 0, project.plan.stdout
    project.asked_in_plan = server.asked()
    # Two ages can be downloaded at the same time, and no profile limits them.
    project.run = project.snakemake(
        "--cores", "2", "--workflow-profile", "none", "results/report.html"
    )
    assert project.run.returncode == 0, project.run.stdout
    return project


@pytest.fixture(scope="module")
def direct(phantom, tmp_path_factory):
    """Expression files made from the phantom's files, with no server and no workflow."""
    folder = tmp_path_factory.mktemp("direct")
    retrieve_tables(phantom, folder)
    ontology, _ = read_tables(folder)
    for age in AGES:
        retrieve_age(phantom, age, folder / age)
        data = assemble_age(folder / age, ontology, age)
        write_anndata(folder / f"{age}.h5ad", data)
    return {age: folder / f"{age}.h5ad" for age in AGES}


def test_planning_tells_the_download_without_a_grid(from_server):
    line = re.search(r"E11.5 +(\d+) +0 +\1 +[1-9]\d*\n", from_server.plan.stdout)
    assert int(line[1]) > 40
    assert from_server.asked_in_plan
    assert not [path for path in from_server.asked_in_plan if "grid_data" in path]


def test_without_a_profile_one_file_is_asked_for_at_a_time(from_server, server):
    assert {request.others for request in server.requests} == {0}


def test_matrices_from_the_servers_are_those_of_the_phantoms_files(from_server, direct):
    table = find_common_genes(direct)
    normalise = partial(normalise_age, genes=set(table["gene_id"][table["common"]]))
    for age in AGES:
        expected = read_expression(direct[age])
        for name, data in (("expression", expected), ("normalised", normalise(expected))):
            served = anndata.read_h5ad(from_server.root / "data" / age / f"{name}.h5ad")
            assert served.X.tobytes() == data.X.tobytes()
            assert served.obs.equals(data.obs)
            for column in ("symbol", "name", "entrez_id", "gene_id", "section_data_set_ids"):
                assert served.var[column].equals(data.var[column])
            assert "relevant" not in served.var
            assert (served.var["aliases"].str.count(";") == 1).all()
            assert served.uns["provenance"]["source"] == "allen"
            assert not served.uns["provenance"]["simulated"]


def test_the_report_of_measured_data_stands_beside_the_paper(from_server):
    page = (from_server.root / "results" / "report.html").read_text(encoding="utf-8")
    assert "data: Allen Developing Mouse Brain Atlas" in page
    assert "Compared with the paper" in page
    # The voxels at E11.5 in the paper's Table 4.
    row = r"voxels: the paper('|&#39;)s</t[hd]>\s*<td[^>]*>7,122<"
    assert re.search(row, page)


def test_nothing_is_asked_for_again_and_the_contact_reruns_nothing(from_server, server):
    folder = from_server.root / "data" / "raw" / "allen"
    manifest = folder / AGES[0] / "manifest.csv"
    before_deletion = read_manifest(manifest)
    manifests = [read_manifest(folder / age / "manifest.csv") for age in AGES]
    n_energies = sum((table["role"] == "energy").sum() for table in manifests)
    assert len(server.asked("/grid_data/")) == n_energies
    configuration = from_server.root / "config.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("download_url:", "contact: me\n    download_url:"))
    assert configuration.read_text() != before
    # The report alone shows the configuration; files for other programs were not asked for.
    not_run = {f"export_clusters {age}" for age in AGES}
    assert from_server.planned() - not_run == {"report"}
    n_asked = len(server.requests)
    manifest.unlink()
    (folder / "manifest.csv").unlink()
    for file in (manifest, folder / "manifest.csv"):
        done = from_server.snakemake("--cores", "1", str(file.relative_to(from_server.root)))
        assert done.returncode == 0, done.stdout
    assert len(server.requests) == n_asked
    assert read_manifest(manifest).equals(before_deletion)
