"""Tables of many kinds, of invented values: read as they are meant, or cured by the advice."""

import gzip

import numpy as np
import pytest
from reading import CYTOKINES, GSM, PATIENTS, genes, readings, refusal, samples, values, write

from sparsekm.io.readers.reader import read_matrix

SYMBOLS = ["TP53", "BRCA1", "MYC", "EGFR", "ABC1", "XYZ2", "KLM3", "QRS4"]
KINDS = {
    "lipids": ["PC 34:1", "PE 38:4", "SM 42:1", "TG 52:2", "Cer d18:1/16:0", "LPC 18:0"],
    "HMDB": [f"HMDB{i:07d}" for i in range(1, 9)],
    "amplicons": [f"ASV_{i}" for i in range(1, 9)],
    "UniProt": ["P12345", "Q9Y6K9", "O00141", "A0A024R161", "P04637"],
    "mouse": ["Slc17a7", "Gad2", "Pvalb", "Sst", "Vip", "Rorb", "Cux2", "Foxp2"],
    "words": ["zork", "blim", "quax", "fnord", "grault", "waldo", "plugh", "xyzzy"],
}
SAMPLES = {
    "GEO": GSM,
    "TCGA": [f"TCGA-A1-A0S{letter}-01" for letter in "BDEFGH"],
    "patients": PATIENTS,
    "wells": ["A01", "A02", "B01", "B02", "C01", "C02"],
    "barcodes": [f"AAACCTGAGAAACC{pair}-1" for pair in ("AT", "GC", "TA", "CG")],
}


@pytest.mark.parametrize("features", KINDS)
@pytest.mark.parametrize("samples", SAMPLES)
def test_forms_of_names_tell_the_axes_or_both_readings_are_offered(put, features, samples):
    features, samples = KINDS[features], SAMPLES[samples]
    for separator, name in ((",", "m.csv"), ("\t", "m.txt")):
        for lines, columns in ((features, samples), (samples, features)):
            file = put(write(["", *columns], lines, separator=separator), name)
            assert (samples, features) in [
                (raw.about.samples, raw.about.features) for raw in readings(file)[1]
            ]


PLAIN = write(["gene", *GSM], SYMBOLS)
OF_GENES = {
    "a title and an empty line": "Table S3. Expression in cells\n\n" + PLAIN,
    "a title in a sheet": f"Table S3{',' * 8}\n{',' * 8}\n{PLAIN}",
    "comments above and below": f"# by X\n# in 2020\n{PLAIN}# end\nSource: somewhere\n",
    "UTF-16 of Excel": write(["gene", *GSM], SYMBOLS, separator="\t").encode("utf-16"),
    "UTF-16 without its mark": write(["gene", *GSM], SYMBOLS, separator="\t").encode("utf-16-le"),
    "Windows-1252": write(["Gen für Gen", *GSM], SYMBOLS).encode("cp1252"),
    "GCT 1.3": "#1.3\n8\t8\t2\t1\n"
    + write(
        ["id", "name", "number", *GSM], ["dose"], "na", "na", cells=[[1, 2] * 4], separator="\t"
    )
    + write(["", "", "", *GSM], SYMBOLS, "x", 1, separator="\t").partition("\n")[2],
    "a line of classes below the names": write(
        ["gene", *GSM], ["group", *SYMBOLS], cells=[["A", "B"] * 4, *values(8, 8)]
    ),
    "a text for each feature": write(["SYMBOL", "Description", *GSM], SYMBOLS, "protein"),
}
OF_PATIENTS = {
    "age and sex of patients": write(["patient", "age", "sex", *CYTOKINES], PATIENTS, 40, 1),
    "a line of units": write(
        ["sample", *CYTOKINES], ["unit", *PATIENTS], cells=[["pg/ml"] * 8, *values(8, 8)]
    ),
}
KNOCKOUTS = ["WT_1", "WT_2", "KO_1", "KO_2"]
PROBES = [str(7_892_501 + 3 * i) for i in range(400)]
STRANGE = ["A1", "B1", "C1", "D1"]
READ = {
    **{kind: (content, GSM, SYMBOLS) for kind, content in OF_GENES.items()},
    **{kind: (content, PATIENTS, CYTOKINES) for kind, content in OF_PATIENTS.items()},
    "starts and ends of genes": genes(
        ["gene", "gene_start", "gene_end"], KNOCKOUTS, SYMBOLS, range(900, 908), range(950, 958)
    ),
    "scores and weights of MaxQuant": genes(
        ["Protein IDs", "Gene names", "Score", "Mol. weight [kDa]"],
        [f"LFQ intensity {sample}" for sample in "ABC"],
        ["P12345;Q11111", "Q9Y6K9", "O00141"],
        "ABC",
        12.5,
        30.2,
    ),
    "numbers that name nothing": samples([""], ["sepal_length", "petal_length"], range(1, 20)),
    "blanks between quoted names, by R": (
        '"sample1" "sample2" "sample3"\n' + "".join(f'"gene {i}" 1.5 {i}.2 3\n' for i in range(5)),
        ["sample1", "sample2", "sample3"],
        [f"gene {i}" for i in range(5)],
    ),
    "ends of lines that are missing": (
        "gene\ts1\ts2\ts3\nTP53\t1.5\t2.5\t3.5\nMYC\t2.2\t3.5\nEGFR\t2.5\t1.5\t2\n",
        ["s1", "s2", "s3"],
        ["TP53", "MYC", "EGFR"],
    ),
    "probes without a gene": (
        write(["Gene Symbol", *GSM], ["TP53", "", "MYC", "---", "EGFR"]),
        GSM,
        ["TP53", "MYC", "EGFR"],
    ),
    "names with the separator": (
        write(["metabolite", *GSM], ['"glucose, blood"', '"lactate, 2h"', '"serine ""L"""']),
        GSM,
        ["glucose, blood", "lactate, 2h", 'serine "L"'],
    ),
    "pixels with a digit": (
        write(["label", *(f"pixel{i}" for i in range(9))], [i % 10 for i in range(40)]),
        None,
        [f"pixel{i}" for i in range(9)],
    ),
}


