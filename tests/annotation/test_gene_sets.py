"""Files of gene sets: read, refused with their place, downloaded."""

import gzip

import numpy as np
import pytest

from sparsekm.annotation.gene_sets import (
    GeneSetError,
    fetch_gene_sets,
    read_gene_sets,
)
from sparsekm.network import RefusedError


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


class Downloads:
    """A downloader that has one answer."""

    def __init__(self, answer):
        self.answer = answer

    def get(self, url, most):
        assert most == 2**28
        return self.answer


def test_a_download_is_stored_as_it_was_sent_and_only_if_it_can_be_read(tmp_path):
    body, file = gzip.compress(b"T1\tname\tA\tB\nT2\tname\tB\n"), tmp_path / "out" / "sets.gz"
    fetch_gene_sets(Downloads(body), "https://host/sets.gz", file, "symbol")
    assert file.read_bytes() == body
    busy = Downloads(b"<html>busy</html>\n")
    with pytest.raises(RefusedError, match=r"https://host/other: should be a GMT file .*line 1"):
        fetch_gene_sets(busy, "https://host/other", tmp_path / "out" / "other", "symbol")
    assert list((tmp_path / "out").iterdir()) == [file]
