"""Over-representation by its definition, what is planted in the phantom's genes, and GMT files."""

import gzip
from math import comb
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.enrichment import find_enriched, group_features
from sparsekm.annotation.gene_sets import (
    GeneSetError,
    build_gene_sets,
    fetch_gene_sets,
    list_terms,
    match_features,
    read_gene_sets,
)
from sparsekm.atlas.phantom import get_size
from sparsekm.atlas.phantom.genes import (
    CONTROL,
    EVERYWHERE,
    FIRST_CONTROL,
    N_CONTROLS,
    PATTERN,
    gene_set_text,
    is_even,
    plant_genes,
    term_id,
)
from sparsekm.network import RefusedError

SYMBOLS = [f"g{i}" for i in range(20)]


def var(symbols=SYMBOLS, **columns):
    return pd.DataFrame(columns, index=list(symbols))


def mask(*chosen, n=20):
    found = np.zeros(n, dtype=bool)
    found[list(chosen)] = True
    return found


@pytest.fixture
def sets():
    members = {"T:all": SYMBOLS, "T:five": SYMBOLS[:5], "T:two": SYMBOLS[:2]}
    members["T:far"] = ["elsewhere", *SYMBOLS[10:16]]
    return build_gene_sets("symbol", members, {"T:five": "the first five"})


def test_p_value_is_the_tail_of_the_hypergeometric_among_the_genes_analysed(sets):
    kept = {"kept": mask(0, 1, 2, 3, 10, 11)}
    table = find_enriched(sets, match_features(var(), sets), kept, term_size=(5, 19))
    table = table.set_index("term")
    tail = sum(comb(5, k) * comb(15, 6 - k) for k in (4, 5)) / comb(20, 6)
    row = table.loc["T:five"]
    assert row["p_value"] == pytest.approx(tail)
    assert (row["n_analysed"], row["n_group"], row["n_term"], row["n_shared"]) == (20, 6, 5, 4)
    assert row["expected"] == pytest.approx(1.5)
    assert row["fold"] == pytest.approx(4 / 1.5)
    assert row["genes"] == "g0;g1;g2;g3"
    assert row["name"] == "the first five"
    # A gene of the term that was not analysed counts nowhere.
    assert table.loc["T:far", "n_term"] == 6


def test_size_limits_say_which_terms_are_tested_and_q_is_over_those(sets):
    matched, kept = match_features(var(), sets), {"kept": mask(0, 1, 2)}
    table = find_enriched(sets, matched, kept)
    assert set(table["term"]) == {"T:five", "T:far", "T:all"}
    p = np.sort(table["p_value"].to_numpy())
    stepped = np.minimum.accumulate((p * 3 / np.arange(1, 4))[::-1])[::-1].clip(max=1)
    np.testing.assert_allclose(table["q_value"], stepped)
    alone = find_enriched(sets, matched, kept, term_size=(5, 5))
    assert alone["q_value"].tolist() == alone["p_value"].tolist()


BOTH = {"l0": [1, 1, 0, 0], "l1": [0.5, 0, 0.5, 0], "kmeans": [1, 1, 1, 1]}
ALL_THREE = {"l1": [0.5, 0], "l0": [1, 0], "sparse": [0, 1]}


@pytest.mark.parametrize(
    ("weights", "is_atlas", "expected"),
    [
        (BOTH, False, {"kept": [0, 1], "dropped": [2, 3], "only l1": [2]}),
        ({"l1": [0.5, 0]}, False, {"kept": [0], "dropped": [1]}),
        ({"kmeans": [1, 1]}, False, {}),
        ({"sparse": [0, 1]}, False, {"kept": [1], "dropped": [0]}),
        (ALL_THREE, False, {"kept": [1], "dropped": [0]}),
        (ALL_THREE, True, {"kept": [0], "dropped": [1], "only l1": []}),
    ],
)
def test_groups_follow_the_verdicts(weights, is_atlas, expected):
    groups = group_features(weights, is_atlas=is_atlas)
    assert {name: list(np.flatnonzero(found)) for name, found in groups.items()} == expected


def test_genes_without_a_term_are_no_background(sets):
    matched = match_features(var([*SYMBOLS, *(f"unknown{i}" for i in range(30))]), sets)
    groups = {"kept": mask(0, 1, 2, 3, 10, 11, 20, 21, n=50)}
    with_others = find_enriched(sets, matched, groups, term_size=(5, 19))
    kept = {"kept": groups["kept"][:20]}
    alone = find_enriched(sets, match_features(var(), sets), kept, term_size=(5, 19))
    pd.testing.assert_frame_equal(with_others, alone)


def test_a_gene_measured_twice_counts_once_and_is_not_dropped_where_it_is_kept(sets):
    matched = match_features(var(["g0", "g0", "g1", "g2", "g3", "g4"]), sets)
    groups = {"kept": mask(0, n=6), "dropped": mask(1, 2, n=6)}
    table = find_enriched(sets, matched, groups, term_size=(1, 9)).set_index(["group", "term"])
    assert table.loc[("kept", "T:five"), "n_analysed"] == 5
    assert table.loc[("kept", "T:five"), "n_group"] == 1
    assert table.loc[("dropped", "T:five"), "genes"] == "g1"


