"""Files of gene sets over HTTP: what is stored, what is tried again, what is refused."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sparsekm.annotation.addresses import address_name
from sparsekm.annotation.gene_set_download import fetch_gene_sets
from sparsekm.network import Downloader, NotFoundError, RefusedError

GMT = gzip.compress(b"T1\tname\tA\tB\nT2\tname\tB\n")


@pytest.fixture
def server():
    """A server whose `answers` are given one after the other: (status, body, bytes announced)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked += 1
            status, body, announced = self.server.answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.asked = [], 0
        server.url = f"http://127.0.0.1:{server.server_port}/sets/mouse.gmt.gz"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def fetch(server, tmp_path):
    def fetch():
        downloader = Downloader(tries=3, sleep=lambda seconds: None)
        fetch_gene_sets(downloader, server.url, tmp_path / "out" / "sets.gz", "symbol")
        return (tmp_path / "out" / "sets.gz").read_bytes()

    return fetch


def test_what_was_fetched_is_stored_as_it_was_sent(server, fetch):
    server.answers = [(200, GMT, len(GMT))]
    assert fetch() == GMT


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((404, b"", 0), NotFoundError, "404"),
        ((200, b"<html>busy</html>\n", 18), RefusedError, "should be a GMT file .*line 1"),
        ((200, b"", 2**28 + 1), RefusedError, "Content-Length=268435457 should be <= 268435456"),
    ],
)
def test_what_is_no_such_file_is_refused_and_nothing_is_stored(
    server, fetch, tmp_path, answer, error, message
):
    server.answers = [answer] * 3
    with pytest.raises(error, match=message):
        fetch()
    assert not list((tmp_path / "out").glob("*"))


def test_the_name_of_a_file_is_the_end_of_its_address():
    assert address_name("https://example.org/a/gene2go.gz?x=1#y") == "gene2go.gz"
    for url in ("https://example.org/", "https://example.org/a/%2e%2e"):
        with pytest.raises(ValueError, match="should end in the name of a file"):
            address_name(url)
