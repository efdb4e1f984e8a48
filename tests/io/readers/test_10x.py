"""Counts of 10x Genomics: folders of Matrix Market and HDF5 of both versions."""

import gzip

import h5py
import numpy as np
import pytest
from reading import refusal
from scipy.sparse import csc_array

from sparsekm.io.readers.reader import measure_matrix, read_matrix

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
    assert raw.samples == CELLS
    assert raw.features == NAMES[columns]
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
    assert "labels and groups should be left out" in refusal(file, labels="kind")
    with h5py.File(file, "r+") as opened:
        opened[next(iter(opened))]["indices"][3] = 10**6
    assert "indices must be < 12" in refusal(file)
