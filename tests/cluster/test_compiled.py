"""Kept kernels never outlive the sources that they came from."""

import pytest

from sparsekm.cluster.compiled import forget_stale_kernels


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "climb.py").write_text("calls = 'weigh'\n")
    (tmp_path / "weigh.py").write_text("weight = 1\n")
    (tmp_path / "__pycache__").mkdir()
    forget_stale_kernels(tmp_path)
    for name in ("climb.nbi", "climb.nbc", "climb.pyc"):
        (tmp_path / "__pycache__" / name).touch()
    return tmp_path


def kept(folder):
    return {file.suffix for file in (folder / "__pycache__").glob("climb.*")}


def test_kernels_stay_while_the_sources_stay(folder):
    forget_stale_kernels(folder)
    assert kept(folder) == {".nbi", ".nbc", ".pyc"}


def test_an_edit_of_a_called_file_drops_the_kernels_that_call_it(folder):
    (folder / "weigh.py").write_text("weight = 2\n")
    forget_stale_kernels(folder)
    assert kept(folder) == {".pyc"}


@pytest.mark.parametrize("change", ["new", "renamed"])
def test_another_set_of_files_drops_the_kernels(folder, change):
    if change == "new":
        (folder / "extra.py").touch()
    else:
        (folder / "weigh.py").rename(folder / "weighing.py")
    forget_stale_kernels(folder)
    assert kept(folder) == {".pyc"}
