"""Tables with one small thing wrong, as strangers have them: read, or refused with what to do."""

import gzip

import numpy as np
import pytest

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import read_matrix

X = np.random.default_rng(0).normal(size=(12, 4)).round(2)
HEADER = "sample,kind,GA,GB,GC,GD"
LINES = [f"s{i},{'ab'[i % 2]}," + ",".join(map(str, row)) for i, row in enumerate(X)]
TABLE = "\n".join([HEADER, *LINES, ""])


@pytest.fixture
def read(tmp_path):
    def write_and_read(content):
        file = tmp_path / "tumours.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_matrix(file, "kind")

    return write_and_read


@pytest.fixture
def read_plain(tmp_path):
    def write_and_read(content):
        (tmp_path / "blood.csv").write_text(content)
        return read_matrix(tmp_path / "blood.csv")

    return write_and_read


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode(), None),
        (TABLE.replace("\ns5", "\n\ns5") + "\n\n", None),
        (TABLE.replace(",", ", "), None),
        (TABLE.replace("\n", ",\n"), "1 columns without a name are empty and left out."),
        (TABLE.replace(",", "|"), "cells are separated by bars."),
    ],
    ids=["mark of Excel", "empty lines", "blanks after commas", "trailing commas", "bars"],
)
def test_what_changes_no_value_is_read(read, content, remark):
    raw = read(content)
    np.testing.assert_allclose(raw.X.collect() + raw.offset, X, atol=1e-6)
    assert raw.features == ["GA", "GB", "GC", "GD"]
    assert raw.labels.tolist() == ["a", "b"] * 6
    assert raw.remarks == ([] if remark is None else [remark])


def test_a_line_of_totals_is_left_out_with_a_remark(read):
    raw = read(TABLE + "Mean,," + ",".join(map(str, X.mean(axis=0))) + "\n")
    assert raw.X.shape == (12, 4)
    (remark,) = raw.remarks
    assert remark.startswith(
        "lines [Mean] annotate the features or summarise the others and are left"
    )


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (
            TABLE.replace(LINES[0], ",,log2,log2,log2,log2\n" + LINES[0]),
            "1 lines of text are left out",
        ),
        (TABLE.replace(f",{X[3, 3]}\n", "\n"), "1 lines end early: their last cells are missing"),
        (TABLE.replace("s3", "sän").encode("latin-1"), "its letters are read as Windows-1252"),
    ],
    ids=["units", "short line", "Latin 1"],
)
def test_what_is_no_part_of_the_table_is_left_out_aloud(read, content, remark):
    raw = read(content)
    assert raw.X.shape == (12, 4)
    assert raw.features == ["GA", "GB", "GC", "GD"]
    assert remark in raw.remarks[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE.replace("kind", "Kind"), "Do you mean labels: Kind"),
        # Without the time, so that the test has one name in all processes.
        (
            gzip.compress(TABLE.encode(), mtime=0),
            "not text, but compressed by gzip. Add .gz to its name",
        ),
        (b"PK\x03\x04\xff\xfe", "not text, but an Excel workbook.* end in .xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1", "an old Excel workbook. Save it as .xlsx"),
        (b"\x89HDF\r\n", "not text, but HDF5. Rename it to end in .h5ad"),
        (HEADER + "\n", "lines=1; there should be a header and samples"),
        (
            TABLE.replace(f",{X[3, 1]}", ",trace"),
            r"value is 'trace' in column 'GB', line 5. Set missing_values: \[trace\] if",
        ),
    ],
)
def test_what_cannot_be_read_says_in_one_line_what_to_do(read, content, message):
    with pytest.raises(MatrixError, match=message) as error:
        read(content)
    assert "\n" not in str(error.value)


def lines_of(header, *rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""])


