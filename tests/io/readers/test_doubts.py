"""Kinds of faults that real tables showed: each is read as it is meant, asked about, or refused."""

from itertools import product

import openpyxl
import pandas as pd
import pytest
from reading import (
    CYTOKINES,
    GENES,
    GSM,
    PATIENTS,
    follow,
    readings,
    refusal,
    refused,
    values,
    write,
)

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import read_matrix

JUDGED = ["CONT", "INTG", "DMNR"]
TRIO = ["honey a", "honey b", "honey c"]
# For each invented table: whether it is asked about, and a reading that is right, if any is.
TABLES = {
    "tibble": (True, ["B cell", "CAF", "T cell CD4+", "T cell CD8+", "Macrophage"]),
    "judges": (False, JUDGED),
    "max_gene": (False, ["TP53", "LAT", "MAX", "GAPDH", "GBP3"]),
    "customers": (True, ["Income", "Wines", "Runs", "Fruits"]),
    "ids": (True, ["V1", "V2", "V3"]),
    "two_headers": (False, ["14730.82", "14403.47", "14090.35"]),
    "films": (False, ["stars", "votes"]),
    "label_blank": (False, ["a", "b"]),
    "ages": (False, ["alcohol", "marijuana"]),
    "wavel": (False, ["901.85", "905.76", "909.67", "913.58"]),
    "rank": (True, ["B cells naive", "Plasma cells", "T cells CD8"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_an_invented_table_is_read_right_or_asked_about(test_data, name):
    is_expected, features = TABLES[name]
    is_asked, found = readings(test_data / "tables" / f"{name}.csv")
    assert is_asked == is_expected
    assert features in [raw.about.features for raw in found]


@pytest.mark.parametrize("name", ["long_cell_gene", "long_years"])
def test_the_pivot_that_is_shown_for_a_long_table_makes_a_wide_one(test_data, tmp_path, name):
    file = tmp_path / f"{name}.csv"
    file.write_bytes((test_data / "tables" / file.name).read_bytes())
    message = refusal(file)
    code = message.partition('python -c "')[2].partition('", and give')[0]
    exec(compile(code, "pivot", "exec"), {})
    wide = pd.read_csv(tmp_path / f"{name}_wide.csv", index_col=0)
    long = pd.read_csv(file)
    assert wide.to_numpy().size >= len(long) > max(wide.shape)
    assert wide.to_numpy().sum() == long.iloc[:, -1].sum()


def test_a_long_table_is_told_by_its_structure_whatever_its_names(put):
    rows = [
        f"{a}{'uvw'[b]},{k},{a * b + k}.25\n" for a in range(4) for b in range(3) for k in (7, 8)
    ]
    refused(put("xyz,fnord,blim\n" + "".join(rows)), r"pivot_table\(index='xyz', columns='fnord'")
    numbered = [f"{k},{row}" for k, row in enumerate(rows, 1)]
    refused(put(",xyz,fnord,blim\n" + "".join(numbered)), r"pivot_table\(index='xyz', columns")
    # Ages and sexes cross.
    ages = "".join(f"{age},{sex},0.{age * age:04d}\n" for sex in "mf" for age in range(30))
    refused(put("age,sex,prob\n" + ages), r"pivot_table\(index='sex', columns='age'")
    # Donors and visits of samples with several measurements are not one.
    table = write(["donor", *GENES], [f"d{at // 3}" for at in range(12)])
    assert readings(put(table))[1][0].shape == (12, 4)


def test_the_pivot_takes_the_values_that_differ_most_and_names_the_others(put):
    lines = [
        f"{well},{region},{animal},{gene},{10 + k}.25,0.39\n"
        for k, (well, (region, animal, gene)) in enumerate(
            zip(range(12), product(("CBC", "DFC"), (135, 144), ("a", "b", "c")), strict=True)
        )
    ]
    file = put("Well,region,animal,gene,Ct,Threshold\n" + "".join(lines))
    message = refusal(file)
    assert "values='Ct'" in message
    assert "leaves out [Threshold]" in message
    code = message.partition('python -c "')[2].partition('", and give')[0]
    exec(compile(code, "pivot", "exec"), {})
    wide = read_matrix(file.with_name(f"{file.stem}_wide.csv"), transpose=False)
    assert wide.about.samples == ["CBC 135", "CBC 144", "DFC 135", "DFC 144"]
    assert wide.about.features == ["a", "b", "c"]


def test_a_long_report_of_a_known_program_is_told_by_its_header(put):
    header = ["R.FileName", "PG.ProteinGroups", "PG.Cscore", "PG.Quantity", "F.Rank", "PEP.Rank"]
    rows = [f"run{k % 3}" for k in range(12)], [f"P0{1000 + k // 3}" for k in range(12)]
    pivot = r"index='R.FileName', columns='PG.ProteinGroups', values='PG.Quantity'"
    refused(put(write(header, *rows)), pivot)


def test_a_measure_that_only_some_columns_have_is_asked_about(put):
    samples = [f"Intensity s{k}" for k in (1, 2, 3)]
    table = write(["Protein", "Length", "A Score", "Intensity", *samples], ["a", "b", "c", "d"])
    is_asked, found = readings(put(table))
    assert is_asked
    assert samples in [raw.about.samples for raw in found]


def test_normalised_and_raw_abundances_are_two_measures(put):
    measures = [
        [f"{what} abundance {s}" for s in ("a1", "a2", "b1")] for what in ("Normalised", "Raw")
    ]
    table = write(["Compound", "Anova (p)", *measures[0], *measures[1]], ["u", "v", "w"])
    is_asked, found = readings(put(table))
    assert is_asked
    assert [raw.about.samples for raw in found] == measures


@pytest.mark.parametrize(
    ("heading", "is_asked"),
    [
        *[(name, False) for name in ("C1QC", "Age 0 to 4", "thinness 5-9 years")],
        *[(name, True) for name in ("age_at_visit", "CustomerAge", "labels", "QC", "rnaQC")],
    ],
)
def test_a_heading_is_in_doubt_by_its_words_and_not_by_letters_within_them(put, heading, is_asked):
    table = write(["sample", *CYTOKINES, heading], PATIENTS)
    assert readings(put(table))[0] == is_asked


@pytest.mark.parametrize(("heading", "is_asked"), [("A0RT", False), ("medianRT", True)])
def test_letters_within_the_name_of_a_sample_put_it_in_no_doubt(put, heading, is_asked):
    table = write(["gene", "A0SH", "A0SJ", "A0SK", heading], GENES)
    assert readings(put(table))[0] == is_asked


def test_whole_numbers_that_ascend_number_the_rows(put):
    cells = [[1001 + 2 * k + k % 2, *row] for k, row in enumerate(values(20, 3))]
    table = write(["sample", "FIPS", "u", "v", "w"], [f"p{k}" for k in range(20)], cells=cells)
    is_asked, found = readings(put(table))
    assert is_asked
    assert ["u", "v", "w"] in [raw.about.features for raw in found]
    cells[3][0] = 7
    table = write(["sample", "FIPS", "u", "v", "w"], [f"p{k}" for k in range(20)], cells=cells)
    assert not readings(put(table))[0]


def test_rows_named_by_years_may_be_samples(put):
    table = write(["rownames", "u", "v", "w"], range(1990, 2010))
    is_asked, found = readings(put(table))
    assert is_asked
    assert ["u", "v", "w"] in [raw.about.features for raw in found]


@pytest.mark.parametrize("heading", ["day", "Month"])
def test_a_part_of_a_date_names_no_rows_and_is_asked_about(put, heading):
    numbers = [7 * k % 31 for k in range(12)]
    table = write(["env", heading, "u", "v"], [f"p{k}" for k in range(12)], numbers)
    is_asked, found = readings(put(table))
    assert is_asked
    assert all("p0" in (raw.about.samples[0], raw.about.features[0]) for raw in found)


def test_years_in_the_header_are_features(put):
    table = write(["", *map(str, range(1990, 2010))], [f"Land {k}" for k in range(9)])
    assert read_matrix(put(table)).shape == (9, 20)


def test_a_cell_may_contain_line_breaks(put):
    table = write(["sample", "note", *CYTOKINES], PATIENTS, ['"two\nlines, ""quoted"""'] * 8)
    raw = read_matrix(put(table))
    assert raw.shape == (8, 8)
    assert raw.about.samples == PATIENTS


def test_no_option_is_printed_for_a_column_without_a_heading(put):
    table = write(["sample", "", *CYTOKINES], PATIENTS, [*"aabbaabb"])
    [remark] = read_matrix(put(table)).remarks
    assert remark == "columns without a heading hold text and are left out."
    assert follow(remark) == []


def test_distances_with_further_columns_are_refused(put):
    cells = [[abs(i - j) / 9 for j in range(4)] for i in range(4)]
    table = write(["", *"wxyz", "site"], [*"wxyz"], cells=cells, after=[[*"abab"]])
    refused(put(table), "these are distances or correlations")


def test_classes_below_the_names_make_a_heading_of_samples_uncertain(put):
    names = ["urea", "ATP", "NADH", "citrate"]
    kinds = [["x", "x", "y", "y"], *values(4, 4)]
    table = write(["Sample", "A 1", "A 2", "B 1", "B 2"], ["Label", *names], cells=kinds)
    is_asked, found = readings(put(table))
    assert is_asked
    assert [raw.about.features for raw in found][-1] == names
    assert not readings(put(table.replace("Label", "unit")))[0]
    assert read_matrix(put(table), labels="Label", transpose=True).about.labels.tolist() == [
        *"xxyy"
    ]


def test_columns_called_like_replicates_make_lines_without_names_uncertain(put):
    columns = ["low_1", "low_2", "high_1", "high_2"]
    is_asked, found = readings(put(write(columns, values(9, 1).ravel(), cells=values(9, 3))))
    assert is_asked
    # No column is taken for names.
    assert [raw.shape for raw in found] == [(9, 4), (4, 9)]


@pytest.mark.parametrize("step", [1, -2.5, 10])
def test_even_steps_down_the_lines_name_them_under_any_heading_and_are_asked_about(put, step):
    steps = [350 + step * k for k in range(12)]
    is_asked, found = readings(put(write(["wl", "u", "v", "w"], steps)))
    assert is_asked
    assert [raw.about.features for raw in found] == [["u", "v", "w"], [*map(str, steps)]]


def test_numbers_of_respondents_are_names_and_no_scale(put):
    people = [61617 + 2 * k + k * k for k in range(12)]
    table = write(["", "gender", "u", "v"], people, [1, 2] * 6)
    is_asked, found = readings(put(table))
    assert is_asked
    assert [raw.about.features for raw in found] == [["u", "v"], ["gender", "u", "v"]]


def test_lines_above_the_numbers_of_lines_are_headers(put):
    names = "network,a,a,b\nnode,1,2,1\nhemi,lh,rh,lh\n,,,\n"
    found = readings(put(names + "".join(f"{k},{k * k}.5,{k}.25,7\n" for k in range(9))))[1]
    assert [raw.shape[0] for raw in found] == [9] * len(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '"Program","xPONENT"\n"Build","3.1"\n\n"DataType:","Median"\n',
            "`DataType: Net MFI`",
        ),
        ("File Name,,,a.RCC,b.RCC\nLane ID,,,1,2\n", "let the first one begin with `Code Class"),
        ("id,u,,v\na,1,2,3\nb,3,4,5\nc,2,2,2\n", "column 3 contains numbers and has no heading"),
        ("<Header>\nFileVersion,1.7\n</Header>\n", "from nSolver or ROSALIND"),
    ],
)
def test_an_export_of_several_blocks_is_refused_with_what_to_export(put, content, message):
    assert message in refusal(put(content))


def test_a_symbol_is_not_an_amount_of_money(put):
    raw = read_matrix(put(write(["symbol", *GSM], [f"GBP{k}" for k in range(7)])))
    assert raw.about.features == [f"GBP{k}" for k in range(7)]


class TestWorkbooks:
    @pytest.fixture
    def book(self, tmp_path):
        def write_book(**sheets):
            book = openpyxl.Workbook()
            book.remove(book.active)
            for name, rows in sheets.items():
                sheet = book.create_sheet(name)
                for row in rows:
                    sheet.append(row)
            for sheet in book:
                sheet.cell(3, 2).number_format = "yyyy-mm-dd"
            book.save(tmp_path / "m.xlsx")
            return tmp_path / "m.xlsx"

        return write_book

    def rows(self, *names):
        return [
            ["sample", *names],
            *([p, *row] for p, row in zip(PATIENTS, values(8, 3), strict=True)),
        ]

    def test_numbers_with_the_style_of_dates_are_numbers(self, book):
        raw = read_matrix(book(one=self.rows("a", "b", "c")))
        found = raw.collect() + raw.offset
        assert found[1, 0] == pytest.approx(values(8, 3)[1, 0], abs=1e-3)
        assert raw.about.features == ["a", "b", "c"]

    def test_a_doubt_names_the_sheet_that_was_read_and_the_others(self, book):
        file = book(
            raw=self.rows("age", "b", "c"), logged=self.rows("u", "b", "c"), notes=[["a note"]]
        )
        with pytest.raises(
            MatrixError, match=r"reading sheet 'raw' of \[raw, logged, notes\]"
        ) as told:
            read_matrix(file)
        layers = [way.settings["layer"] for way in told.value.ways]
        assert layers == ["raw", "raw", "logged"]
        found = readings(file)[1]
        assert [raw.about.features[0] for raw in found] == ["b", "age", "u"]
        [remark] = read_matrix(book(raw=self.rows("a", "b", "c"), more=self.rows(*"uvw"))).remarks
        assert [way.settings for way in remark.ways] == [{"layer": "more"}]
