"""The environment of a run: what libraries find there that a container may lack."""

from pathlib import Path

import pytest

from sparsekm.command.run import _environment


def test_caches_stay_where_the_user_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new" / "cache"))
    assert _environment(tmp_path / "run")["XDG_CACHE_HOME"] == str(tmp_path / "new" / "cache")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("home", ["/dev/null/none", "/proc/none"])
def test_without_a_home_they_are_in_the_folder_of_the_run(tmp_path, monkeypatch, home):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    found = _environment(tmp_path / "run")["XDG_CACHE_HOME"]
    assert found == str(tmp_path / "run/.snakemake/sparsekm/cache")
    assert Path(found).is_dir()
