"""Tables as programs and archives write them, with invented values: read, or cured by advice."""

import pytest
from reading import follow, refusal

from sparsekm.io.readers.reader import read_matrix

ROWS = [[1, 8, 3, 5], [70, 90, 20, 41], [400, 310, 260, 377], [9, 4, 0, 2], [55, 12, 31, 60]]
DECIMALS = [[f"{value}.{at}5" for value in row] for at, row in enumerate(ROWS)]
GENES = ["ENSG00000000003", "ENSG00000000419", "ENSG00000000457", "ENSG00000000460", "ENSG1"]
PROTEINS = ["P12345;Q11111", "Q9Y6K9", "O00141", "CON__P00761", "P04637"]


def table(header, before, rows=ROWS, separator="\t", after=()):
    """Join lines: `before` and `after` are the cells around the measurements of each line."""
    after = after or [[]] * len(rows)
    lines = [[*first, *row, *last] for first, row, last in zip(before, rows, after, strict=True)]
    return "".join(separator.join(map(str, line)) + "\n" for line in [header, *lines])


def each(*columns):
    return [list(line) for line in zip(*columns, strict=True)]


BAMS = [f"/data/run/{name}.Aligned.out.bam" for name in ("wt1", "wt2", "ko1", "ko2")]
TCGA = [f"TCGA-02-000{i}-01A" for i in range(1, 5)]
GSM = [f"GSM90{i}" for i in range(1, 5)]
RUNS = [rf"C:\data\plate\run_{i}.d" for i in range(1, 5)]
WELLS = ["A4D12", "A4D15", "A6D3", "B7D9"]
L1000 = [f"LJP005_A375_24H_X1_B19:A0{i}" for i in range(1, 5)]

