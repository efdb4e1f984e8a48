"""The page stays small enough to be sent around."""

import numpy as np
import pandas as pd
from sound_files import ATTRIBUTES

from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import TunedFit, write_fit
from sparsekm.reporting.report import load_dataset_result, write_report


def test_500_samples_of_20_000_features_make_a_page_of_at_most_3_mb(tmp_path):
    rng = np.random.default_rng(0)
    n_samples, n_features, n_kept = 500, 20_000, 900
    labels = rng.integers(4, size=n_samples).astype(np.int32)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, :n_kept] += 2 * labels[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    obs = pd.DataFrame(index=[f"TCGA-{number:04d}-01A" for number in range(n_samples)])
    obs["label"] = np.array(["basal", "luminal A", "luminal B", "her2"])[labels]
    var = pd.DataFrame(index=[f"ENSG{number:011d}" for number in range(n_features)])
    file = tmp_path / "normalised.h5ad"
    write_normalised(file, X, obs, var, {"source": "matrix", "normalisation": "zscore"})
    centers = np.array([X[labels == k].mean(axis=0) for k in range(4)]).astype(np.float64)
    scores = (np.bincount(labels)[:, None] * centers**2).sum(axis=0)
    weights = (np.arange(n_features) < n_kept).astype(float)
    fits, more = {}, {"centers": centers, "scores": scores, "labels": labels}
    for method in ("kmeans", "l1", "l0", "sparse"):
        own = np.ones(n_features) if method == "kmeans" else weights
        extra = {}
        if method == "sparse":
            extra["reproducibility"] = rng.random(n_samples)
            extra["partitions"] = np.array([labels] * 50).astype(np.int16)
            extra["selection_frequency"] = weights
        about = {**ATTRIBUTES, "method": method, "n_clusters": 4}
        fits[method] = tmp_path / f"{method}.h5"
        write_fit(
            fits[method], TunedFit(900.0, 1.0, weights=own, attributes=about, **more, **extra)
        )
    result = load_dataset_result("mine", file, fits=fits)
    assert len(result.genes) == n_features
    write_report([result], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3e6
