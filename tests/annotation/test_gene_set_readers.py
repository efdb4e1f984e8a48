"""Files of gene sets: what is read from sound ones, and where damaged ones are said to break."""

import gzip

import numpy as np
import pytest
from gene_set_texts import GENE2GO_HEADER, OBO, gaf_line, gene2go_line

from sparsekm.annotation.annotation_readers import read_gaf, read_gene2go, read_gene_sets
from sparsekm.annotation.gene_set_file import read_gene_sets_file, write_gene_sets
from sparsekm.annotation.gmt_reader import read_gmt
from sparsekm.annotation.obo_reader import read_obo
from sparsekm.annotation.text_lines import GeneSetError, read_lines
from sparsekm.io.checked_hdf5 import DamagedFileError


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
    sets = read_gmt(file)
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
        read_gmt(written(text))


def test_gmt_by_entrez_id_takes_numbers_only(written):
    assert read_gmt(written("T\tn\t12\t7\n"), "entrez_id").genes == ("12", "7")
    with pytest.raises(GeneSetError, match=r"line 1, column 4: 'Abc' should be an Entrez id"):
        read_gmt(written("T\tn\t12\tAbc\n"), "entrez_id")


def test_files_cut_short_are_refused(written):
    packed = gzip.compress(b"T1\tname\tA\n" * 500)
    assert len(list(read_lines(written(packed)))) == 500
    with pytest.raises(GeneSetError, match="compressed file is damaged"):
        list(read_lines(written(packed[:-9])))
    with pytest.raises(GeneSetError, match="compressed file is damaged"):
        list(read_lines(written(packed[:20] + b"\0\0\0\0" + packed[24:])))


def test_ancestors_come_by_is_a_and_part_of_and_not_by_regulates(written):
    tree = read_obo(written(OBO))
    assert tree.ancestors["GO:0000003"] == {"GO:0000001", "GO:0000002", "GO:0000003"}
    assert tree.terms["GO:0000002"].name == "whole ! with a mark"
    assert "part_of" not in tree.terms
    assert tree.resolve("GO:0000022").id == "GO:0000002"
    assert tree.resolve("GO:0000005").is_obsolete
    assert tree.resolve("GO:0000077") is None


def test_a_diamond_is_no_circle_and_depth_is_no_limit(written):
    chain = "".join(
        f"[Term]\nid: GO:{n:07d}\nname: t{n}\nis_a: GO:{n - 1:07d}\nis_a: GO:{max(n - 2, 1):07d}\n"
        for n in range(3, 3000)
    )
    head = "format-version: 1.2\n[Term]\nid: GO:0000001\n[Term]\nid: GO:0000002\nis_a: GO:0000001\n"
    # Children stand before their parents too.
    tree = read_obo(written(head + chain))
    assert len(tree.ancestors["GO:0002999"]) == 2999


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("format-version: 1.2", "version: 1"), r"line 1: 'version: 1' should be an OBO"),
        (("id: GO:0000004", "id: GO:0000003"), r"line 22: id='GO:0000003' occurs twice"),
        (("id: GO:0000004\n", ""), r"line 21: the term should have an id"),
        (("part_of GO:0000002", "part_of GO:0000009"), r"line 18: parent 'GO:0000009' .* no term"),
        (("part_of GO:0000002", "part_of GO:0000005"), r"line 18: parent .* is obsolete"),
        (("alt_id: GO:0000022", "alt_id: GO:0000004"), r"line 12: alt_id='GO:0000004'"),
        (("name: root\n", "name root\n"), r"line 6: 'name root' should be tag: value"),
        (("name: root\n", "is_a: GO:0000003\n"), r"line \d+: GO:000000\d as an ancestor .* circle"),
        (("name: root\n", "is_a: GO:0000001\n"), r"line 6: GO:0000001 as an ancestor .* circle"),
    ],
)
def test_damaged_ontology_is_refused_with_its_line(written, change, message):
    assert change[0] in OBO
    with pytest.raises(GeneSetError, match=message):
        read_obo(written(OBO.replace(*change, 1)))


def test_gaf_leaves_not_and_nd_out_maps_other_ids_and_names_obsolete_terms(written):
    lines = [
        "!gaf-version: 2.2",
        gaf_line("Aa", "GO:0000003"),
        gaf_line("Aa", "GO:0000003", evidence="IEA"),
        gaf_line("Bb", "GO:0000022"),
        gaf_line("Cc", "GO:0000004", relation="NOT|involved_in"),
        gaf_line("Dd", "GO:0000001", evidence="ND"),
        gaf_line("Ee", "GO:0000005"),
        gaf_line("Ff", "GO:0000099"),
        "",
    ]
    sets = read_gene_sets("gaf", written("\n".join(lines), "a.gaf"), written(OBO, "o.obo"))
    assert genes_by_term(sets) == {
        "GO:0000001": {"Aa", "Bb"},
        "GO:0000002": {"Aa", "Bb"},
        "GO:0000003": {"Aa"},
    }
    assert sets.names == ("root", "whole ! with a mark", "part")
    assert sets.obsolete == ("GO:0000005",)
    assert sets.notes == {
        "annotations read": 7,
        "ids that were another id of a term": 1,
        "left out: NOT": 1,
        "left out: ND, no data": 1,
        "left out: obsolete term": 1,
        "left out: no term of the ontology": 1,
        "pairs of gene and term": 2,
        "pairs with ancestors": 5,
    }


