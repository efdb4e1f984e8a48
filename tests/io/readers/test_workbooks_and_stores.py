"""Workbooks, folders of Zarr, counts of 10x Genomics: read as a table of text is, or refused."""

import gzip
import json
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from reading import GENES, KINDS, assert_read, last_sentence, refusal
from scipy import sparse
from scipy.sparse import csc_array

from sparsekm.io.readers.reader import measure_matrix, read_matrix


class TestWorkbooks:
    def test_a_sheet_is_read_like_text(self, tmp_path, table):
        file = tmp_path / "m.xlsx"
        table.assign(kind=KINDS).to_excel(file)
        raw = read_matrix(file, labels="kind")
        assert_read(raw, table)
        assert raw.about.samples == list(table.index)
        assert last_sentence(refusal(file, labels="kinds")) == "Do you mean labels: kind?"

    def test_a_formula_without_a_stored_value_is_named_and_no_missing_value(self, tmp_path, table):
        file = tmp_path / "m.xlsx"
        formulas = table.astype(object)
        formulas.iloc[1, 2] = "=B2+C2"
        formulas.to_excel(file, engine="openpyxl")
        told = refusal(file)
        assert "the formula in cell D3 of the sheet 'Sheet1' has no stored value. Open the" in told

    def test_another_sheet_is_named_by_layer_and_the_choice_is_said(self, tmp_path, table):
        file = tmp_path / "m.xlsx"
        with pd.ExcelWriter(file) as writer:
            notes = pd.DataFrame({"no": range(9), "about": ["a note"] * 9})
            notes.to_excel(writer, sheet_name="README", index=False)
            (table * 2).to_excel(writer, sheet_name="raw")
            table.to_excel(writer, sheet_name="logged")
        assert_read(read_matrix(file), table * 2, "reading sheet 'raw' of [README, raw, logged]")
        assert_read(read_matrix(file, layer="logged"), table)
        assert "layer='log' should be one of the sheets" in refusal(file, layer="log")

    def test_genes_in_lines_and_ids_survive_the_sheet(self, tmp_path, table):
        table.columns = pd.Index([7157, 672, 4609, 5460], name="entrez_id")
        table.T.to_excel(tmp_path / "m.xlsx")
        table.columns = [str(name) for name in table.columns]
        assert_read(read_matrix(tmp_path / "m.xlsx"), table, "set transpose: false")

    def test_symbols_that_became_dates_are_named(self, tmp_path, table):
        table.columns = [*GENES[:3], pd.Timestamp("2023-09-02")]
        table.to_excel(tmp_path / "m.xlsx")
        raw = read_matrix(tmp_path / "m.xlsx")
        assert "1 feature name is a date, such as '2023-09-02'" in raw.remarks[0]

    def test_a_long_table_is_converted_from_the_workbook(self, tmp_path):
        rows = [(f"s{i}", f"IL{j}", i * j + 0.5) for i in range(9) for j in range(4)]
        long = pd.DataFrame(rows, columns=["sample", "gene", "level"])
        long.to_excel(tmp_path / "m.xlsx", index=False)
        code = refusal(tmp_path / "m.xlsx").partition('python -c "')[2].partition('", and give')[0]
        exec(compile(code, "pivot", "exec"), {})
        assert read_matrix(tmp_path / "m_wide.csv").shape == (9, 4)

    def test_what_is_no_workbook_is_refused(self, tmp_path):
        file = tmp_path / "m.xlsx"
        file.write_bytes(b"no workbook")
        assert "not a complete .xlsx file" in refusal(file)


class TestZarr:
    @pytest.fixture(params=[2, 3])
    def store(self, request, tmp_path, table):
        def write(matrix=None, **parts):
            adata = anndata.AnnData(
                table.to_numpy() if matrix is None else matrix,
                obs=pd.DataFrame({"kind": pd.Categorical(KINDS)}, table.index),
                var=pd.DataFrame(index=table.columns),
                **parts,
            )
            with warnings.catch_warnings(action="ignore"):
                anndata.settings.zarr_write_format = request.param
                adata.write_zarr(tmp_path / "m.zarr")
            return tmp_path / "m.zarr"

        before = anndata.settings.zarr_write_format
        yield write
        with warnings.catch_warnings(action="ignore"):
            anndata.settings.zarr_write_format = before

    def test_dense_and_sparse_values_and_layers_are_read(self, store, table):
        raw = read_matrix(store(), labels="kind")
        assert_read(raw, table)
        assert raw.about.labels.tolist() == KINDS
        assert raw.about.samples == list(table.index)
        values = table.to_numpy()
        for kind in (sparse.csr_matrix, sparse.csc_matrix):
            file = store(kind(values), layers={"double": kind(2 * values)})
            assert_read(read_matrix(file), table)
            assert_read(read_matrix(file, layer="double"), 2 * table)
        assert "Set `layer` to one of ['double']" in refusal(file, layer="counts")

    def test_codecs_that_run_what_they_read_are_refused(self, store):
        file = store()
        metadata = next(file.glob("X/.zarray"), file / "X" / "zarr.json")
        content = json.loads(metadata.read_text())
        key = "filters" if metadata.name == ".zarray" else "codecs"
        content[key] = [{"id": "pickle", "name": "numcodecs.pickle"}]
        metadata.write_text(json.dumps(content))
        assert "uses the codecs" in refusal(file)

    def test_links_and_damage_are_refused(self, store):
        file = store()
        (file / "X" / "other").symlink_to("/etc/passwd")
        assert "X/other is a link" in refusal(file)
        (file / "X" / "other").unlink()
        for part in (file / "obs").rglob("*"):
            if part.name in (".zattrs", "zarr.json"):
                part.write_text("{")
        assert "not a complete .zarr store" in refusal(file)