NUMBERS = [[i + 0.25, 9.5 - i, round(i * i / 7, 3)] for i in range(12)]
PATIENTS = [f"P{i}" for i in range(12)]
BLOOD = ["glucose", "lactate", "urate"]
NAMED = [[name, *row] for name, row in zip(PATIENTS, NUMBERS, strict=True)]


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (
            lines_of("id,glucose,lactate,urate", *NAMED, ["p-value", 0.1, 0.2, 0.5]),
            "lines [p-value] annotate the features or summarise the others",
        ),
        (
            lines_of("id,glucose,lactate,urate", ["RT (min)", 2.5, 3, 9], ["m/z", 1, 2, 3], *NAMED),
            "lines [RT (min), m/z] annotate the features or summarise",
        ),
        (
            lines_of(
                "Timestamp,id,glucose,lactate,urate",
                *([f"2023/01/{i + 1} 10:00", *row] for i, row in enumerate(NAMED)),
            ),
            "columns [Timestamp] hold text",
        ),
        (
            lines_of("Family,Name,glucose,lactate,urate", *(["Doe", *row] for row in NAMED)),
            "columns [Family] hold text",
        ),
        (
            lines_of("id,Weight (kg),glucose,lactate,urate", *([n, 61.5, *x] for n, *x in NAMED)),
            "columns [Weight (kg)] describe the samples",
        ),
    ],
    ids=["statistics", "masses", "times of entry", "family names", "a description with a unit"],
)
def test_the_samples_are_those_that_were_measured(read_plain, content, remark):
    raw = read_plain(content)
    assert (raw.samples, raw.features) == (PATIENTS, BLOOD)
    assert raw.remarks[0].startswith(remark)


def test_a_column_that_counts_the_lines_is_left_out_whatever_it_is_called(read_plain):
    raw = read_plain(lines_of("rowid,a,b,c", *([i + 1, *row] for i, row in enumerate(NUMBERS))))
    assert raw.features == ["a", "b", "c"]
    assert "[rowid]" in raw.remarks[0]


def test_a_sum_of_features_is_named(read_plain):
    rows = [[*row, sum(row[1:])] for row in NAMED]
    assert read_plain(lines_of("id,glucose,lactate,urate,Sum", *rows)).remarks == [
        "features [Sum] seem to sum up the others. Set ignore: [Sum] to leave them out."
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            lines_of("id,glucose,lactate,urate", *NAMED) + "\n\nid,N\na,1\nb,2\n",
            "line 16: below an empty line, lines have fewer cells .* like those of a second table",
        ),
        ("id;ATP;urea\nP1;1.5;2.5\nP2;1,5;3.5\nP3;2.5;4.5\n", "'1,5' may have a decimal comma"),
        (
            lines_of(
                "gene,logFC,AveExpr,t,P.Value", *([f"G{i}", *NUMBERS[i], 0] for i in range(9))
            ),
            "describe features, such as the results of a test",
        ),
        (
            lines_of(",u,v,w", ["u", 1, 0.5, 0.2], ["v", "", 1, 0.3], ["w", "", "", 1]),
            "these are distances or correlations",
        ),
        (lines_of("id,a,b", *([name, "1/2", "3/4"] for name in PATIENTS)), "such as '3/4'"),
        (
            "id        a     b\n" + "P1        1.5   2\n" * 9 + "P2              3\n",
            "line 11 has 2 cells; it should have 3. Write NA for what is missing",
        ),
    ],
    ids=[
        "two tables",
        "one decimal comma",
        "results of limma",
        "half of a matrix",
        "fractions",
        "gaps",
    ],
)
def test_what_is_not_one_table_of_samples_is_refused(read_plain, content, message):
    with pytest.raises(MatrixError, match=message):
        read_plain(content)


@pytest.mark.parametrize(("cell", "number"), [("2.5-", -2.5), ("EUR 2.5", 2.5), ("2.5 °C", 2.5)])
def test_a_sign_behind_and_a_word_before_a_number_are_said(read_plain, cell, number):
    rows = [[name, cell, cell.replace("2.5", "7")] for name in PATIENTS]
    raw = read_plain(lines_of("id,glucose,urate", *rows))
    assert raw.offset[0] + raw.X.collect()[3, 0] == number
    assert repr(cell)[1:-1] in raw.remarks[0]


def test_a_column_of_numbers_with_units_among_others_is_named(read_plain):
    rows = [[*row, "4.5 mM"] for row in NAMED]
    raw = read_plain(lines_of("id,glucose,lactate,urate,NaCl", *rows))
    assert "[NaCl] may hold numbers with units: write them without" in raw.remarks[0]


def test_a_note_with_commas_is_left_out(read_plain):
    header = "gene," + ",".join(PATIENTS)
    lines = [[gene, *range(i, i + 12)] for i, gene in enumerate(["TP53", "MYC", "EGFR"])]
    raw = read_plain(lines_of(header, *lines) + "Source: GEO, NCBI, 2020\n")
    assert (raw.samples, raw.features) == (PATIENTS, ["TP53", "MYC", "EGFR"])
    assert "lines [Source: GEO] hold text and are left out" in " ".join(raw.remarks)


