"""What the cache gives back, and when it does not."""

import json

import pytest

from sparsekm.network.cache import BodyCache
from sparsekm.network.errors import NotFoundError

NAME, URL, BODY = "E11pt5/energy/1.zip", "http://host/1", b"some bytes"


@pytest.fixture
def cache(tmp_path):
    cache = BodyCache(tmp_path)
    cache.put(NAME, URL, BODY)
    return cache


def test_a_stored_body_comes_back(cache):
    assert cache.get(NAME, URL) == BODY
    assert cache.known_bytes(NAME, URL) == len(BODY)


def test_a_body_from_elsewhere_does_not_count(cache):
    assert cache.get(NAME, "http://other/1") is None
    assert cache.known_bytes(NAME, "http://other/1") is None


@pytest.mark.parametrize("damage", [b"some byteS", b"some", b"", b"some bytes and more"])
def test_a_damaged_body_does_not_count_until_stored_anew(cache, tmp_path, damage):
    (tmp_path / NAME).write_bytes(damage)
    assert cache.get(NAME, URL) is None
    cache.put(NAME, URL, BODY)
    assert cache.get(NAME, URL) == BODY


def test_a_body_without_a_record_does_not_count(cache, tmp_path):
    record = tmp_path / f"{NAME}.record.json"
    for content in (b"", b"{", b"[]", b'{"url": 1}'):
        record.write_bytes(content)
        assert cache.get(NAME, URL) is None
    record.unlink()
    assert cache.get(NAME, URL) is None


def test_a_record_without_its_body_does_not_count(cache, tmp_path):
    (tmp_path / NAME).unlink()
    assert cache.get(NAME, URL) is None
    assert cache.known_bytes(NAME, URL) is None


def test_that_a_file_is_missing_is_remembered(cache):
    cache.put_missing("2.zip", "http://host/2")
    with pytest.raises(NotFoundError, match=r"http://host/2: not on the server"):
        cache.get("2.zip", "http://host/2")
    assert cache.known_bytes("2.zip", "http://host/2") == 0
    assert cache.get("2.zip", "http://other/2") is None


def test_a_record_tells_where_from_how_long_and_what(cache, tmp_path):
    record = json.loads((tmp_path / f"{NAME}.record.json").read_text())
    assert (record["url"], record["bytes"], record["status"]) == (URL, len(BODY), "ok")
    assert len(record["sha256"]) == 64
    assert {path.name for path in tmp_path.rglob("*.*")} == {"1.zip", "1.zip.record.json"}
