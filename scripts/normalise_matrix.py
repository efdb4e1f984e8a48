"""Read, check and normalise a user's matrix, and write it with its provenance."""

from workflow_job import job, tell_user


@job(snakemake)
def main(snakemake, progress):
    import json
    import logging
    from pathlib import Path

    import numpy as np
    import pandas as pd

    from sparsekm.io.normalised_file import ANNOTATION, write_normalised
    from sparsekm.io.readers.messages import MatrixError
    from sparsekm.io.table_settings import split_settings
    from sparsekm.pipeline.normalisation import (
        read_feature_groups,
        read_normalised_table,
        settle_doubts,
    )
    from sparsekm.pipeline.provenance import input_digest, package_versions

    params, source = snakemake.params, snakemake.input.matrix
    try:
        about_table, matrix = read_normalised_table(source, *split_settings(params.settings))
    except MatrixError:
        # Parameters would run this job again for a change of another table.
        made = Path(snakemake.output.normalised).parents[1]
        tables = {
            name: entry
            for name, entry in snakemake.config["matrices"].items()
            if entry and "path" in entry and not (made / name / "normalised.h5ad").exists()
        }
        if lines := settle_doubts(tables):
            tell_user("\n".join(["Add to the settings of these matrices:", "matrices:", *lines]))
        raise
    logging.info("%s: %s", source, "; ".join(map(str.strip, about_table.summary())))
    for remark in about_table.remarks:
        logging.warning("%s: %s", source, remark)
    n_samples, n_features = matrix.shape
    names = matrix.samples or [f"sample{i + 1}" for i in range(n_samples)]
    obs = {"label": matrix.labels, "group": matrix.groups, "batch": matrix.batch}
    obs["weight"] = matrix.weights
    # A stroke would make a folder in the file.
    obs |= {ANNOTATION + key.replace("/", "_"): v for key, v in matrix.annotations.items()}
    features = np.array(matrix.features, dtype=object)
    var = {"relevant": matrix.relevant, "center": matrix.center}
    var |= {"mean": matrix.means, "deviation": matrix.deviations}
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
        "n_features_read": n_features + len(matrix.dropped) + matrix.n_filtered,
        "n_features": n_features,
        "remarks": np.array(about_table.remarks, dtype=str),
        "dropped_constant": np.array(matrix.dropped, dtype=str),
        "versions": package_versions(),
    }
    known = {"library_size": matrix.library_size, "n_features_filtered": matrix.n_filtered}
    provenance |= {name: value for name, value in known.items() if value}
    obsm = {} if matrix.positions is None else {"spatial": matrix.positions}
    write_normalised(snakemake.output.normalised, matrix, obs, var, provenance, obsm=obsm)
