"""Bring a user's matrix to the form that every data set is clustered in."""

from workflow_job import run


def main(snakemake, progress):
    """Read and check the matrix, normalise it, and write it with its provenance."""
    import numpy as np
    import pandas as pd

    from sparsekm.expression.normalisation import normalise
    from sparsekm.expression.normalised_file import write_normalised
    from sparsekm.expression.reader import read_matrix
    from sparsekm.storage.provenance import file_digest, package_versions

    params, source = snakemake.params, snakemake.input.matrix
    raw = read_matrix(source, **params.arrays)
    n_samples, n_read = raw.X.shape
    matrix = normalise(raw, params.normalise)
    names = raw.samples or [f"sample{i + 1}" for i in range(n_samples)]
    obs = pd.DataFrame({} if raw.labels is None else {"label": raw.labels}, index=names)
    features = np.array(raw.features, dtype=object)[matrix.kept]
    truth = {} if raw.relevant is None else {"relevant": raw.relevant[matrix.kept]}
    provenance = {
        "dataset": snakemake.wildcards.dataset,
        "source": "matrix",
        "simulated": params.simulated,
        "file": str(source),
        "file_digest": file_digest(source),
        "normalisation": params.normalise,
        "n_samples": n_samples,
        "n_features_read": n_read,
        "n_features": len(features),
        "dropped_constant": np.array(matrix.dropped, dtype=str),
        "versions": package_versions(),
    }
    write_normalised(
        snakemake.output.normalised,
        matrix.X,
        obs,
        pd.DataFrame(truth, index=features),
        provenance,
    )


run(main, snakemake)
