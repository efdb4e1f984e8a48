"""Tables as programs and archives write them, with invented values: read, or cured by advice."""

from functools import partial

import pytest
from reading import CYTOKINES, PATIENTS, genes, readings, refusal, samples, values, write

from sparsekm.io.readers.reader import read_matrix

ROWS = [[1, 8, 3, 5], [70, 90, 20, 41], [400, 310, 260, 377], [9, 4, 0, 2], [55, 12, 31, 60]]
DECIMALS = [[f"{value}.{at}5" for value in row] for at, row in enumerate(ROWS)]
GENES = ["ENSG00000000003", "ENSG00000000419", "ENSG00000000457", "ENSG00000000460", "ENSG1"]
PROTEINS = ["P12345;Q11111", "Q9Y6K9", "O00141", "CON__P00761", "P04637"]
TCGA = [f"TCGA-02-000{i}-01A" for i in range(1, 5)]
GSM = [f"GSM90{i}" for i in range(1, 5)]
WELLS = ["A4D12", "A4D15", "A6D3", "B7D9"]
L1000 = [f"LJP005_A375_24H_X1_B19:A0{i}" for i in range(1, 5)]
HUGO = ["AACS", "ELMO2", "TP53", "RPS11", "PNMA1"]
FOUR = ["TP53", "MYC", "KRAS", "RB1"]
KNOCKOUTS = ["WT_1", "WT_2", "KO_1", "KO_2"]
SIX = ["C_01", "C_02", "C_03", "T_01", "T_02", "T_03"]
MOUSE = ["Xkr4", "Mrpl15", "Lypla1", "Tcea1", "Rgs20", "Oprk1"]
AREAS = [f"{name}.mzML Peak area" for name in SIX]
MASSES = [f"{100 + 17.25 * i:.4f}" for i in range(6)]
MOVING = [f"L{1 + i}S10{5 + i}" for i in range(4)]
HASHES = [f"{16**31 + 16**30 * i:032x}" for i in range(1, 7)]
SEQUENCES = ["ACGT" * 11 + pair * 3 for pair in ("AT", "GC", "TA", "CG", "AC", "GT")]
OLINK = ["IL8", "VEGFA", "CD8A", "MCP-3", "GDNF"]
APTAMERS = [f"{10000 + 7 * i}-{i}" for i in range(1, 6)]
CASES = [f"A{i}_{kind}" for i, kind in enumerate(["CASE", "CTRL"] * 3)]