ASKED = {
    "age and sex of patients",
    "pixels with a digit",
    "scores and weights of MaxQuant",
    "starts and ends of genes",
}


@pytest.mark.parametrize("kind", READ)
def test_a_table_is_read_as_it_is_meant_or_asked_about(put, kind):
    content, samples, features = READ[kind]
    for name in ("m.csv", "m.data", "m.tab", "m"):
        is_asked, found = readings(put(content, name))
        assert is_asked == (kind in ASKED)
        assert (samples, features) in [(raw.about.samples, raw.about.features) for raw in found]


DAYS = [f"d{i}" for i in range(9)]


@pytest.mark.parametrize(
    ("cell", "number", "remark"),
    [
        ("2.5-", -2.5, "a minus sign behind the number"),
        ("−2.50", -2.5, "another minus sign"),
        ("(2.5)", -2.5, "parentheses in place of a minus sign"),
        ("EUR 2.5", 2.5, "a currency"),
        ("12.5%", 12.5, "a percent sign"),
        ("~0.5", 0.5, "a sign or word that means 'about'"),
        ("ca. 0.5", 0.5, "a sign or word that means 'about'"),
        ("0.5?", 0.5, "marks behind the number"),
        ("1.5x10^3", 1500, "powers of ten"),
        ("1.25e+01", 12.5, ""),
        (" 12.5 ", 12.5, ""),
        ("12'500.0", 12_500, "thousands in groups"),
        ("12\u202f500.0", 12_500, ""),
        ("12.500,00", 12_500, "numbers have a decimal comma: '12.500,00' is read as 12500.00"),
        ("1.100.100", 1_100_100, "numbers have a decimal comma: '1.100.100' is read as 1100100"),
    ],
)
def test_numbers_are_read_however_they_are_written(put, cell, number, remark):
    cells = [[i * i + 2, cell if i == 3 else i * i + 7] for i in range(12)]
    people = [f"P{i}" for i in range(12)]
    content = write(["id", "glucose", "urate"], people, cells=cells, separator=";")
    raw = read_matrix(put(content), transpose=False)
    assert raw.offset[1] + raw.collect()[3, 1] == pytest.approx(number)
    assert remark in " ".join(raw.remarks)


MISSING = "NA|NaN|na|None|<NA>|?|ND|n.d.|<LOD|-|.|#DIV/0!| NA |<0.05|-Inf|"


@pytest.mark.parametrize("word", MISSING.split("|"))
def test_what_stands_for_a_missing_value_is_one(put, word):
    cells = values(9, 8)
    cells[2][3] = cells[5][1] = word
    raw = read_matrix(put(write(["sample", *CYTOKINES], DAYS, cells=cells)))
    assert np.argwhere(np.isnan(raw.collect())).tolist() == [[2, 3], [5, 1]]


QUOTED = [f'"{name}"' for name in GSM]
GEO = (
    '!Series_title\t"A title"\n\n'
    + "\t".join(["!Sample_geo_accession", *QUOTED])
    + "\n!Sample_characteristics_ch1\t"
    + "\t".join(f'"tissue: {name}"' for name in ["lung", "liver"] * 4)
    + "\n!series_matrix_table_begin\n"
    + write(['"ID_REF"', *QUOTED], [f'"{i}_at"' for i in range(9)], separator="\t")
    + "!series_matrix_table_end\n"
)


@pytest.mark.parametrize("labels", [None, "tissue", "Sample_characteristics_ch1"])
def test_a_series_of_geo_is_read_with_its_characteristics(put, labels):
    for content, name in ((GEO, "m.txt"), (gzip.compress(GEO.encode(), mtime=0), "m.txt.gz")):
        raw = read_matrix(put(content, name), labels)
        assert (raw.about.samples, raw.about.features[0]) == (GSM, "0_at")
        assert labels is None or raw.about.labels.tolist() == ["lung", "liver"] * 4
    short = GEO.replace('\t"tissue: liver"\n', "\n")
    assert read_matrix(put(short, "m.txt"), "tissue").about.labels.tolist()[-2:] == ["lung", ""]


CONVERTED = {"rds": "readRDS", "gctx": "gctx2gct", "xls": "soffice", "loom": "read_loom"}
CONVERTED |= {"zip": "unzip", "tar.gz": "tar -xf"}


@pytest.mark.parametrize("ending", CONVERTED)
def test_a_format_that_is_not_read_gets_the_command_that_converts_it(put, ending):
    assert CONVERTED[ending] in refusal(put(b"anything", f"x.{ending}"))
