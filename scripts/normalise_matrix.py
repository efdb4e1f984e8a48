"""Read, check and normalise a user's matrix, and write it with its provenance."""

from workflow_job import job, tell_user


@job(snakemake)
def main(snakemake, progress):
    import json
    import logging
    from dataclasses import replace
    from pathlib import Path

    import numpy as np

    from sparsekm.io.normalised_file import tabulate, write_normalised
    from sparsekm.io.readers.messages import MatrixError
    from sparsekm.pipeline.normalisation import (
        normalise,
        read_feature_groups,
        read_normalised_table,
        settle_doubts,
    )
    from sparsekm.pipeline.provenance import input_digest, package_versions

    params, source = snakemake.params, snakemake.input.matrix
    try:
        raw, matrix = read_normalised_table(source, params.settings)
    except MatrixError:
        # As parameters, these settings would rerun this job if another table changed.
        made = Path(snakemake.output.normalised).parents[1]
        tables = {
            name: entry
            for name, entry in snakemake.config["matrices"].items()
            if entry and "path" in entry and not (made / name / "normalised.h5ad").exists()
        }
        if lines := settle_doubts(tables):
            tell_user("\n".join(["Add to the settings of these matrices:", "matrices:", *lines]))
        raise
    summary = raw.summary(len(matrix.dropped))
    logging.info("%s: %s", source, "; ".join(map(str.strip, summary)))
    for remark in raw.remarks:
        logging.warning("%s: %s", source, remark)
    n_samples, n_features = matrix.shape
    about = matrix.about
    if about.samples is None:
        about = replace(about, samples=[f"sample{i + 1}" for i in range(n_samples)])
    if groups := params.settings.get("feature_groups"):
        about = replace(about, feature_groups=read_feature_groups(groups, about.features))
    scale = {"center": matrix.center, "mean": matrix.means, "deviation": matrix.deviations}
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
        "remarks": np.array(raw.remarks, dtype=str),
        "excluded_samples": np.array(raw.excluded, dtype=str),
        "filled_samples": np.array(raw.filled, dtype=str),
        "dropped_constant": np.array(matrix.dropped, dtype=str),
        "versions": package_versions(),
    }
    known = {"library_size": matrix.library_size, "n_features_filtered": matrix.n_filtered}
    known["doubted_for"] = matrix.doubted_for
    provenance |= {name: value for name, value in known.items() if value}
    obsm = {} if about.positions is None else {"spatial": about.positions}
    obs, var = tabulate(about, **scale)
    whole = None
    if matrix.n_filtered:
        every = normalise(raw, provenance["normalisation"])
        whole = every, tabulate(every.about, center=every.center)[1]
    output = snakemake.output.normalised
    write_normalised(output, matrix, obs, var, provenance, obsm=obsm, whole=whole)