def lines(*rows, separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def numbered(names, n_columns, *before):
    """Give lines with a name, what stands before the values, and values."""
    return [
        [name, *before, *row]
        for name, row in zip(names, values(len(names), n_columns), strict=True)
    ]


NUMBERED = ["s1", "s2", "s3", "s4"]
counted, measured = partial(genes, cells=ROWS), partial(genes, cells=DECIMALS)
SPECIAL = ["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous"]
NPX = lines(
    ["NPX data", *[""] * 7],
    ["Panel", *["Inflammation(v.3)"] * 5, "Plate ID", "QC"],
    ["Assay", *OLINK, "", ""],
    ["Uniprot ID", *(f"P0000{i}" for i in range(5)), "", ""],
    [""] * 8,
    *([*row, "P1", "Pass"] for row in numbered(CASES, 5)),
    ["LOD", 1, 2, 1, 1, 3, "", ""],
    ["Missing data freq.", *["0%"] * 5, "", ""],
    separator=";",
)
ADAT = lines(
    ["", "", "SeqId", *APTAMERS],
    ["", "", "SomaId", *(f"SL00{i}" for i in range(5))],
    ["PlateId", "SampleId", *[""] * 6],
    *(["P1", *row[:1], "", *row[1:]] for row in numbered(CASES, 5)),
    separator="\t",
)
MS_DIAL = lines(
    ["", "", "Class", "A", "A", "B", "B"],
    ["", "", "Injection order", 1, 2, 3, 4],
    ["Alignment ID", "Average Mz", "Metabolite name", *KNOCKOUTS],
    *([at, 200.1 + at, f"Met{at}", *row] for at, row in enumerate(values(6, 4))),
    separator="\t",
)
CONDITIONS = lines(
    ["", "Control", "", "", "Drug", "", ""],
    ["gene", *["rep1", "rep2", "rep3"] * 2],
    *numbered(MOUSE, 6),
)
LIMITS = lines(
    ["Material", "Sample ID", "C0", "C2", "C3"],
    ["LOD", "", 0.1, 0.2, 0.1],
    *(["Plasma", *row] for row in numbered(CASES, 3)),
)
OTUS = [f"Otu{i:02d}" for i in range(1, 25)]
MOTHUR, *_ = samples(["label", "Group", "numOtus"], OTUS, [0.03] * 4, MOVING, 24)
READ = {
    "featureCounts with paths": counted(
        ["Geneid", "Chr", "Start", "End", "Strand", "Length"],
        [f"/data/run/{name}.Aligned.out.bam" for name in ("wt1", "wt2", "ko1", "ko2")],
        GENES,
        *("1;1", "5;90", "40;99", "+;+", range(900, 905)),
        above='# Program:featureCounts v1.6.4; Command:"featureCounts" "-p" "-a" "/data/a.gtf"\n',
    ),
    "expression of cBioPortal": genes(
        ["Hugo_Symbol", "Entrez_Gene_Id"],
        TCGA,
        HUGO,
        [65985, 63916, 7157, 6205, 9240],
        cells=[*DECIMALS[:4], ["NA"] * 4],
    ),
    "GCT 1.2 of Connectivity Map": counted(
        ["Name", "Description"],
        L1000,
        [f"20{i}_at" for i in range(5)],
        "MAPK3",
        above="#1.2\n5\t4\n",
    ),
    "GCT 1.3 with numbers as names": (
        "#1.3\n5\t4\t1\t1\nid\trhd\t11\t12\t13\t14\n"
        + counted(["chd", "na"], [*"wxyz"], range(301, 306), [*"abcde"])[0],
        ["11", "12", "13", "14"],
        ["301", "302", "303", "304", "305"],
    ),
    "protein groups of DIA-NN": genes(
        ["Protein.Group", "Protein.Names", "Genes", "First.Protein.Description"],
        [rf"C:\data\plate\run_{i}.d" for i in range(1, 5)],
        PROTEINS,
        *("A_BEE", ["Abc", "Def", "", "Ghi", "Jkl"], "x y"),
        cells=[*DECIMALS[:4], [12.5, "", 8.25, 3.5]],
    ),
    "pathways of PICRUSt, from BIOM": counted(
        ["#OTU ID"],
        WELLS,
        ["1,1-DDT degradation", "ABC transporters", "Cell cycle", "p53 signaling", "RNA"],
        above="# Constructed from biom file\n",
        behind=["KEGG_Pathways"],
        after=["Metabolism; Xenobiotics"],
    ),
    "counts of STAR, pasted side by side": (
        genes([""], NUMBERED, [*SPECIAL, *GENES], cells=[*ROWS[:4], *ROWS])[0],
        NUMBERED,
        GENES,
    ),
    "amounts of money": samples(
        ["city"], ["rent", "loss"], [*"abcd"], cells=[["$1.5", "(2.5)"], ["$3", 4.25]] * 2
    ),
    "masses as names": samples(
        ["id"],
        [101.52, 144.3, 150.11, 203.7, 301.2, 410.4, 512.2, 530.9],
        [*"abcde"],
        cells=[[at * 3.5 + i * i / 7 for i in range(8)] for at in range(5)],
    ),
    "columns of two levels, by pandas": samples(
        [""], FOUR, WELLS, above="sample,a,a,b,b\n", cells=ROWS[:4], separator=","
    ),
    "masses under id": genes(["id"], KNOCKOUTS, MASSES),
    "names in the third line, of Olink": (NPX, CASES, OLINK),
    "names in two halves, of SomaScan": (ADAT, CASES, ["SeqId", *APTAMERS]),
    "names below classes, of MS-DIAL": (MS_DIAL, KNOCKOUTS, [f"Met{at}" for at in range(6)]),
    "numbers of replicates below conditions": (
        lines(["", *["Control"] * 2, *["Drug"] * 2], ["gene", 1, 2, 1, 2], *numbered(MOUSE, 4)),
        ["Control 1", "Control 2", "Drug 1", "Drug 2"],
        MOUSE,
    ),
    "replicates below conditions": (
        CONDITIONS,
        [f"{kind} rep{at}" for kind in ("Control", "Drug") for at in (1, 2, 3)],
        MOUSE,
    ),
    "features of MZmine 3": genes(
        ["row ID", "row m/z", "row retention time"], AREAS, [*range(1, 7)], 101.5, 2.5
    ),
    "features of XCMS": genes(
        ["", "mzmed", "mzmin", "rtmed", "npeaks"], SIX, [f"FT00{i}" for i in range(6)], 1.5, 1, 2, 6
    ),
    "hashes of QIIME, and samples like proteins": genes(["#OTU ID"], MOVING, HASHES),
    "sequences of DADA2": samples([""], SEQUENCES, MOVING),
    "OTUs of mothur": (MOTHUR, MOVING, ["numOtus", *OTUS]),
    "a line of limits without a name": (LIMITS, CASES, ["C0", "C2", "C3"]),
    "answers to a survey": samples(
        ["ResponseId"], ["Q1_1", "Q1_2", "Q2_1"], [f"R_{i}xYz" for i in range(6)]
    ),
    "coordinates next to genes": samples(
        ["barcode", "array_row", "pxl_col_in_fullres"],
        ["Gfap", "Mbp", "Plp1"],
        [f"AAACCTGAGAAACC{pair}-1" for pair in ("AT", "GC", "TA", "CG", "AC", "GT")],
        3,
        range(40, 46),
    ),
}


def test_lines_above_the_names_describe_the_samples(put):
    assert read_matrix(put(MS_DIAL), labels="Class").about.labels.tolist() == [*"AABB"]
    kinds = read_matrix(put(CONDITIONS), labels="Control").about.labels.tolist()
    assert kinds == ["Control"] * 3 + ["Drug"] * 3


MEASURES = ["Peptides", "Intensity", "LFQ intensity", "MS/MS count"]
MAXQUANT = write(
    [
        *("Protein IDs", "Peptide counts (all)", "Score", "Sequence coverage [%]", "Intensity"),
        *(f"{measure} {sample}" for measure in MEASURES for sample in ("C1", "C2", "D1")),
        *("Reverse", "id"),
    ],
    PROTEINS,
    *(["4;4", 1, "2;1", 3, 3], 12.5, 40.1, 5e8),
    cells=[
        [at * 7 + measure * 100 + i for measure in range(4) for i in range(3)] for at in range(5)
    ],
    separator="\t",
    after=["", range(5)],
)
MZ_IDS = [12, 68, 70, 99, 204]
FILES = [f"datafile:{run}.d" for run in ("a_1", "b_1", "c_1")]
MZMINE = write(
    [
        *("id", "mz", "mz_range:min", "rt", "area", "height", "charge"),
        *(f"{run}:{what}" for run in FILES for what in ("area", "rt")),
        *(f"{run}:height" for run in FILES),
    ],
    MZ_IDS,
    *(101.5, 101.4, 2.5, 9e5, 8e4, 1),
    cells=[[at * 7 + i * i + 0.5 for i in range(9)] for at in range(5)],
)
TRACES = [["trace", *row[1:]] if row[0] < 9 else row for row in values(8, 8)]
CURED = {
    "a word that is no number": samples(["sample"], CYTOKINES, PATIENTS, cells=TRACES),
    "numbers of both kinds": (
        "a;b;c\n" + "".join(f"{1 + i}.234;12.345;{3 + i}.111\n" for i in range(8)),
        None,
        ["a", "b", "c"],
    ),
    "unknown words": samples(
        [""], ["foo", "bar", "baz"], ["zork", "blim", "quax", "fnord", "grault", "waldo"]
    ),
    "a number about each gene": genes(
        ["gene", "rank_no"],
        KNOCKOUTS,
        [f"G{i}" for i in range(40)],
        [1 + i % 7 for i in range(40)],
    ),
    "a ratio next to what it was made of": measured(
        ["Accession"],
        [f"Abundance: F1: {at}, Sample" for at in (126, 127, 128)],
        [f"P1234{i}" for i in range(5)],
        behind=["Abundance Ratio: (127) / (126)"],
    ),
    "a mean next to the samples": measured(
        ["gene_id"], GSM, GENES, behind=["mean_tpm"], after=[[1.5, 2, 4, 1, 3]]
    ),
    "protein groups of MaxQuant": (
        MAXQUANT,
        [f"LFQ intensity {sample}" for sample in ("C1", "C2", "D1")],
        PROTEINS,
    ),
    "features of MZmine": (MZMINE, [f"{run}:area" for run in FILES], [*map(str, MZ_IDS)]),
    "a column behind others of annotation": genes(
        ["ID", "Evidence", "Note"], SIX, MOUSE, [2.5, 9, 4, 6, 3.5, 8], "x"
    ),
}


ASKED = {
    *CURED,
    "OTUs of mothur",
    "hashes of QIIME, and samples like proteins",
    "coordinates next to genes",
    "masses as names",
    "names in two halves, of SomaScan",
    "sequences of DADA2",
}


@pytest.mark.parametrize("kind", [*READ, *CURED])
def test_a_table_of_a_known_program_is_read_as_it_is_meant_or_asked_about(put, kind):
    content, samples, features = (READ | CURED)[kind]
    is_asked, found = readings(put(content))
    assert is_asked == (kind in ASKED)
    assert (samples, features) in [
        (samples and raw.about.samples, raw.about.features) for raw in found
    ]


QPCR = [f"A{4 * i + j}\tS{i}\tG{j}\t{i + 25.5}\n" for i in range(4) for j in range(3)]
VISITS = [f"{at // 3},2,G{at % 3},{at * at}.5\n" for at in range(12)]
DISTANCES = [[abs(i - j) / 9 for i in range(4)] for j in range(4)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("^PLATFORM = GPL4133\n!Platform_title = x\nID\tROW\n1\t2\n3\t4\n", "GEOparse"),
        ("<!doctype html>\n<html>\n", "not a table, but a web page. Download the file itself."),
        ("%%MatrixMarket matrix coordinate\n3 3 1\n1 1 5\n", "Rename it to end in .mtx"),
        (
            lines(
                *numbered(["N_unmapped", "N_noFeature", *(f"ENSG{i:011d}" for i in range(6))], 3)
            ),
            "the first line has numbers in place of names",
        ),
        ("a^b^c\n1^2^3\n4^5^6\n", "Separate cells by commas, semicolons or tabs"),
        (
            "Well\tSample Name\tTarget Name\tCT\n" + "".join(QPCR),
            "pivot_table(index='Sample Name', columns='Target Name', values='CT')",
        ),
        (
            "subject,visit,gene,level\n" + "".join(VISITS),
            "pivot_table(index='subject', columns='gene', values='level')",
        ),
        ("id,TP53,MYC\na,1,2,3\nb,2,3,4\nc,3,5,1\n", "If a name is missing, add it"),
        (
            "id;TP53;MYC\na;1.234;2\nb;2,345;3.5\nc;3.5;1\n",
            "'2,345' has a separator that other numbers do not have",
        ),
        (
            write(["bray", *WELLS], WELLS, cells=DISTANCES, separator="\t"),
            "these are distances or correlations",
        ),
        (
            write(["Experiment", "Type", "Time"], GSM, cells=[["ctrl", "4 hours"]] * 4),
            "hold text, such as '4 hours' in line 2; there should be only numbers",
        ),
    ],
)
def test_what_holds_no_measurements_of_samples_is_refused(put, content, message):
    assert message in refusal(put(content))
