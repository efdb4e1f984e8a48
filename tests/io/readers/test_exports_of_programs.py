"""Tables as programs for omics, images, blood and surveys export them: read, named or refused."""

import pytest
from reading import GSM, follow, genes, refusal, samples, values, write

from sparsekm.io.readers.reader import read_matrix

FOUR = ["WT_1", "WT_2", "KO_1", "KO_2"]
SIX = ["C_01", "C_02", "C_03", "T_01", "T_02", "T_03"]
UNKNOWN = ["Xkr4", "Mrpl15", "Lypla1", "Tcea1", "Rgs20", "Oprk1"]
AREAS = [f"{name}.mzML Peak area" for name in SIX]
NUMBERS = [*range(1, 7)]
MASSES = [f"{100 + 17.25 * i:.4f}" for i in range(6)]
CELLS = [f"AAACCTGAGAAACC{pair}-1" for pair in ("AT", "GC", "TA", "CG", "AC", "GT")]
MOVING = [f"L{1 + i}S10{5 + i}" for i in range(4)]
HASHES = [f"{16**31 + 16**30 * i:032x}" for i in range(1, 7)]
SEQUENCES = ["ACGT" * 11 + pair * 3 for pair in ("AT", "GC", "TA", "CG", "AC", "GT")]
PROTEINS = ["IL8", "VEGFA", "CD8A", "MCP-3", "GDNF"]
APTAMERS = [f"{10000 + 7 * i}-{i}" for i in range(1, 6)]
PEOPLE = [f"A{i}_{kind}" for i, kind in enumerate(["CASE", "CTRL"] * 3)]
FRACTIONS = ["B cells naive", "T cells CD8", "NK cells resting", "Monocytes"]


