"""Which files on disk need not be downloaded again."""

import pytest

from sparsekm.network import NotFoundError, Received

FILE, URL, BODY = "energy/1.zip", "http://host/1", b"some bytes"


@pytest.fixture
def received(tmp_path):
    received = Received(tmp_path)
    received.add(FILE, URL, BODY)
    return received


def test_a_stored_body_is_found_by_another_run(received, tmp_path):
    for run in (received, Received(tmp_path)):
        assert run.find(FILE, URL) == BODY
        assert run.size(FILE, URL) == len(BODY)


def test_a_body_from_elsewhere_does_not_count(received):
    assert received.find(FILE, "http://other/1") is None
    assert received.size(FILE, "http://other/1") is None


@pytest.mark.parametrize("damage", [b"some byteS", b"some"])
def test_a_damaged_body_does_not_count_until_stored_anew(received, tmp_path, damage):
    (tmp_path / FILE).write_bytes(damage)
    assert received.find(FILE, URL) is None
    received.add(FILE, URL, BODY)
    assert received.find(FILE, URL) == BODY


def test_neither_a_body_without_its_line_nor_a_line_without_its_body_counts(received, tmp_path):
    (tmp_path / FILE).unlink()
    assert received.find(FILE, URL) is None
    assert received.size(FILE, URL) is None
    received.add(FILE, URL, BODY)
    (tmp_path / "received.jsonl").unlink()
    assert Received(tmp_path).find(FILE, URL) is None


def test_that_a_file_is_missing_is_remembered(received, tmp_path):
    received.add("2.zip", "http://host/2", None)
    again = Received(tmp_path)
    with pytest.raises(NotFoundError, match=r"http://host/2: not on the server"):
        again.find("2.zip", "http://host/2")
    assert again.size("2.zip", "http://host/2") == 0
    assert again.find("2.zip", "http://other/2") is None


def test_half_a_line_of_a_killed_job_spoils_no_other(received, tmp_path):
    lines = tmp_path / "received.jsonl"
    lines.write_text(lines.read_text() + '\n{"file": "energy/2.zip", "url')
    after = Received(tmp_path)
    after.add("energy/3.zip", "http://host/3", b"more")
    again = Received(tmp_path)
    assert again.find(FILE, URL) == BODY
    assert again.find("energy/2.zip", "http://host/2") is None
    assert again.find("energy/3.zip", "http://host/3") == b"more"