COUNTS = np.random.default_rng(0).poisson(1, size=(8, 12))
CELLS = [f"AAACCTGAGAAACC{i}-1" for i in range(8)]
IDS = [f"ENSG{i:011d}" for i in range(12)]
SYMBOLS = [f"GENE{i}" for i in range(10)] + ["TWIN", "TWIN"]
NAMES = [*SYMBOLS[:10], f"TWIN_{IDS[10]}", f"TWIN_{IDS[11]}"]


@pytest.fixture
def folder(tmp_path):
    def write(ending="", prefix="", genes="features.tsv", types=("Gene Expression",) * 12):
        def save(name, lines):
            content = "\n".join([*lines, ""]).encode()
            body = gzip.compress(content, mtime=0) if ending else content
            (tmp_path / f"{prefix}{name}{ending}").write_bytes(body)

        stored = [f"{j + 1} {i + 1} {COUNTS[i, j]}" for i, j in np.argwhere(COUNTS)]
        head = ["%%MatrixMarket matrix coordinate integer general", f"12 8 {len(stored)}"]
        save("matrix.mtx", [*head, *stored])
        save(genes, ["\t".join(line) for line in zip(IDS, SYMBOLS, types, strict=True)])
        save("barcodes.tsv", CELLS)
        return tmp_path

    return write


def check(raw, columns=slice(None)):
    assert raw.about.samples == CELLS
    assert raw.about.features == NAMES[columns]
    X = raw.collect()
    X = X.toarray() if raw.is_sparse else X + raw.offset
    np.testing.assert_array_equal(X, COUNTS[:, columns])


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("genes", ["features.tsv", "genes.tsv"])
def test_a_folder_is_read_with_the_names_next_to_the_matrix(folder, ending, genes):
    found = folder(ending, genes=genes)
    check(read_matrix(found))
    assert measure_matrix(found).memory > 0
    check(read_matrix(found / f"matrix.mtx{ending}"))


def test_names_may_have_the_prefix_of_a_series(folder):
    check(read_matrix(folder(prefix="GSM1_", ending=".gz")))


def test_antibodies_are_left_out_aloud(folder):
    raw = read_matrix(folder(types=["Gene Expression"] * 10 + ["Antibody Capture"] * 2))
    check(raw, slice(10))
    assert "2 features are left out: Antibody Capture." in raw.remarks


def test_a_folder_that_lacks_a_file_or_disagrees_is_refused(folder):
    found = folder()
    assert "layer='raw' should be left out" in refusal(found / "matrix.mtx", layer="raw")
    (found / "barcodes.tsv").write_text("one\n")
    assert "12 x 8 should be 12 features x 1 barcodes" in refusal(found / "matrix.mtx")
    (found / "barcodes.tsv").unlink()
    assert "there should be matrix.mtx, features.tsv" in refusal(found / "matrix.mtx")


@pytest.mark.parametrize("version", [2, 3])
def test_hdf5_of_both_versions_is_read(tmp_path, version):
    file = tmp_path / "m.h5"
    stored = csc_array(COUNTS.T)
    with h5py.File(file, "w") as opened:
        group = opened.create_group("matrix" if version == 3 else "GRCh38")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        group["shape"] = np.array(stored.shape)
        group["barcodes"] = np.array(CELLS, dtype="S")
        group["features/id" if version == 3 else "genes"] = np.array(IDS, dtype="S")
        group["features/name" if version == 3 else "gene_names"] = np.array(SYMBOLS, dtype="S")
    check(read_matrix(file))
    assert measure_matrix(file).processed > 0
    assert "settings `labels` and `groups` should be left out" in refusal(file, labels="kind")
    with h5py.File(file, "r+") as opened:
        opened[next(iter(opened))]["indices"][3] = 10**6
    assert "indices must be < 12" in refusal(file)
