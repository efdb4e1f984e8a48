"""Files of gene sets: read, refused with their place, downloaded."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sparsekm.annotation.gene_sets import (
    GeneSetError,
    fetch_gene_sets,
    read_gene_sets,
)
from sparsekm.network import Downloader, NotFoundError, RefusedError


@pytest.fixture
def written(tmp_path):
    """Write a text to a file and return its path."""

    def write(text, name="file.txt"):
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def genes_by_term(sets):
    return {
        term: {sets.genes[at] for at in members}
        for term, members in zip(sets.terms, sets.members, strict=True)
    }


def test_gmt_gives_terms_names_and_genes_in_any_line_ends(written):
    file = written("T2\tsecond\tB\tA\t\r\n\r\nT1\thttp://x\tA\n")
    sets = read_gene_sets(file)
    assert genes_by_term(sets) == {"T1": {"A"}, "T2": {"A", "B"}}
    assert sets.names == ("T1", "second")
    assert sets.identifier == "symbol"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T1\tname\tA\nT2\tname\n", r"line 2: columns=2 should be >= 3"),
        ("T1\tname\tA\t\tB\n", r"line 1, column 4: the cell should not be empty"),
        ("T1\tname\tA\nT1\tname\tB\n", r"line 2, column 1: term='T1' is in line 1 already"),
        ("\n\n", r"terms=0 should be >= 1"),
        (b"T1\tname\tA\nT2\t\xff\tA\n", r"line 2, column 4: byte 0xff is not UTF-8"),
        (b"T1\tna\0me\tA\n", r"line 1, column 6: NUL"),
    ],
)
def test_damaged_gmt_is_refused_with_its_place(written, text, message):
    with pytest.raises(GeneSetError, match=message):
        read_gene_sets(written(text))


def test_files_cut_short_are_refused(written):
    packed = gzip.compress(b"".join(b"T%d\tname\tA\n" % number for number in range(500)))
    assert len(read_gene_sets(written(packed)).terms) == 500
    with pytest.raises(GeneSetError, match="compressed file is damaged"):
        read_gene_sets(written(packed[:-9]))
    with pytest.raises(GeneSetError, match="compressed file is damaged"):
        read_gene_sets(written(packed[:20] + b"\0\0\0\0" + packed[24:]))


def test_a_missing_file_and_an_unknown_identifier_are_refused(written, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.gmt: no such file"):
        read_gene_sets(tmp_path / "none.gmt")
    with pytest.raises(ValueError, match="identifier='name' should be one of"):
        read_gene_sets(written("T\tn\tA\n"), "name")


def test_real_gmt_of_the_mouse_is_read_whole(test_data):
    sets = read_gene_sets(test_data / "mouse_go" / "mouse_go_bp_5_500_egad.gmt.gz")
    assert len(sets.terms) == 8265
    sizes = np.array([members.size for members in sets.members])
    assert sizes.min() >= 5
    assert sizes.max() <= 500
    assert all(term.startswith("GO:") for term in sets.terms)
    by_term = dict(zip(sets.terms, sets.members, strict=True))
    repair = {sets.genes[at] for at in by_term["GO:0000012"]}
    assert {"Aplf", "Lig4", "Sirt1"} <= repair
    assert sets.names[sets.terms.index("GO:0000012")] == "single strand break repair"


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