def lines(*rows, separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def numbered(names, n_columns, *before):
    """Give lines with a name, what stands before the values, and values."""
    return [
        [name, *before, *row]
        for name, row in zip(names, values(len(names), n_columns), strict=True)
    ]


NPX = lines(
    ["NPX data", *[""] * 7],
    ["Panel", *["Inflammation(v.3)"] * 5, "Plate ID", "QC"],
    ["Assay", *PROTEINS, "", ""],
    ["Uniprot ID", *(f"P0000{i}" for i in range(5)), "", ""],
    [""] * 8,
    *([*row, "P1", "Pass"] for row in numbered(PEOPLE, 5)),
    ["LOD", 1, 2, 1, 1, 3, "", ""],
    ["Missing data freq.", *["0%"] * 5, "", ""],
    separator=";",
)
ADAT = lines(
    ["", "", "SeqId", *APTAMERS],
    ["", "", "SomaId", *(f"SL00{i}" for i in range(5))],
    ["PlateId", "SampleId", *[""] * 6],
    *(["P1", *row[:1], "", *row[1:]] for row in numbered(PEOPLE, 5)),
    separator="\t",
)
MS_DIAL = lines(
    ["", "", "Class", "A", "A", "B", "B"],
    ["", "", "Injection order", 1, 2, 3, 4],
    ["Alignment ID", "Average Mz", "Metabolite name", *FOUR],
    *([at, 200.1 + at, f"Met{at}", *row] for at, row in enumerate(values(6, 4))),
    separator="\t",
)
CONDITIONS = lines(
    ["", "Control", "", "", "Drug", "", ""],
    ["gene", *["rep1", "rep2", "rep3"] * 2],
    *numbered(UNKNOWN, 6),
)
LIMITS = lines(
    ["Material", "Sample ID", "C0", "C2", "C3"],
    ["LOD", "", 0.1, 0.2, 0.1],
    *(["Plasma", *row] for row in numbered(PEOPLE, 3)),
)
HEADING = ["id", "Name", "Description"]
GCT, *_ = genes(HEADING, FOUR, range(6), UNKNOWN, "na", above="#1.2\n6\t4\n")
MOTHUR, *_ = samples(["label", "Group", "numOtus"], ["Otu01", "Otu02"], [0.03] * 4, MOVING, 2)
TWICE, *_ = samples(["Unnamed: 0.1", "Unnamed: 0", "id"], UNKNOWN, range(4), range(4), FOUR)
READ = {
    "masses under id": genes(["id"], FOUR, MASSES),
    "masses under Unnamed: 0, annotated": genes(["Unnamed: 0", "entrez_id"], FOUR, MASSES, 7),
    "masses before names": genes(["ID_REF", "GeneName"], FOUR, MASSES, UNKNOWN),
    "numbers of genes before names": genes(["Gene", "GeneName"], FOUR, [*range(7, 13)], UNKNOWN),
    "GCT with numbers of lines": (GCT, FOUR, UNKNOWN),
    "names in the third line, of Olink": (NPX, PEOPLE, PROTEINS),
    "names in two halves, of SomaScan": (ADAT, PEOPLE, ["SeqId", *APTAMERS]),
    "names below classes, of MS-DIAL": (MS_DIAL, FOUR, [f"Met{at}" for at in range(6)]),
    "replicates below conditions": (
        CONDITIONS,
        [f"{kind} rep{at}" for kind in ("Control", "Drug") for at in (1, 2, 3)],
        UNKNOWN,
    ),
    "features of MZmine 3": genes(
        ["row ID", "row m/z", "row retention time"], AREAS, NUMBERS, 101.5, 2.5
    ),
    "features of XCMS": genes(
        ["", "mzmed", "mzmin", "rtmed", "npeaks"], SIX, [f"FT00{i}" for i in range(6)], 1.5, 1, 2, 6
    ),
    "hashes of QIIME, and samples like proteins": genes(["#OTU ID"], MOVING, HASHES),
    "sequences of DADA2": samples([""], SEQUENCES, MOVING),
    "OTUs of mothur": (MOTHUR, MOVING, ["numOtus", "Otu01", "Otu02"]),
    "samples of two groups": genes(["Genes"], SIX, UNKNOWN),
    "numbers of records": samples(["MRN"], ["BUN", "HCO3"], range(700, 706)),
    "a line of limits without a name": (LIMITS, PEOPLE, ["C0", "C2", "C3"]),
    "names that begin like comments": samples(
        ["Animal"], ["Speed", "Entries"], ["#101", "#102", "#103"]
    ),
    "numbers of lines, written twice": (TWICE, FOUR, UNKNOWN),
    "answers to a survey": samples(
        ["ResponseId"], ["Q1_1", "Q1_2", "Q2_1"], [f"R_{i}xYz" for i in range(6)]
    ),
    "coordinates next to genes": samples(
        ["barcode", "array_row", "pxl_col_in_fullres"],
        ["Gfap", "Mbp", "Plp1"],
        CELLS,
        3,
        range(40, 46),
    ),
    "shares of kinds of cells": samples(["Mixture"], FRACTIONS, [f"s{i}" for i in range(6)]),
}


@pytest.mark.parametrize("kind", READ)
def test_an_export_is_read_as_it_is_meant(put, kind):
    content, samples, features = READ[kind]
    raw = read_matrix(put(content))
    assert (raw.samples, raw.features) == (samples, features)


def test_lines_above_the_names_describe_the_samples(put):
    assert read_matrix(put(MS_DIAL), labels="Class").labels.tolist() == [*"AABB"]
    kinds = read_matrix(put(CONDITIONS), labels="Control").labels.tolist()
    assert kinds == ["Control"] * 3 + ["Drug"] * 3


def test_utf_16_is_read_without_its_mark(put):
    content, samples, features = genes(["gene"], GSM, UNKNOWN)
    raw = read_matrix(put(content.encode("utf-16-le"), "m.txt"))
    assert (raw.samples, raw.features) == (samples, features)


WINE = lines(*([1 + at // 4, *row] for at, row in enumerate(values(12, 3))))
SHEET = write(["Matrikel", "BUN", "HCO3"], range(700_123, 700_151, 3))
MARKS = write(["Name", "Aufgabe 1", "Aufgabe 2", "Summe"], ["Ann A", "Bob B", "Cyd C", "Dan D"])
NAMED = {
    "a class in the first column": (WINE, "set labels: column1 if 'column1' holds known classes"),
    "numbers of patients": (SHEET, "Set ignore: [Matrikel] to leave them out"),
    "sums in German": (
        MARKS,
        "columns [Summe] describe the samples or are totals and are left out",
    ),
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_may_be_no_feature_is_named(put, kind):
    content, message = NAMED[kind]
    assert message in " ".join(read_matrix(put(content), transpose=False).remarks)


CURED = {
    "a column behind others of annotation": genes(
        ["ID", "Evidence", "Note"], SIX, UNKNOWN, [2.5, 9, 4, 6, 3.5, 8], "x"
    ),
    "annotation of another size, with marks of footnotes": genes(
        ["Gene name d", "Start f"], FOUR, UNKNOWN, range(40_000, 46_000, 1000)
    ),
    "a number that is always the same": genes(["gene", "reads"], SIX, UNKNOWN, 12.5),
}


@pytest.mark.parametrize("kind", CURED)
def test_a_column_that_may_be_no_sample_is_asked_about(put, kind):
    content, samples, features = CURED[kind]
    file = put(content)
    raws = [read_matrix(file, **advised) for advised in follow(refusal(file))]
    assert (samples, features) in [(raw.samples, raw.features) for raw in raws]


def test_counts_of_one_sample_of_star_are_refused(put):
    names = ["N_unmapped", "N_noFeature", *(f"ENSG0000000{i:04d}" for i in range(6))]
    assert "of one sample" in refusal(put(lines(*numbered(names, 3)), "ReadsPerGene.out.tab"))
