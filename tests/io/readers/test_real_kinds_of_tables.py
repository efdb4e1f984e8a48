"""Tables as programs and archives write them, with invented values: read, or cured by advice."""

from functools import partial

import pytest
from reading import CYTOKINES, PATIENTS, follow, genes, refusal, samples, values, write

from sparsekm.io.readers.reader import read_matrix

ROWS = [[1, 8, 3, 5], [70, 90, 20, 41], [400, 310, 260, 377], [9, 4, 0, 2], [55, 12, 31, 60]]
DECIMALS = [[f"{value}.{at}5" for value in row] for at, row in enumerate(ROWS)]
GENES = ["ENSG00000000003", "ENSG00000000419", "ENSG00000000457", "ENSG00000000460", "ENSG1"]
PROTEINS = ["P12345;Q11111", "Q9Y6K9", "O00141", "CON__P00761", "P04637"]
BAMS = [f"/data/run/{name}.Aligned.out.bam" for name in ("wt1", "wt2", "ko1", "ko2")]
TCGA = [f"TCGA-02-000{i}-01A" for i in range(1, 5)]
DOTTED = [name.replace("-", ".") for name in TCGA]
GSM = [f"GSM90{i}" for i in range(1, 5)]
RUNS = [rf"C:\data\plate\run_{i}.d" for i in range(1, 5)]
SRR = [f"SRR10395{i}" for i in ("08", "09", 12, 13)]
WELLS = ["A4D12", "A4D15", "A6D3", "B7D9"]
L1000 = [f"LJP005_A375_24H_X1_B19:A0{i}" for i in range(1, 5)]
PERTURBED = [f"CELL_{i}:BRD-K9{i}:10" for i in range(5)]
SYMBOLS = ["MAPK3", "TIE1", "CYP2C19", "CXCR5", "EPO"]
HUGO = ["AACS", "ELMO2", "TP53", "RPS11", "PNMA1"]
PATHWAYS = ["1,1-DDT degradation", "ABC transporters", "Cell cycle", "p53 signaling", "RNA"]
TAXA = ["Unassigned;Other", "k__Bacteria;p__AC1", "k__Bacteria;p__WPS", "k__A;p__"]
REFSEQ = [f"NM_02312{i}" for i in range(5)]
WITH_IDS = [f"{name}|{100 + len(name)}" for name in ("TP53", "MYC", "A1BG", "EGFR", "KRAS")]
LEUKAEMIAS = ["ALL_1", "ALL_2", "AML_1", "AML_2"]
PEOPLE = ["ann", "bob", "cyd", "dan", "eve"]
FOUR = ["TP53", "MYC", "KRAS", "RB1"]


