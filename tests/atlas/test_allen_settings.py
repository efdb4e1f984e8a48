"""Every setting of the atlas does what it says, and the page about the real one is right."""

import re

import jsonschema
import pytest
import yaml

from sparsekm.atlas import open_source
from sparsekm.atlas.assembly import assemble_age
from sparsekm.atlas.listing import read_rows
from sparsekm.atlas.ontology import parse_ontology

AGE = "E11.5"


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