READ = {
    "featureCounts with paths": (
        '# Program:featureCounts v1.6.4; Command:"featureCounts" "-p" "-a" "/data/a.gtf"\n'
        + table(
            ["Geneid", "Chr", "Start", "End", "Strand", "Length", *BAMS],
            each(GENES, ["1;1"] * 5, ["5;90"] * 5, ["40;99"] * 5, ["+;+"] * 5, range(900, 905)),
        ),
        BAMS,
        GENES,
    ),
    "expression of cBioPortal": (
        table(
            ["Hugo_Symbol", "Entrez_Gene_Id", *TCGA],
            each(["AACS", "ELMO2", "TP53", "RPS11", "PNMA1"], [65985, 63916, 7157, 6205, 9240]),
            [*DECIMALS[:4], ["NA"] * 4],
        ),
        TCGA,
        ["AACS", "ELMO2", "TP53", "RPS11", "PNMA1"],
    ),
    "copy numbers of cBioPortal, with a tab after the header": (
        table(
            ["GeneId", "Hugo_Symbol", *TCGA, ""],
            each(range(990, 995), [f"TEST{i}" for i in range(5)]),
        ),
        TCGA,
        [f"TEST{i}" for i in range(5)],
    ),
    "GCT 1.2 of Connectivity Map": (
        "#1.2\n5\t4\n"
        + table(
            ["Name", "Description", *L1000],
            each([f"20{i}_at" for i in range(5)], ["MAPK3"] * 5),
        ),
        L1000,
        [f"20{i}_at" for i in range(5)],
    ),
    "GCT 1.3 with numbers as names": (
        "#1.3\n5\t4\t1\t1\n"
        + table(
            ["id", "rhd", 11, 12, 13, 14],
            each(["chd", *range(301, 306)], ["na", *"abcde"]),
            [list("wxyz"), *ROWS],
        ),
        ["11", "12", "13", "14"],
        [str(i) for i in range(301, 306)],
    ),
    "GCT 1.3 without metadata, connectivities": (
        "#1.3\n5\t4\t0\t0\n"
        + table(["id", *L1000], each([f"CELL_{i}:BRD-K9{i}:10" for i in range(5)]), DECIMALS),
        L1000,
        [f"CELL_{i}:BRD-K9{i}:10" for i in range(5)],
    ),
    "samples of GEO side by side, annotated": (
        table(
            ["ID_REF", *GSM, "GB_ACC"],
            each(range(1, 6)),
            DECIMALS,
            after=each([f"NM_02312{i}" for i in range(5)]),
        ),
        GSM,
        [f"NM_02312{i}" for i in range(5)],
    ),
    "leukaemia data of GSEA": (
        table(
            ["Gene", "NAME", "ALL_1", "ALL_2", "AML_1", "AML_2"],
            each(["MAPK3", "TIE1", "CYP2C19", "CXCR5", "EPO"], [f"100{i}_at" for i in range(5)]),
            DECIMALS,
        ),
        ["ALL_1", "ALL_2", "AML_1", "AML_2"],
        ["MAPK3", "TIE1", "CYP2C19", "CXCR5", "EPO"],
    ),
    "protein groups of DIA-NN": (
        table(
            ["Protein.Group", "Protein.Names", "Genes", "First.Protein.Description", *RUNS],
            each(PROTEINS, ["A_BEE"] * 5, ["Abc", "Def", "", "Ghi", "Jkl"], ["x y"] * 5),
            [*DECIMALS[:4], [12.5, "", 8.25, 3.5]],
        ),
        RUNS,
        PROTEINS,
    ),
    "pathways of PICRUSt, from BIOM": (
        "# Constructed from biom file\n"
        + table(
            ["#OTU ID", *WELLS, "KEGG_Pathways"],
            each(["1,1-DDT degradation", "ABC transporters", "Cell cycle", "p53 signaling", "RNA"]),
            after=each(["Metabolism; Xenobiotics"] * 5),
        ),
        WELLS,
        ["1,1-DDT degradation", "ABC transporters", "Cell cycle", "p53 signaling", "RNA"],
    ),
    "taxa in columns": (
        table(
            ["Sample", "Unassigned;Other", "k__Bacteria;p__AC1", "k__Bacteria;p__WPS", "k__A;p__"],
            each([f"X16SBV{i}" for i in range(5)]),
            DECIMALS,
        ),
        [f"X16SBV{i}" for i in range(5)],
        ["Unassigned;Other", "k__Bacteria;p__AC1", "k__Bacteria;p__WPS", "k__A;p__"],
    ),
    "counts of DESeq2's vignettes": (
        table(
            ["ensgene", "SRR1039508", "SRR1039509", "SRR1039512", "SRR1039513"],
            each(GENES),
            separator=",",
        ),
        ["SRR1039508", "SRR1039509", "SRR1039512", "SRR1039513"],
        GENES,
    ),
    "a vector of R with its names": (
        '"","x"\n' + "".join(f'"sample{i}",{1 + i / 7:.3f}\n' for i in range(5)),
        [f"sample{i}" for i in range(5)],
        ["x"],
    ),
    "diversities of samples": (
        table(["SampleID", "richness", "chao1", "shannon", "simpson"], each("abcde"), DECIMALS),
        list("abcde"),
        ["richness", "chao1", "shannon", "simpson"],
    ),
    "counts of STAR, pasted side by side": (
        table(
            ["", "s1", "s2", "s3", "s4"],
            each(["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous", *GENES]),
            [*ROWS[:4], *ROWS],
        ),
        ["s1", "s2", "s3", "s4"],
        GENES,
    ),
    "irises, of which the first descends like wavelengths": (
        "5.1,3.5,1.4,0.2,Iris-setosa\n4.9,3,1.4,0.2,Iris-setosa\n7,3.2,4.7,1.4,Iris-versicolor\n"
        "6.4,3.2,4.5,1.5,Iris-versicolor\n6.3,3.3,6,2.5,Iris-virginica\n5.8,2.7,5.1,1.9,x\n",
        None,
        ["column1", "column2", "column3", "column4"],
    ),
    "passengers with tickets": (
        table(
            ["PassengerId", "Name", "Ticket", "Fare", "Age", "Cabin"],
            each(range(1, 6), ["Doe, J"] * 5, [f"A/5 21{i}" for i in range(5)]),
            [[7.25 + i, 30.5 - i * i, 100 + i] for i in range(5)],
        ),
        ["1", "2", "3", "4", "5"],
        ["Fare", "Age", "Cabin"],
    ),
    "genes of TCGA with their ids, called samples": (
        table(
            ["sample", *(name.replace("-", ".") for name in TCGA)],
            each([f"{name}|{100 + len(name)}" for name in ("TP53", "MYC", "A1BG", "EGFR", "KRAS")]),
            DECIMALS,
        ),
        [name.replace("-", ".") for name in TCGA],
        [f"{name}|{100 + len(name)}" for name in ("TP53", "MYC", "A1BG", "EGFR", "KRAS")],
    ),
    "units and deviations in cells": (
        table(
            ["id", "IL-6", "TNF"], each(WELLS), [["1.5 ng/ml", "2 ± 0.1"]] * 3 + [["3ng", "4 (1)"]]
        ),
        WELLS,
        ["IL-6", "TNF"],
    ),
    "a name with a line break": (
        'id,TP53,"BRCA1\n(log2)",MYC\n'
        + "".join(f"{name},{at / 7},{at},{9 - at}\n" for at, name in enumerate(WELLS)),
        WELLS,
        ["TP53", "BRCA1 (log2)", "MYC"],
    ),
    "numbers of lines, again as a column, and ids": (
        table(
            ["", "Unnamed: 0", "id", "TP53", "MYC"],
            each(range(4), range(4), WELLS),
            [[0.5, 2], [1.5, 9], [7, 3.5], [2, 1]],
            ",",
        ),
        WELLS,
        ["TP53", "MYC"],
    ),
    "amounts of money": (
        table(["city", "rent", "loss"], each("abcd"), [["$1.5", "(2.5)"], ["$3", 4.25]] * 2, ","),
        list("abcd"),
        ["rent", "loss"],
    ),
    "masses as names": (
        table(
            ["id", 101.52, 144.3, 150.11, 203.7, 301.2, 410.4, 512.2, 530.9],
            each("abcde"),
            [[at * 3.5 + i * i / 7 for i in range(8)] for at in range(5)],
            ",",
        ),
        list("abcde"),
        ["101.52", "144.3", "150.11", "203.7", "301.2", "410.4", "512.2", "530.9"],
    ),
    "columns of two levels, by pandas": (
        "sample,a,a,b,b\n" + table(["", "TP53", "MYC", "KRAS", "RB1"], each(WELLS), ROWS[:4], ","),
        WELLS,
        ["TP53", "MYC", "KRAS", "RB1"],
    ),
    "numbers and names of patients": (
        table(
            ["No.", "Patient", "TP53", "MYC", "KRAS", "RB1"],
            each(range(1, 6), ["ann", "bob", "cyd", "dan", "eve"]),
            DECIMALS,
            ",",
        ),
        ["ann", "bob", "cyd", "dan", "eve"],
        ["TP53", "MYC", "KRAS", "RB1"],
    ),
    "patients of UCI, numbered twice, by blanks and without a header": (
        "".join(
            f"{1_000_025 + 7 * (i % 19)} {i % 9 + 1} {i * 7 % 10 + 1} {i * 3 % 5}\n"
            for i in range(20)
        ),
        None,
        ["column2", "column3", "column4"],
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_a_table_of_a_known_program_is_read_as_it_is_meant(put, kind):
    content, samples, features = READ[kind]
    settings = {"transpose": False} if "UCI" in kind else {}
    raw = read_matrix(put(content), **settings)
    assert raw.features == features
    assert raw.X.shape[1] == len(features)
    if samples is not None:
        assert raw.samples == samples


MEASURES = ["Peptides", "Intensity", "LFQ intensity", "MS/MS count"]
MAXQUANT = table(
    [
        *("Protein IDs", "Peptide counts (all)", "Score", "Sequence coverage [%]", "Intensity"),
        *(f"{measure} {sample}" for measure in MEASURES for sample in ("C1", "C2", "D1")),
        *("Reverse", "id"),
    ],
    each(PROTEINS, ["4;4", 1, "2;1", 3, 3], [12.5] * 5, [40.1] * 5, [5e8] * 5),
    [[at * 7 + measure * 100 + i for measure in range(4) for i in range(3)] for at in range(5)],
    after=each([""] * 5, range(5)),
)
MZMINE = table(
    [
        *("id", "mz", "mz_range:min", "rt", "area", "height", "charge"),
        *(f"datafile:{run}.d:{what}" for run in ("a_1", "b_1", "c_1") for what in ("area", "rt")),
        *(f"datafile:{run}.d:height" for run in ("a_1", "b_1", "c_1")),
    ],
    each([12, 68, 70, 99, 204], [101.5] * 5, [101.4] * 5, [2.5] * 5, [9e5] * 5, [8e4] * 5, [1] * 5),
    [[at * 7 + i * i + 0.5 for i in range(9)] for at in range(5)],
    separator=",",
)
DISTANCES = table(
    ["bray", *WELLS], each(WELLS), [[abs(i - j) / 9 for i in range(4)] for j in range(4)]
)
CHANNELS = [f"Abundance: F1: {at}, Sample" for at in (126, 127, 128)]
RATIO = table(
    ["Accession", *CHANNELS, "Abundance Ratio: (127) / (126)"],
    each([f"P1234{i}" for i in range(5)]),
    DECIMALS,
)
MEAN = table(["gene_id", *GSM, "mean_tpm"], each(GENES), DECIMALS, after=each([1.5, 2, 4, 1, 3]))
BILLS = [[400 + 9 * i, 9000 - i * i, 3.5 + i / 7, 0.12 * i] for i in range(5)]
CUSTOMERS = table(
    ["CUST_ID", "BALANCE", "PURCHASES", "CASH", "TENURE"],
    each([f"C1000{i}" for i in range(5)]),
    BILLS,
    ",",
)
CURED = {
    "a ratio next to what it was made of": (
        RATIO,
        CHANNELS,
        [f"P1234{i}" for i in range(5)],
    ),
    "a mean next to the samples": (MEAN, GSM, GENES),
    "customers with numbers like those of KEGG": (
        CUSTOMERS,
        [f"C1000{i}" for i in range(5)],
        ["BALANCE", "PURCHASES", "CASH", "TENURE"],
    ),
    "numbers on both axes": (
        table(["", *range(4)], each(range(5)), DECIMALS, ","),
        ["0", "1", "2", "3", "4"],
        ["0", "1", "2", "3"],
    ),
    "protein groups of MaxQuant": (
        MAXQUANT,
        ["LFQ intensity C1", "LFQ intensity C2", "LFQ intensity D1"],
        PROTEINS,
    ),
    "features of MZmine": (
        MZMINE,
        [f"datafile:{run}.d:area" for run in ("a_1", "b_1", "c_1")],
        ["12", "68", "70", "99", "204"],
    ),
}


@pytest.mark.parametrize("kind", CURED)
def test_what_is_refused_is_read_after_the_advice(put, kind):
    content, samples, features = CURED[kind]
    file, found = put(content), []
    tried = [{}]
    while tried and len(found) < 9:
        settings = tried.pop(0)
        try:
            raw = read_matrix(file, **settings)
            found.append((raw.samples, raw.features))
        except ValueError as error:
            tried += [{**settings, **advised} for advised in follow(str(error))]
    assert (samples, features) in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("^PLATFORM = GPL4133\n!Platform_title = x\nID\tROW\n1\t2\n3\t4\n", "GEOparse"),
        ("<!doctype html>\n<html>\n", "not text, but a web page. Download the file itself."),
        ("%%MatrixMarket matrix coordinate\n3 3 1\n1 1 5\n", "Rename it to end in .mtx"),
        ("1 1:0.5 2:3.5\n0 1:0.25 3:1\n", "load_svmlight_file"),
        ("a^b^c\n1^2^3\n4^5^6\n", "Separate cells by commas, semicolons or tabs"),
        (
            "Well\tSample Name\tTarget Name\tCT\n"
            + "".join(
                f"A{4 * i + j}\tS{i}\tG{j}\t{i + 25.5}\n" for i in range(4) for j in range(3)
            ),
            "pivot_table(index='Sample Name', columns='Target Name', values='CT')",
        ),
        (
            "subject,visit,gene,level\n"
            + "".join(f"{at // 3},2,G{at % 3},{at * at}.5\n" for at in range(12)),
            "pivot_table(index='subject', columns='gene', values='level')",
        ),
        ("id,TP53,MYC\na,1,2,3\nb,2,3,4\nc,3,5,1\n", "If a name is missing, add it"),
        (
            "id;TP53;MYC\na;1.234;2\nb;2,345;3.5\nc;3.5;1\n",
            "'2,345' may have a decimal comma or thousands in groups",
        ),
        (DISTANCES, "these are distances or correlations"),
        (
            table(
                ["Name", "Length", "EffectiveLength", "TPM"], each(GENES, [900] * 5), [[1, 2]] * 5
            ),
            "describe features, such as the results of a test or the measures of one sample",
        ),
        (
            table(["Experiment", "Type", "Time"], each(GSM), [["ctrl", "4 hours"]] * 4),
            "hold text, such as '4 hours'; there should be numbers alone",
        ),
    ],
)
def test_what_holds_no_measurements_of_samples_is_refused(put, content, message):
    assert message in refusal(put(content))
