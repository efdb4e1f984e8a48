"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project_root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of real data, which is not part of the project: tests of facts skip without it."""
    folder = Path(os.environ.get("SPARSEKM_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real test data: {folder} is absent (SPARSEKM_TEST_DATA names it)")
    return folder


@pytest.fixture
def seed() -> int:
    """One seed for all tests; SPARSEKM_TEST_SEED sets another: no claim hangs on its value."""
    return int(os.environ.get("SPARSEKM_TEST_SEED", "20180101"))
