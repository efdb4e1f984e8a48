"""Ten kinds of table as people have them: each is read, or says in one line what to write."""

import gzip

import numpy as np
import pandas as pd
import pytest
from reading import GENES, KINDS, assert_read, last_sentence, readings, refusal

from sparsekm.io.readers.axes import is_doubtful
from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline.normalisation import normalise
from sparsekm.pipeline.scales import judge, remark_on_scale


def test_samples_in_lines_are_read_without_a_remark(save, table):
    raw = read_matrix(save(table.assign(kind=KINDS)), labels="kind")
    assert_read(raw, table)
    assert raw.about.samples == list(table.index)
    assert raw.about.labels.tolist() == KINDS


class TestGenesInLines:
    def test_they_are_told_by_their_names_which_is_said(self, save, table):
        raw = read_matrix(save(table.T))
        assert_read(raw, table, "If rows hold samples, set transpose: false.")
        assert raw.about.samples == list(table.index)
        assert read_matrix(save(table.T), transpose=False).shape == (4, 6)

    @pytest.mark.parametrize("heading", ["gene_id", "Hugo_Symbol", "ID_REF", "Entrez ID", "probes"])
    def test_a_column_called_so_tells_them_even_by_numbers(self, save, table, heading):
        table.columns = pd.Index([f"{7000 + at}" for at in range(4)], name=heading)
        assert_read(read_matrix(save(table.T)), table, "rows are read as features")

    def test_labels_that_name_a_line_tell_them(self, save, table):
        table.columns = ["w", "x", "y", "z"]
        with_kinds = table.assign(kind=KINDS).T.loc[["w", "kind", "x", "y", "z"]]
        raw = read_matrix(save(with_kinds), labels="kind")
        assert_read(raw, table)
        assert raw.about.labels.tolist() == KINDS
        assert_read(read_matrix(save(table.T), transpose=True), table)

    def test_columns_and_lines_about_genes_and_samples_are_asked_about(self, save, table):
        lines = table.assign(age=[40.0] * 6, ward="north").T
        lines.insert(0, "description", "a gene")
        lines.insert(1, "chromosome", 17)
        is_asked, found = readings(save(lines))
        assert is_asked
        remarks = "columns description hold text", "rows ward hold text"
        assert_read(found[0], table, *remarks)
        ages = [*table.columns, "age"]
        assert [raw.about.features for raw in found] == [[*table.columns], ages, [*table.columns]]
        assert found[2].about.samples == ["chromosome", *table.index]
        ignored = ["description", "chromosome", "ward", "age"]
        assert_read(read_matrix(save(lines), ignore=ignored, transpose=True), table)
        # A line may hold the names of the samples.
        lines = table.T
        lines.loc["code"] = [*"PQRSTU"]
        assert read_matrix(save(lines), samples="code").about.samples == [*"PQRSTU"]

    def test_missing_values_stay_at_their_place_and_empty_lines_move_nothing(self, save, table):
        table.loc["cyd", "MYC"] = np.nan
        file = save(table.assign(ward=["n"] * 6).T)
        lines = file.read_text().splitlines()
        lines[2:2], lines[4:4] = [""], ["", ""]
        file.write_text("\n".join([*lines, "", ""]))
        assert_read(read_matrix(file, ignore=["ward"], transpose=True), table)
        assert read_matrix(file, ignore=["MYC"]).about.features == ["TP53", "BRCA1", "Xyz1"]

    def test_a_label_in_a_column_says_that_lines_hold_samples_whatever_their_names(
        self, save, table
    ):
        table.index = [f"gene{at}" for at in range(6)]
        table.columns = ["w", "x", "y", "z"]
        assert_read(read_matrix(save(table.assign(kind=KINDS)), labels="kind"), table)

    def test_a_tall_table_that_tells_nothing_asks(self, save):
        values = np.random.default_rng(0).normal(size=(60, 3))
        names = [f"{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(60)]
        tall = pd.DataFrame(values, index=names, columns=["u", "v", "w"])
        message = refusal(save(tall))
        assert "transpose: false if rows hold samples, 60 samples x 3 features" in message
        assert "transpose: true if rows hold features, 3 samples x 60 features" in message
        assert read_matrix(save(tall), transpose=False).shape == (60, 3)
        assert read_matrix(save(tall), transpose=True).shape == (3, 60)
        for form in ("cell{}", "AACGTTGCAACGTAGG-{}", "TCGA-A1-{}"):
            raw = read_matrix(save(tall.set_axis(map(form.format, range(60)))))
            assert raw.shape == (60, 3)
            assert raw.remarks == []


class TestNamesOfSamples:
    def test_an_id_names_the_samples_wherever_it_stands(self, save, table):
        file = save(table.assign(patient_id=range(100, 106)).reset_index(drop=True), index=False)
        for settings in ({}, {"samples": "patient_id"}):
            raw = read_matrix(file, **settings)
            assert_read(raw, table)
            assert raw.about.samples == ["100", "101", "102", "103", "104", "105"]
        assert_read(read_matrix(file, ignore=["patient_id"]), table)
        # Row numbers without a name give way to it.
        raw = read_matrix(save(table.reset_index()), samples="who")
        assert_read(raw, table)
        assert raw.about.samples == list(table.index)

    def test_text_that_differs_everywhere_names_the_samples(self, save, table):
        file = save(table.reset_index()[[*GENES, "who"]].assign(kind=KINDS), index=False)
        raw = read_matrix(file)
        assert_read(raw, table, "If one of these columns holds known classes, set labels: kind.")
        assert raw.about.samples == list(table.index)


class TestColumnsThatAreNoFeatures:
    def test_descriptions_are_asked_about_unless_something_was_said_about_them(self, save, table):
        clinic = table.set_axis(["chol", "age", "qc_mean", "weight"], axis=1)
        is_asked, (without, kept) = readings(save(clinic))
        assert is_asked
        assert_read(without, clinic[["chol"]])
        assert_read(kept, clinic)
        said = {"annotate": ["age"], "weights": "weight", "keep": ["qc_mean"]}
        clinic["weight"] = 2
        assert read_matrix(save(clinic), **said).about.features == ["chol", "qc_mean"]

    def test_no_column_or_line_is_left_out_because_of_its_name(self, save, table):
        names = ["LAT", "MAX", "Time", "Total", "Wines", "Runs"]
        states = table.set_axis(["LAT", "Time", "MAX", "Total"], axis=1)
        states.index = pd.Index(["Total", "Max", "South Dakota", "Mean", "SD", "Sum"], name="state")
        assert_read(read_matrix(save(states)), states)
        genes = table.set_axis(["TP53", "LAT", "MAX", "GBP3"], axis=1).T.rename_axis("gene")
        assert read_matrix(save(genes)).about.features == ["TP53", "LAT", "MAX", "GBP3"]
        names += ["Max", "South Dakota", "gini_index"]
        assert not any(is_doubtful(name, False, of_features=True) for name in names)

    def test_a_name_that_is_not_there_gets_the_nearest_one(self, save, table):
        file = save(table.assign(Kind=KINDS))
        assert last_sentence(refusal(file, labels="kind")) == "Do you mean labels: Kind?"
        message = refusal(file, labels="Kind", ignore=["Wrad"])
        assert "ignore='Wrad' should be one of its columns" in message
        assert "either `labels` or `ignore`" in refusal(file, labels="Kind", ignore=["Kind"])

    def test_text_among_numbers_is_named(self, save, table):
        table = table.astype(object)
        table.loc["dan", "MYC"] = "see below"
        message = refusal(save(table))
        assert "the first such value is 'see below' in column 'MYC', line 5" in message
        advice = "missing_values: [see below] if they mean missing values, or transpose: false, "
        assert last_sentence(message).endswith(f"{advice}ignore: [MYC] to leave the columns out")


class TestNumbersAsHeaders:
    def test_entrez_ids_are_names(self, save, table):
        table = table.set_axis(["7157", "672", "4609", "5460"], axis=1).rename_axis("id")
        assert_read(read_matrix(save(table), transpose=False), table)
        assert "the numbers are names, begin this line with the word `id`" in refusal(
            save(table, index=False)
        )

    def test_data_in_place_of_names_is_refused_with_the_command_that_names_columns(self, put):
        plain, named = "1,2\n3,4\n5,6\n1,1\n", "s0,0.1,2\ns1,1,2\ns2,3,4\ns3,4,5\n"
        for content in (plain, named, "5.1,3.5,1.4,x\n4.9,3,1.4,x\n7,3.2,4.7,y\n6,1,2,y\n"):
            file = put(content)
            message = refusal(file)
            assert "the first line has numbers in place of names" in message
            code = message.partition('python -c "')[2].partition('", and give')[0]
            exec(compile(code, "naming", "exec"), {})
            raw = read_matrix(file.with_name("m_named.csv"), transpose=False)
            assert len(raw.collect()) == content.count("\n")


class TestSeparators:
    def test_semicolons_and_decimal_commas_are_found_and_said(self, tmp_path, table):
        file, comma = tmp_path / "m.csv", "numbers have a decimal comma"
        table.assign(kind=KINDS).to_csv(file, sep=";", decimal=",")
        assert_read(read_matrix(file, labels="kind"), table, "separated by semicolons", comma)
        table.T.to_csv(file, sep=";", decimal=",")
        assert_read(read_matrix(file), table, "semicolons", comma, "set transpose: false")
        table.to_csv(file, sep=";")
        assert_read(read_matrix(file), table, "semicolons")

    def test_what_may_be_thousands_asks(self, put):
        file = put("who\tu\tv\nann\t1,234\t2,500\nbob\t1,777\t3,125\ncyd\t1,001\t9,999\n", "m.tsv")
        message = refusal(file)
        assert "'1,234' may mean 1.234 or 1234" in message
        assert "decimal: ',' if it is 1.234, or" in message
        assert [raw.offset.tolist() for raw in readings(file)[1]] == [[1.234, 2.5], [1234, 2500]]
        assert read_matrix(file, decimal=",").offset.tolist() == [1.234, 2.5]
        assert read_matrix(file, decimal=".").offset.tolist() == [1234, 2500]

    @pytest.mark.parametrize("name", ["m.tsv.gz", "m.txt.gz", "m.txt", "m.TSV", "m.csv.gz"])
    def test_tabs_and_commas_are_read_compressed_or_not(self, save, table, name):
        assert_read(read_matrix(save(table, name)), table)

    def test_tabs_in_a_csv_and_blanks_as_r_writes_them_are_found_and_said(self, tmp_path, table):
        table.to_csv(tmp_path / "tabs.csv", sep="\t")
        assert_read(read_matrix(tmp_path / "tabs.csv"), table, "separated by tabs")
        lines = table.to_csv(sep=" ").removeprefix("who ")
        with gzip.open(tmp_path / "r.txt.gz", "wt") as opened:
            opened.write(lines)
        assert_read(read_matrix(tmp_path / "r.txt.gz"), table, "separated by blanks")


@pytest.mark.parametrize("missing", ["", "N/A", "NA", "NaN", "nan", " "])
def test_labels_may_have_gaps_of_any_spelling(save, table, missing):
    for name in ("m.csv", "m.tsv"):
        file = save(table.assign(kind=["a", missing, missing, "b", "a", "b "]), name)
        assert read_matrix(file, labels="kind").about.labels.tolist() == [
            "a",
            "",
            "",
            "b",
            "a",
            "b",
        ]


class TestRawCounts:
    def test_they_are_named_and_divided_by_the_library_where_asked(self, save, seed):
        rng = np.random.default_rng(seed)
        means = np.exp(rng.normal(1, 1.5, 240)) * np.exp(rng.normal(0, 0.3, (12, 1)))
        values = 1 + rng.poisson(means)
        raw = read_matrix(save(pd.DataFrame(values, columns=[f"g{j}" for j in range(240)])))
        [remark] = remark_on_scale(raw, judge(raw), "zscore")
        assert "look like raw counts" in remark
        assert last_sentence(remark).startswith("Set normalise: counts")
        assert remark_on_scale(raw, judge(raw), "counts") == []
        library = values.sum(axis=1, keepdims=True)
        logs = np.log1p(values / library * np.median(library))
        expected = (logs - logs.mean(axis=0)) / logs.std(axis=0, ddof=1)
        np.testing.assert_allclose(normalise(raw, "counts").collect(), expected, atol=1e-4)

    def test_what_is_no_count_is_refused_or_remarked_on(self, save, table):
        with pytest.raises(MatrixError, match=r"normalise: counts.* set normalise: zscore"):
            normalise(read_matrix(save(table)), "counts")
        logs = read_matrix(save(np.log1p(table.abs())))
        [remark] = remark_on_scale(logs, judge(logs), "counts")
        assert remark.startswith("the setting `normalise: counts` requires raw counts, but")
        assert "set normalise: zscore" in remark

    def test_what_is_measured_and_small_whole_numbers_make_no_remark(self, save, table):
        genotypes = (table * 0).astype(int)
        genotypes.iloc[:3] = 2
        for values in (table, genotypes):
            raw = read_matrix(save(values))
            assert remark_on_scale(raw, judge(raw), "zscore") == []


@pytest.mark.parametrize("ending", ["npz", "h5ad"])
def test_settings_of_tables_are_refused_elsewhere(ending, npz, h5ad):
    file = {"npz": npz, "h5ad": h5ad}[ending]()
    for name, value in {"decimal": ",", "samples": "s", "ignore": ["a"]}.items():
        assert last_sentence(refusal(file, **{name: value})) == f"Leave out `{name}: {value}`"