def test_features_are_found_by_symbol_asterisk_and_alias():
    sets = build_gene_sets("symbol", {"T": ["Aa", "Bb", "Cc", "Dd"]}, {})
    features = var(["Aa*", "Bb", "new", "both", "none"], aliases=["", "", "Cc;x", "Aa;Dd", "y"])
    matched = match_features(features, sets)
    assert matched.symbols == ["Aa*", "Bb", "new", "both", "none"]
    assert matched.positions.tolist() == [0, 1, 2, -1, -1]


def test_terms_of_a_feature_are_named_the_most_specific_first(sets):
    terms = list_terms(sets, match_features(var(), sets), most=2)
    assert terms[0] == "T:two; the first five"
    assert terms[12] == "T:far; T:all"
    assert list_terms(sets, match_features(var(), sets), largest=2)[3] == ""


@pytest.fixture(scope="module")
def find_planted(tmp_path_factory):
    """Test the terms of the default phantom of a seed where a good method chose the genes."""

    def find(seed):
        file = tmp_path_factory.mktemp("phantom") / "phantom.gmt"
        genes = plant_genes(get_size("default"), seed)
        file.write_text(gene_set_text(genes, seed))
        sets = read_gene_sets(file)
        # Most markers, some others, few that are even.
        relevant = np.array([bool(gene.regions_at("E11.5")) for gene in genes])
        others = np.array([0.02 if is_even(gene) else 0.3 for gene in genes])
        draws = np.random.default_rng(seed).random(len(genes))
        kept = draws < np.where(relevant, 0.9, others)
        matched = match_features(var([gene.symbol for gene in genes]), sets)
        return find_enriched(sets, matched, {"kept": kept, "dropped": ~kept})

    return find


def test_what_is_planted_in_the_phantoms_terms_is_found(find_planted):
    q = find_planted(3).set_index(["group", "term"])["q_value"]
    assert q["kept", term_id(PATTERN)] < 1e-6
    assert q["dropped", term_id(EVERYWHERE)] < 1e-4
    assert q["dropped", term_id(PATTERN)] > 0.99
    assert q["kept", term_id(EVERYWHERE)] > 0.99


def test_the_controls_of_the_phantom_show_nothing_but_what_chance_allows(find_planted):
    controls = [term_id(CONTROL), *(term_id(FIRST_CONTROL + rank) for rank in range(N_CONTROLS))]
    smallest = []
    for seed in range(20):
        table = find_planted(seed)
        table = table[table["group"] == "kept"].set_index("term")
        assert set(controls) <= set(table.index)
        smallest.append(table.loc[controls, "p_value"].min())
    # Of 140 tests at level 0.05 / 140, one in twenty such runs has a single find.
    assert sum(p < 0.05 / 140 for p in smallest) <= 1
    assert np.median(smallest) > 0.02


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "file.txt"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def test_gmt_gives_terms_names_and_genes_in_any_line_ends(written):
    sets = read_gene_sets(written("T2\tsecond\tB\tA\t\r\n\r\nT1\thttp://x\tA\n"))
    assert sets.terms == ("T1", "T2")
    assert [{sets.genes[at] for at in members} for members in sets.members] == [{*"A"}, {*"AB"}]
    assert sets.names == ("T1", "second")
    assert sets.identifier == "symbol"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T1\tname\tA\nT2\tname\n", r"line 2: columns=2 should be >= 3"),
        ("T1\tname\tA\t\tB\n", r"line 1: only the description may be empty"),
        ("T1\tname\tA\nT1\tname\tB\n", r"line 2: term='T1' should be in one line only"),
        ("\n\n", r"terms=0 should be >= 1"),
        (b"T1\tname\tA\nT2\t\xff\tA\n", r"line 2: text should be UTF-8"),
        (b"T1\tna\0me\tA\n", r"line 1: text should be UTF-8 without NUL"),
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
    assert all(5 <= members.size <= 500 for members in sets.members)
    assert all(term.startswith("GO:") for term in sets.terms)
    repair = sets.terms.index("GO:0000012")
    assert {"Aplf", "Lig4", "Sirt1"} <= {sets.genes[at] for at in sets.members[repair]}
    assert sets.names[repair] == "single strand break repair"


def test_a_download_is_stored_as_it_was_sent_and_only_if_it_can_be_read(tmp_path):
    body, file = gzip.compress(b"T1\tname\tA\tB\nT2\tname\tB\n"), tmp_path / "out" / "sets.gz"
    sound, busy = (
        SimpleNamespace(get=lambda url, most, answer=answer: answer)
        for answer in (body, b"<html>busy</html>\n")
    )
    fetch_gene_sets(sound, "https://host/sets.gz", file, "symbol")
    assert file.read_bytes() == body
    with pytest.raises(RefusedError, match=r"https://host/other: should be a GMT file .*line 1"):
        fetch_gene_sets(busy, "https://host/other", tmp_path / "out" / "other", "symbol")
    assert list((tmp_path / "out").iterdir()) == [file]
