"""Read, check and normalise a user's matrix, and write it with its provenance."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import json
    import logging

    import numpy as np
    import pandas as pd

    from sparsekm.io.normalised_file import ANNOTATION, write_normalised
    from sparsekm.io.table_settings import split_settings
    from sparsekm.pipeline.normalisation import read_feature_groups, read_normalised_table
    from sparsekm.pipeline.provenance import input_digest, package_versions

    params, source = snakemake.params, snakemake.input.matrix
    raw, matrix = read_normalised_table(source, *split_settings(params.settings))
    about_table = raw.describe(len(matrix.dropped))
    logging.info("%s: %s", source, "; ".join(map(str.strip, about_table.summary())))
    for remark in about_table.remarks:
        logging.warning("%s: %s", source, remark)
    n_samples, n_read = raw.X.shape
    names = raw.samples or [f"sample{i + 1}" for i in range(n_samples)]
    obs = {"label": raw.labels, "group": raw.groups, "batch": raw.batch, "weight": raw.weights}
    # A stroke would make a folder in the file.
    obs |= {ANNOTATION + key.replace("/", "_"): v for key, v in raw.annotations.items()}
    features = np.array(raw.features, dtype=object)[matrix.kept]
    var = {"relevant": None if raw.relevant is None else raw.relevant[matrix.kept]}
    var |= {"center": matrix.center}
    if matrix.moments is not None:
        var |= zip(("mean", "deviation"), matrix.moments, strict=True)
    if params.settings.get("feature_groups"):
        var["group"] = read_feature_groups(params.settings["feature_groups"], features)
    obs, var = (
        pd.DataFrame({key: v for key, v in known.items() if v is not None}, index=index)
        for known, index in ((obs, names), (var, features))
    )
    provenance = {
        "dataset": snakemake.wildcards.dataset,
        "source": "matrix",
        "simulated": params.simulated,
        "file": str(source),
        "file_digest": input_digest(source),
        "normalisation": params.settings.get("normalise", "zscore"),
        "reading": json.dumps(params.settings),
        "n_samples": n_samples,
        "n_features_read": n_read,
        "n_features": len(features),
        "remarks": np.array(about_table.remarks, dtype=str),
        "dropped_constant": np.array(matrix.dropped, dtype=str),
        "versions": package_versions(),
    }
    known = {"library_size": matrix.library_size, "n_features_filtered": matrix.n_filtered}
    provenance |= {name: value for name, value in known.items() if value}
    obsm = {} if raw.positions is None else {"spatial": raw.positions}
    write_normalised(snakemake.output.normalised, matrix.X, obs, var, provenance, obsm=obsm)