def test_synonyms_count_where_they_mean_one_gene_and_are_no_symbol(written):
    lines = [
        "!gaf-version: 2.1",
        gaf_line("Aa", synonyms="old|Bb|shared"),
        gaf_line("Bb", synonyms="shared"),
    ]
    sets = read_gene_sets("gaf", written("\n".join(lines), "a.gaf"), written(OBO, "o.obo"))
    assert sets.synonyms == {"old": "Aa"}


def test_gene2go_takes_the_mouse_alone_and_leaves_not_out(written):
    lines = [
        GENE2GO_HEADER,
        gene2go_line(gene="11"),
        gene2go_line(gene="12", qualifier="NOT involved_in"),
        gene2go_line(tax="9606", gene="13"),
    ]
    sets = read_gene_sets("gene2go", written("\n".join(lines), "g"), written(OBO, "o.obo"))
    assert sets.identifier == "entrez_id"
    assert sets.genes == ("11",)


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_gaf, gaf_line(), r"line 1: should come after !gaf-version: 2"),
        (read_gaf, "!gaf-version: 1.0\n" + gaf_line(), r"line 2: should come after"),
        (read_gaf, "!gaf-version: 2.2\na\tb\n", r"line 2: columns=2 should be 15 to 17"),
        (read_gaf, "!gaf-version: 2.2\n" + gaf_line(""), r"line 2, column 3: the symbol"),
        (read_gaf, "!gaf-version: 2.2\n" + gaf_line(term="GO:x"), r"line 2, column 5: term='GO:x'"),
        (read_gaf, "!gaf-version: 2.2\n" + gaf_line(evidence=""), r"line 2, column 7: the evid"),
        (read_gene2go, gene2go_line(), r"line 1: header="),
        (read_gene2go, GENE2GO_HEADER + "\na\tb", r"line 2: columns=2 should be 8"),
        (read_gene2go, f"{GENE2GO_HEADER}\n{gene2go_line(gene='-3')}", r"line 2, column 2: GeneID"),
        (read_gene2go, f"{GENE2GO_HEADER}\n{gene2go_line(term='')}", r"line 2, column 3: term=''"),
    ],
)
def test_damaged_annotations_are_refused_with_their_place(written, reader, text, message):
    with pytest.raises(GeneSetError, match=message):
        list(reader(written(text)))


def test_annotations_of_which_none_are_left_are_refused(written):
    text = "!gaf-version: 2.2\n" + gaf_line(evidence="ND")
    with pytest.raises(GeneSetError, match=r"annotations left=0 of 1 should be >= 1"):
        read_gene_sets("gaf", written(text, "a.gaf"), written(OBO, "o.obo"))


def test_unknown_source_and_annotations_without_ontology_are_refused(written):
    with pytest.raises(ValueError, match=r"source='kegg' should be one of"):
        read_gene_sets("kegg", written(""))
    with pytest.raises(ValueError, match=r"ontology=None should be a file"):
        read_gene_sets("gaf", written(""))


def test_gene_sets_survive_their_file(tmp_path, written):
    lines = ["!gaf-version: 2.2", gaf_line("Äé", synonyms="old"), gaf_line("Ee", "GO:0000005")]
    sets = read_gene_sets("gaf", written("\n".join(lines), "a.gaf"), written(OBO, "o.obo"))
    write_gene_sets(tmp_path / "sets.h5", sets)
    read = read_gene_sets_file(tmp_path / "sets.h5")
    for name in ("identifier", "genes", "terms", "names", "synonyms", "notes", "obsolete"):
        assert getattr(read, name) == getattr(sets, name)
    for mine, theirs in zip(read.members, sets.members, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    whole = (tmp_path / "sets.h5").read_bytes()
    (tmp_path / "sets.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError, match="collect_gene_sets"):
        read_gene_sets_file(tmp_path / "sets.h5")


def test_real_gmt_of_the_mouse_is_read_whole(test_data):
    sets = read_gmt(test_data / "mouse_go" / "mouse_go_bp_5_500_egad.gmt.gz")
    assert len(sets.terms) == 8265
    sizes = np.array([members.size for members in sets.members])
    assert sizes.min() >= 5
    assert sizes.max() <= 500
    assert all(term.startswith("GO:") for term in sets.terms)
    by_term = dict(zip(sets.terms, sets.members, strict=True))
    repair = {sets.genes[at] for at in by_term["GO:0000012"]}
    assert {"Aplf", "Lig4", "Sirt1"} <= repair
    assert sets.names[sets.terms.index("GO:0000012")] == "single strand break repair"