@pytest.mark.parametrize(
    "below",
    [
        "ND,not detected\n",
        "ND,not detected,,\n*,below LOD,,\n",
        "Source: our lab,2020\nby: J. Doe\n",
    ],
    ids=["an abbreviation", "abbreviations of a spreadsheet", "sources"],
)
def test_a_legend_is_no_sample(read_plain, below):
    raw = read_plain(lines_of("id,glucose,lactate,urate", *NAMED) + below)
    assert raw.samples == PATIENTS
    assert "lines with one value or none are left out (the first is line 14)" in raw.remarks[0]


def test_the_number_of_samples_below_their_mean_is_no_sample(read_plain):
    below = [["Mean", 5.5, 4, 6], ["SD", 1.5, 1, 2], ["n", 12, 12, 12], ["Mean of cases", 1, 2, 3]]
    raw = read_plain(lines_of("id,glucose,lactate,urate", *NAMED, *below))
    assert raw.samples == PATIENTS
    assert raw.remarks[0].startswith(
        "lines [Mean, SD, n, Mean of cases] annotate the features or summarise"
    )


def test_deviations_next_to_their_means_are_named(read_plain):
    rows = [[*row[:2], row[1] / 9, *row[2:]] for row in NAMED]
    [remark, *_] = read_plain(lines_of("id,glucose,glucose_SD,lactate,urate", *rows)).remarks
    assert remark.startswith("features [glucose_SD] seem to sum up the others.")


def test_controls_of_the_measurement_are_named(read_plain):
    rows = [["Blank", 0.1, 0.2, 0.1], *NAMED, ["QC_2", 5, 5, 5]]
    assert read_plain(lines_of("id,glucose,lactate,urate", *rows)).remarks == [
        "samples [Blank, QC_2] seem to be controls of the measurement, such as blanks or pools. "
        "Set ignore: [Blank, QC_2] to leave them out."
    ]


def test_means_with_their_deviations_are_no_samples(read_plain):
    header = "gene,ctrl_mean,ctrl_sd,ko_mean,ko_sd"
    lines = [[gene, *range(i, i + 4)] for i, gene in enumerate(["TP53", "MYC", "EGFR"])]
    with pytest.raises(MatrixError, match=r"several columns: \[mean, sd\]"):
        read_plain(lines_of(header, *lines))


def test_names_in_two_lines_of_which_cells_were_merged_are_joined(read_plain):
    below = "\n".join(lines_of("", *NAMED).split("\n")[1:])
    raw = read_plain(f"patient,Blood,,Urine\n,urea,ATP,urea\n{below}")
    assert raw.features == ["Blood urea", "Blood ATP", "Urine urea"]
    assert raw.samples == PATIENTS


def test_iid_names_the_samples_of_plink(read_plain):
    variants = [f"rs100{i}_A" for i in range(9)]
    lines = [f"F{i // 2} I{i} 0 0 1 -9 {'0 1 2 ' * 3}" for i in range(12)]
    header = f"FID IID PAT MAT SEX PHENOTYPE {' '.join(variants)}"
    raw = read_plain("\n".join([header, *lines, ""]))
    assert raw.samples == [f"I{i}" for i in range(12)]
    assert raw.features == variants


def test_a_number_with_a_unit_among_plain_ones_is_refused_with_its_place(read_plain):
    table = lines_of("id,glucose,lactate,urate", *NAMED).replace("P3,3.25,", "P3,10.5°C,")
    with pytest.raises(MatrixError, match="line 5: '10.5°C' in column 'glucose' has a unit or"):
        read_plain(table)


@pytest.mark.parametrize(
    ("cell", "number", "remark"),
    [
        ("~0.5", 0.5, "a word or mark for about"),
        ("ca. 0.5", 0.5, "a word or mark for about"),
        ("0.5?", 0.5, "marks behind them"),
        ("1.5x10^3", 1500, "powers of ten"),
        ("1.100.100", 1100100, "numbers have a decimal comma: '1.100.100' is read as 1100100"),
    ],
)
def test_numbers_with_marks_are_read_aloud(read_plain, cell, number, remark):
    rows = [[name, i + 2, cell if i == 3 else i + 7] for i, name in enumerate(PATIENTS)]
    raw = read_plain(lines_of("id,glucose,urate", *rows).replace(",", ";"))
    assert raw.offset[1] + raw.X.collect()[3, 1] == pytest.approx(number)
    assert remark in " ".join(raw.remarks)
