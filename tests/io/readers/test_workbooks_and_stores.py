"""Workbooks of Excel and folders of Zarr: read as a table of text is, or refused in one line."""

import json
import warnings

import anndata
import pandas as pd
import pytest
from reading import GENES, KINDS, assert_read, last_sentence, refusal
from scipy import sparse

from sparsekm.io.readers.reader import read_matrix


class TestWorkbooks:
    def test_a_sheet_is_read_like_text(self, tmp_path, table):
        file = tmp_path / "m.xlsx"
        table.assign(kind=KINDS).to_excel(file)
        raw = read_matrix(file, labels="kind")
        assert_read(raw, table)
        assert raw.samples == list(table.index)
        message = refusal(file, labels="kinds")
        assert last_sentence(message) == "Do you mean labels: kind?"

    def test_another_sheet_is_named_by_layer_and_the_choice_is_said(self, tmp_path, table):
        file = tmp_path / "m.xlsx"
        with pd.ExcelWriter(file) as writer:
            notes = pd.DataFrame({"no": range(9), "about": ["a note"] * 9})
            notes.to_excel(writer, sheet_name="README", index=False)
            (table * 2).to_excel(writer, sheet_name="raw")
            table.to_excel(writer, sheet_name="logged")
        assert_read(read_matrix(file), table * 2, "reading sheet 'raw' of [README, raw, logged]")
        assert_read(read_matrix(file, layer="logged"), table)
        assert "layer='log' should be one of its sheets" in refusal(file, layer="log")

    def test_genes_in_lines_and_ids_survive_the_sheet(self, tmp_path, table):
        table.columns = pd.Index([7157, 672, 4609, 5460], name="entrez_id")
        table.T.to_excel(tmp_path / "m.xlsx")
        table.columns = [str(name) for name in table.columns]
        assert_read(read_matrix(tmp_path / "m.xlsx"), table, "Set transpose: false")

    def test_symbols_that_became_dates_are_named(self, tmp_path, table):
        table.columns = [*GENES[:3], pd.Timestamp("2023-09-02")]
        table.to_excel(tmp_path / "m.xlsx")
        raw = read_matrix(tmp_path / "m.xlsx")
        assert "1 feature names are dates, such as '2023-09-02'" in raw.remarks[0]

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
        assert raw.labels.tolist() == KINDS
        assert raw.samples == list(table.index)
        values = table.to_numpy()
        for kind in (sparse.csr_matrix, sparse.csc_matrix):
            file = store(kind(values), layers={"double": kind(2 * values)})
            assert_read(read_matrix(file), table)
            assert_read(read_matrix(file, layer="double"), 2 * table)
        assert "Set layer to one of ['double']" in refusal(file, layer="counts")

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
