"""The configuration that `sparsekm run` writes: whole, readable, and never over an edited one."""

from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import jsonschema
import pytest
import yaml
from configuration_reader import configuration_check

from sparsekm.command.configuration import (
    compose,
    dataset_name,
    is_edited,
    read_configuration,
    table_path,
)
from sparsekm.command.run import _environment

ENTRY = {"path": "../a: 'b' #1.csv", "labels": "no", "ignore": ["1", "x, y"]}
ENTRY |= {"transpose": False, "n_clusters": "auto"}


# What YAML refuses as it is, or takes for a line break, for a byte order mark or for nothing.
ODD = "\t\n\r\x01\x7f\x80\x85\x9f\xa0\xad\u2028\u2029\u200b\ufeff\ufffe\uffff\U000e0001\U0010ffff"


@hypothesis.given(st.text() | st.text(ODD))
@hypothesis.example(ODD)
@hypothesis.example("{a} %s #1: \\x85 'b' \"c\" !tag & * ? | - 😀")
@hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], deadline=None
)
def test_a_name_of_any_characters_is_read_back_as_it_was(tmp_path, name):
    file = tmp_path / "config.yaml"
    entry = {"path": name, "labels": name, "ignore": [name, "x"]}
    file.write_text(compose("tumours", entry, f"sparsekm run {name}"), encoding="utf-8")
    assert read_configuration(file)["matrices"]["tumours"] == entry


def test_every_setting_of_a_matrix_is_there_or_a_comment_and_others_have_defaults(project_root):
    text = compose("a", {"path": "a.csv"}, "sparsekm run a/config.yaml")
    assert "sparsekm run a/config.yaml" in text
    schema = configuration_check.read_schema()
    known = set(schema["properties"]["matrices"]["additionalProperties"]["properties"])
    written = yaml.safe_load(text.replace("    # ", "    "))
    entry = written.pop("matrices")["a"]
    assert set(entry) == known - {"draw"}
    # Weights and trim exclude each other.
    for name in ("weights", "trim"):
        others = {key: value for key, value in entry.items() if key != name}
        jsonschema.validate({"matrices": {"a": others}}, schema)
    defaults = yaml.safe_load((project_root / "config.yaml").read_text())
    assert written == {key: defaults[key] for key in ("methods", "min_cluster_size")}


def test_an_edited_configuration_and_somebody_elses_are_told_from_one_as_written(tmp_path):
    text, told = compose("tumours", ENTRY, "sparsekm run somewhere/config.yaml"), []
    others = (b"seed: 1\n", "labels: café\n".encode("latin-1"))
    for content in (text.encode(), text.replace("auto", "5").encode(), *others):
        (tmp_path / "config.yaml").write_bytes(content)
        told.append(is_edited(tmp_path / "config.yaml"))
    assert told == [False, True, True, True]


def test_names_of_data_sets_come_from_files_and_those_nearby_are_relative(tmp_path):
    names = {"a b.csv": "a_b", "x.tsv.gz": "x", "ä.xlsx": "table", "Raw.csv": "Raw_table"}
    assert {file: dataset_name(Path(file), {"raw"}) for file in names} == names
    assert table_path(tmp_path / "out", tmp_path / "t.csv") == "../t.csv"
    assert table_path(tmp_path / "deep" / "out", tmp_path / "t.csv") == f"{tmp_path}/t.csv"


def test_caches_stay_where_the_user_has_them_or_without_a_home_last_one_run(tmp_path, monkeypatch):
    empty = tmp_path / "empty"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new" / "cache"))
    assert _environment(str(empty))["XDG_CACHE_HOME"] == str(tmp_path / "new" / "cache")
    # Where it is, would depend on the folder.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert _environment(str(empty))["XDG_CACHE_HOME"] == str(empty)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/dev/null/none")
    found = _environment(str(empty))
    assert found["XDG_CACHE_HOME"] == found["HOME"] == str(empty)


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "LD_LIBRARY_PATH"])
def test_nothing_is_searched_for_in_the_folder_of_the_run(tmp_path, monkeypatch, name):
    monkeypatch.setenv(name, ":/opt/lab:.:bin")
    assert _environment(str(tmp_path))[name] == "/opt/lab"
