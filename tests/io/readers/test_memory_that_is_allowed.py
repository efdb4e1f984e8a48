"""A matrix may take the memory that its declared shape needs, whatever its file's size."""

import gzip

import h5py
import numpy as np
import pytest
from scipy import sparse

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import measure_matrix


def test_the_shape_counts_in_every_format(tmp_path, npz, h5ad):
    X = np.zeros((600, 400))
    names = np.arange(400).astype(str)
    file = npz(X=X, genes=names, y=None)
    least = 3 * 4 * X.size + 2 * X.nbytes
    assert least < measure_matrix(file).memory < 1.2 * least
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("counts", data=X, compression="gzip")
    assert measure_matrix(tmp_path / "m.h5", "counts") == (least, 3 * least, 4 * X.size)
    (tmp_path / "m.csv").write_bytes(b"a,b\n" + b"1,2\n" * 1000)
    assert measure_matrix(tmp_path / "m.csv").memory == 16 * 4004


def test_an_unused_layer_counts_for_nothing(h5ad, X):
    plain = measure_matrix(h5ad())
    assert measure_matrix(h5ad(layers={"zeros": np.zeros_like(X)})) == plain
    assert measure_matrix(h5ad(layers={"counts": X}), "counts") == plain
    assert measure_matrix(h5ad(sparse.csr_matrix(X))).memory > 3 * 4 * X.size


def test_a_matrix_that_is_read_in_blocks_needs_no_memory_for_the_whole(tmp_path):
    asked = []
    for n in (10**5, 10**6):
        with h5py.File(tmp_path / "m.h5", "w") as opened:
            opened.create_dataset("X", shape=(n, 10**4), dtype="f4", chunks=(100, 10**4))
        asked.append(measure_matrix(tmp_path / "m.h5"))
        assert asked[-1].memory < 2**30 < 4 * n * 10**4 < asked[-1].processed
    assert asked[1].processed == 10 * asked[0].processed


def test_a_compressed_text_may_be_all_that_it_can_hold(tmp_path):
    content = b"0," * 10**6
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(content))
    assert measure_matrix(tmp_path / "m.csv.gz").memory >= 16 * len(content)


def test_a_matrix_above_the_limit_is_refused_before_it_is_read(tmp_path, npz, h5ad):
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("X", shape=(10**7, 10**5), dtype="f4", chunks=(1, 1000))
    with pytest.raises(
        MatrixError, match=r"10000000 x 100000 takes 3725.3 GiB .* the limit is 1024 GiB"
    ):
        measure_matrix(tmp_path / "m.h5")


def test_a_file_that_does_not_say_is_left_to_its_reader(tmp_path):
    for name in ("m.h5", "m.h5ad", "m.npz"):
        (tmp_path / name).write_bytes(b"no such file")
        assert measure_matrix(tmp_path / name) == (0, 0, 0)
    assert measure_matrix(tmp_path / "absent.csv") == (0, 0, 0)
