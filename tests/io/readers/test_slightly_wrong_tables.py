"""Tables with one small thing wrong, as strangers have them: read, or refused with what to do."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from reading import GENES, readings, refusal, write

from sparsekm.io.readers.reader import read_matrix

X = np.random.default_rng(0).normal(size=(12, 4)).round(2)
NAMES = [f"s{i}" for i in range(12)]
TABLE = write(["sample", "kind", "GA", "GB", "GC", "GD"], NAMES, [*"ab"] * 6, cells=X)
HEADER, FIRST = TABLE.split("\n")[:2]


def test_a_table_without_permission_to_read_is_named_with_the_cure(put, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    file = put(TABLE)
    monkeypatch.setattr(Path, "open", forbidden)
    told = f"{file}: you have no permission to read it. Allow it: chmod u+r FILE, or ask its owner."
    assert refusal(file) == told


def test_quotation_marks_that_belong_to_a_name_stay(put):
    header = HEADER.replace("GA", '"""GA"""').replace("GD", '"5"" end"')
    raw = read_matrix(put(TABLE.replace(HEADER, header)), "kind")
    assert raw.about.features == ['"GA"', "GB", "GC", '5" end']


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode(), None),
        (TABLE.replace("\ns5", "\n\ns5") + "\n\n", None),
        (TABLE.replace(",", ", "), None),
        (TABLE.replace("\n", ",\n"), None),
        (TABLE.replace(",", "|"), "cells are separated by bars."),
        (
            TABLE.replace(FIRST, f",,log2,log2,log2,log2\n{FIRST}"),
            "rows line 2 hold text and are left out",
        ),
        (TABLE.replace("s3", "sän").encode("latin-1"), "so it is read as Windows-1252"),
    ],
    ids=[
        *("mark of Excel", "empty lines", "blanks after commas", "trailing commas", "bars"),
        *("units", "Latin 1"),
    ],
)
def test_what_is_no_part_of_the_table_changes_no_value(put, content, remark):
    raw = read_matrix(put(content), "kind")
    np.testing.assert_allclose(raw.collect() + raw.offset, X, atol=1e-6)
    assert raw.about.features == ["GA", "GB", "GC", "GD"]
    assert raw.about.labels.tolist() == ["a", "b"] * 6
    assert len(raw.remarks) == (remark is not None)
    assert (remark or "") in "".join(raw.remarks)


def test_a_line_that_ends_early_lacks_its_last_cells_aloud(put):
    raw = read_matrix(put(TABLE.replace(f",{X[3, 3]}\n", "\n")), "kind")
    assert np.argwhere(np.isnan(raw.collect())).tolist() == [[3, 3]]
    assert "1 line ends early: the last cells are missing" in raw.remarks[0]


PATIENTS = [f"P{i}" for i in range(12)]
BLOOD = ["glucose", "lactate", "urate"]
NUMBERS = [[i + 0.25, 9.5 - i, round(i * i / 7, 3)] for i in range(12)]
PLAIN = write(["id", *BLOOD], PATIENTS, cells=NUMBERS)
TIMES = [f"2023/01/{i + 1} 10:00" for i in range(12)]
UPPER = [["a", "", ""], [1, "b", ""], [0.5, 0.2, "c"]]
READ = {
    "times of entry": (
        write(["Timestamp", "id", *BLOOD], TIMES, PATIENTS, cells=NUMBERS),
        "columns Timestamp hold text",
    ),
    "wells of samples": (
        write(["Well", "Sample", *BLOOD], [f"A{i}" for i in range(1, 13)], PATIENTS, cells=NUMBERS),
        "columns Well hold text",
    ),
    "family names": (
        write(["Family", "Name", *BLOOD], ["Doe"] * 12, PATIENTS, cells=NUMBERS),
        "columns Family hold text",
    ),
    "an abbreviation": (f"{PLAIN}ND,not detected\n", "(the first such line is line 14)"),
    "abbreviations of a spreadsheet": (
        f"{PLAIN}ND,not detected,,\n*,below LOD,,\n",
        "2 lines with one value or none are left out (the first such line is line 14)",
    ),
    "sources": (f"{PLAIN}Source: our lab,2020\nby: J. Doe\n", "(the first such line is line 14)"),
}


@pytest.mark.parametrize("kind", READ)
def test_the_samples_are_those_that_were_measured(put, kind):
    content, remark = READ[kind]
    raw = read_matrix(put(content), transpose=False)
    assert (raw.about.samples, raw.about.features) == (PATIENTS, BLOOD)
    assert remark in raw.remarks[0]


# What is asked about: the line that follows the header, or the column, and whether it is kept.
DOUBTFUL = {
    "masses": (PLAIN.replace("\n", "\nRT (min),2.5,3,9\nm/z,1,2,3\n", 1), "rows [RT (min), m/z]"),
    "a count of the lines": (write(["rowid", *BLOOD], range(1, 13), cells=NUMBERS), "[rowid]"),
    "a count at the end": (
        write(["id", *BLOOD, "n"], PATIENTS, cells=NUMBERS, after=[range(12)]),
        "[n]",
    ),
}


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_what_is_probably_not_measured_is_asked_about_and_may_be_kept_or_left_out(put, kind):
    content, message = DOUBTFUL[kind]
    file = put(content)
    assert f"{message} may describe or number the" in refusal(file, transpose=False)
    without, kept = readings(file, transpose=False)[1]
    assert without.about.features == BLOOD
    assert without.shape[0] == 12
    assert kept.shape[0] + kept.shape[1] > 15


REFUSED = {
    "another case": (TABLE.replace("kind", "Kind"), "Do you mean labels: Kind"),
    # Without the time, so that the test has one name in all processes.
    "gzip": (
        gzip.compress(TABLE.encode(), mtime=0),
        "not a table, but compressed by gzip. Add .gz to its name",
    ),
    "a workbook": (b"PK\x03\x04\xff\xfe", "Rename a workbook to end in .xlsx"),
    "an old workbook": (b"\xd0\xcf\x11\xe0\xa1", "an old Excel workbook. Save it as .xlsx"),
    "UTF-32": (TABLE.encode("utf-32"), "it contains NUL, as UTF-32 and binary files do)."),
    "HDF5": (b"\x89HDF\r\n", "not a table, but HDF5. Rename it to end in .h5ad"),
    "names alone": (HEADER + "\n", "lines=1; there should be a header and samples"),
    "a word": (
        TABLE.replace(f",{X[3, 1]}", ",trace"),
        "value is 'trace' in column 'GB', line 5. Set transpose: false, missing_values: [trace] if",
    ),
    "two tables": (
        f"{TABLE}\n\nid,N,M\na,1,2\nb,2,3\n",
        "line 17 has 3 cells; it should have 6",
    ),
    "one decimal comma": (
        "id;ATP;urea\nP1;1.5;2.5\nP2;1,5;3.5\nP3;2.5;4.5\n",
        "'1,5' has a separator that other numbers do not have",
    ),
    "results of limma": (
        write(["gene", "logFC", "AveExpr", "t", "P.Value"], NAMES[:9], cells=X[:9]),
        "describe features, such as the results of a test",
    ),
    "one sample of kallisto": (
        write(["target_id", "length", "eff_length", "est_counts", "tpm"], GENES),
        "describe features, such as the results of a test",
    ),
    "a quotation mark that is never closed": (
        'gene,s1,s2\nTP53,1,"2\nMYC,1,2\n',
        "line 2: a cell in quotation marks does not end",
    ),
    "a long line": ("a,b\n1,2\n3,4\n5,6,7\n", "line 4 has 3 cells; it should have 2"),
    "half of a matrix": (
        ",u,v,w\nu,1,0.5,0.2\nv,,1,0.3\nw,,,1\n",
        "these are distances or correlations",
    ),
    "fractions": (write(["id", "a", "b"], PATIENTS, "1/2", "3/4"), "such as '3/4'"),
    "gaps": (
        "id        a     b\n" + "P1        1.5   2\n" * 9 + "P2              3\n",
        "line 11 has 2 cells; it should have 3, one for each name in the header.",
    ),
    "means with their deviations": (
        write(["gene", "ctrl_mean", "ctrl_sd", "ko_mean", "ko_sd"], ["TP53", "MYC", "EGFR"]),
        "several columns: [mean, sd]",
    ),
    "units of all numbers": (
        write(["id", "glucose", "urate"], PATIENTS, "2.5 °C", "7 °C"),
        "such as '7 °C' in line 2; there should be only numbers, without units",
    ),
    "a unit among plain numbers": (
        TABLE.replace(f",{X[3, 1]}", ",10.5°C"),
        "the first such value is '10.5°C' in column 'GB', line 5",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_says_in_one_line_what_to_do(put, kind):
    content, message = REFUSED[kind]
    labels = "kind" if kind in ("another case", "a word", "a unit among plain numbers") else None
    assert message in refusal(put(content), labels=labels)


def test_iid_names_the_samples_of_plink(put):
    variants = [f"rs100{i}_A" for i in range(9)]
    lines = [f"F{i // 2} I{i} 0 0 1 -9 {'0 1 2 ' * 3}" for i in range(12)]
    header = f"FID IID PAT MAT SEX PHENOTYPE {' '.join(variants)}"
    raw, _ = readings(put("\n".join([header, *lines, ""])))[1]
    assert raw.about.samples == [f"I{i}" for i in range(12)]
    assert raw.about.features[-9:] == variants
