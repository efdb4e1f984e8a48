"""Whether two matrices of an age are the same, bit for bit."""

import numpy as np


def assert_same(matrix, planted, without=None):
    """Same bits, but for the gene of one data set."""
    kept = np.ones(len(planted.var), dtype=bool)
    if without is not None:
        kept = planted.var["section_data_set_ids"].to_numpy() != str(without)
        assert not kept.all()
    assert matrix.var.index.tolist() == planted.var.index[kept].tolist()
    assert matrix.var["gene_id"].tolist() == planted.var["gene_id"][kept].tolist()
    assert matrix.X.tobytes() == np.ascontiguousarray(planted.X[:, kept]).tobytes()
    assert matrix.obs.equals(planted.obs)