FEATURE_COUNTS = '# Program:featureCounts v1.6.4; Command:"featureCounts" "-p" "-a" "/data/a.gtf"\n'
UNKNOWN, NUMBERED = [f"TEST{i}" for i in range(5)], ["s1", "s2", "s3", "s4"]
counted, measured = partial(genes, cells=ROWS), partial(genes, cells=DECIMALS)
of_samples = partial(samples, cells=DECIMALS)
SPECIAL = ["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous"]
READ = {
    "featureCounts with paths": counted(
        ["Geneid", "Chr", "Start", "End", "Strand", "Length"],
        BAMS,
        GENES,
        *("1;1", "5;90", "40;99", "+;+", range(900, 905)),
        above=FEATURE_COUNTS,
    ),
    "expression of cBioPortal": genes(
        ["Hugo_Symbol", "Entrez_Gene_Id"],
        TCGA,
        HUGO,
        [65985, 63916, 7157, 6205, 9240],
        cells=[*DECIMALS[:4], ["NA"] * 4],
    ),
    "copy numbers of cBioPortal, with a tab after the header": (
        counted(["GeneId", "Hugo_Symbol"], TCGA, range(990, 995), UNKNOWN, behind=[""])[0],
        TCGA,
        UNKNOWN,
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
    "GCT 1.3 without metadata, connectivities": measured(
        ["id"], L1000, PERTURBED, above="#1.3\n5\t4\t0\t0\n"
    ),
    "samples of GEO side by side, annotated": (
        measured(["ID_REF"], GSM, range(1, 6), behind=["GB_ACC"], after=[REFSEQ])[0],
        GSM,
        REFSEQ,
    ),
    "leukaemia data of GSEA": measured(
        ["Gene", "NAME"], LEUKAEMIAS, SYMBOLS, [f"100{i}_at" for i in range(5)]
    ),
    "protein groups of DIA-NN": genes(
        ["Protein.Group", "Protein.Names", "Genes", "First.Protein.Description"],
        RUNS,
        PROTEINS,
        *("A_BEE", ["Abc", "Def", "", "Ghi", "Jkl"], "x y"),
        cells=[*DECIMALS[:4], [12.5, "", 8.25, 3.5]],
    ),
    "pathways of PICRUSt, from BIOM": counted(
        ["#OTU ID"],
        WELLS,
        PATHWAYS,
        above="# Constructed from biom file\n",
        behind=["KEGG_Pathways"],
        after=["Metabolism; Xenobiotics"],
    ),
    "taxa in columns": of_samples(["Sample"], TAXA, [f"X16SBV{i}" for i in range(5)]),
    "counts of DESeq2's vignettes": counted(["ensgene"], SRR, GENES, separator=","),
    "a vector of R with its names": (
        '"","x"\n' + "".join(f'"sample{i}",{1 + i / 7:.3f}\n' for i in range(5)),
        [f"sample{i}" for i in range(5)],
        ["x"],
    ),
    "diversities of samples": of_samples(
        ["SampleID"], ["richness", "chao1", "shannon", "simpson"], [*"abcde"]
    ),
    "counts of STAR, pasted side by side": (
        genes([""], NUMBERED, [*SPECIAL, *GENES], cells=[*ROWS[:4], *ROWS])[0],
        NUMBERED,
        GENES,
    ),
    "irises, of which the first descends like wavelengths": (
        "5.1,3.5,1.4,0.2,Iris-setosa\n4.9,3,1.4,0.2,Iris-setosa\n7,3.2,4.7,1.4,Iris-versicolor\n"
        "6.4,3.2,4.5,1.5,Iris-versicolor\n6.3,3.3,6,2.5,Iris-virginica\n5.8,2.7,5.1,1.9,x\n",
        None,
        ["column1", "column2", "column3", "column4"],
    ),
    "passengers with tickets": samples(
        ["PassengerId", "Name", "Ticket"],
        ["Fare", "Age", "Cabin"],
        range(1, 6),
        *("Doe, J", [f"A/5 21{i}" for i in range(5)]),
        cells=[[7.25 + i, 30.5 - i * i, 100 + i] for i in range(5)],
    ),
    "genes of TCGA with their ids, called samples": measured(["sample"], DOTTED, WITH_IDS),
    "a name with a line break": (
        'id,TP53,"BRCA1\n(log2)",MYC\n'
        + "".join(f"{name},{at / 7},{at},{9 - at}\n" for at, name in enumerate(WELLS)),
        WELLS,
        ["TP53", "BRCA1 (log2)", "MYC"],
    ),
    "numbers of lines, again as a column, and ids": (
        ",Unnamed: 0,id,TP53,MYC\n0,0,A4D12,0.5,2\n1,1,A4D15,1.5,9\n2,2,A6D3,7,3.5\n3,3,B7D9,2,1\n",
        WELLS,
        ["TP53", "MYC"],
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
    "numbers and names of patients": (
        of_samples(["No.", "Patient"], FOUR, range(1, 6), PEOPLE)[0],
        PEOPLE,
        FOUR,
    ),
    "numbered patients of UCI without a header": (
        "".join(f"{8670 + i * i},{'MB'[i % 2]},{10 + i / 7:.2f},{i % 5}.5\n" for i in range(20)),
        [str(8670 + i * i) for i in range(20)],
        ["column3", "column4"],
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_a_table_of_a_known_program_is_read_as_it_is_meant(put, kind):
    content, samples, features = READ[kind]
    raw = read_matrix(put(content))
    assert raw.features == features
    assert raw.shape[1] == len(features)
    if samples is not None:
        assert raw.samples == samples


def test_numbers_of_patients_some_of_whom_came_twice_are_no_feature(put):
    lines = (f"{1_000_025 + 7 * (i % 19)},{i % 9 + 1},{i * 7 % 10 + 1}\n" for i in range(20))
    assert read_matrix(put("".join(lines)), transpose=False).features == ["column2", "column3"]


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
CHANNELS = [f"Abundance: F1: {at}, Sample" for at in (126, 127, 128)]
UNIPROT = [f"P1234{i}" for i in range(5)]
CUSTOMERS = [f"C1000{i}" for i in range(5)]
BALANCES = ["BALANCE", "PURCHASES", "CASH", "TENURE"]
TRACES = [["trace", *row[1:]] if row[0] < 9 else row for row in values(8, 8)]
RANKS = [f"rank_{letter}" for letter in "abcdefghijkl"]
BILLS = [[400 + 9 * i, 9000 - i * i, 3.5 + i / 7, 0.12 * i] for i in range(5)]
CURED = {
    "a word that is no number": samples(["sample"], CYTOKINES, PATIENTS, cells=TRACES),
    "numbers of both kinds": (
        "a;b;c\n" + "".join(f"{1 + i}.234;12.345;{3 + i}.111\n" for i in range(8)),
        None,
        ["a", "b", "c"],
    ),
    "two numbered axes": samples([""], [f"b{i}" for i in range(8)], [f"a{i}" for i in range(12)]),
    "unknown words": samples(
        [""], ["foo", "bar", "baz"], ["zork", "blim", "quax", "fnord", "grault", "waldo"]
    ),
    "a number about each gene": genes(
        ["gene", "rank_no"],
        ["WT_1", "WT_2", "KO_1", "KO_2"],
        [f"G{i}" for i in range(40)],
        [1 + i % 7 for i in range(40)],
    ),
    "more columns than ten to leave out": genes(["gene", *RANKS], GSM, HUGO, *range(12)),
    "a ratio next to what it was made of": measured(
        ["Accession"],
        CHANNELS,
        UNIPROT,
        behind=["Abundance Ratio: (127) / (126)"],
    ),
    "a mean next to the samples": measured(
        ["gene_id"], GSM, GENES, behind=["mean_tpm"], after=[[1.5, 2, 4, 1, 3]]
    ),
    "customers with numbers like those of KEGG": samples(
        ["CUST_ID"], BALANCES, CUSTOMERS, cells=BILLS
    ),
    "numbers on both axes": of_samples([""], range(4), range(5)),
    "protein groups of MaxQuant": (
        MAXQUANT,
        [f"LFQ intensity {sample}" for sample in ("C1", "C2", "D1")],
        PROTEINS,
    ),
    "features of MZmine": (MZMINE, [f"{run}:area" for run in FILES], [*map(str, MZ_IDS)]),
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


QPCR = [f"A{4 * i + j}\tS{i}\tG{j}\t{i + 25.5}\n" for i in range(4) for j in range(3)]
VISITS = [f"{at // 3},2,G{at % 3},{at * at}.5\n" for at in range(12)]
DISTANCES = [[abs(i - j) / 9 for i in range(4)] for j in range(4)]
TIMES = [["ctrl", "4 hours"]] * 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("^PLATFORM = GPL4133\n!Platform_title = x\nID\tROW\n1\t2\n3\t4\n", "GEOparse"),
        ("<!doctype html>\n<html>\n", "not text, but a web page. Download the file itself."),
        ("%%MatrixMarket matrix coordinate\n3 3 1\n1 1 5\n", "Rename it to end in .mtx"),
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
            "'2,345' may have a decimal comma or thousands in groups",
        ),
        (
            write(["bray", *WELLS], WELLS, cells=DISTANCES, separator="\t"),
            "these are distances or correlations",
        ),
        (
            write(["Experiment", "Type", "Time"], GSM, cells=TIMES),
            "hold text, such as '4 hours' in line 2; there should be numbers alone",
        ),
    ],
)
def test_what_holds_no_measurements_of_samples_is_refused(put, content, message):
    assert message in refusal(put(content))
