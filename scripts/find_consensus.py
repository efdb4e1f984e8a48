"""Find the clusters by a consensus, test which stand apart, and write the fit and both tables."""

from rule_problem import read_count, read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    import numpy as np

    from sparsekm.io.store import MOST_TOGETHER, write_fit
    from sparsekm.io.tables import SEPARATION, STARTS
    from sparsekm.pipeline.problem import describe_fit, find_clusters

    output, problem = snakemake.output, read_problem(snakemake)
    _, n_joined = read_count(snakemake)
    found = find_clusters(problem, n_joined=n_joined, progress=progress.counting("folds"))
    signature, labels = found.signature, found.fit.labels[0]
    attributes = {
        **problem.attributes,
        "search": found.fit.search,
        "screening": found.screening,
        "has_clusters": found.has_clusters,
        "signature_agreement": signature.agreement,
        "conclusion": found.sentence(),
        **({"n_joined": n_joined} if n_joined is not None else {}),
    }
    fit = describe_fit(problem.data, found.fit, attributes, int(labels.max()) + 1)
    of_clusters = np.zeros(fit.centers.shape, np.int8)
    for cluster, own in enumerate(found.cluster_signatures):
        if own.features is not None:
            of_clusters[cluster, own.features] = 1
    all_together = found.partitions.shape[1] == len(labels) <= MOST_TOGETHER
    fit = replace(
        fit,
        reproducibility=found.reproducibility,
        left_out=found.left_out_labels,
        selection_frequency=found.selection_frequency,
        signature=signature.features,
        cluster_signatures=of_clusters,
        cluster_agreements=[own.agreement for own in found.cluster_signatures],
        partitions=found.partitions if all_together else None,
    )
    STARTS.write(output.consensus, found.table)
    SEPARATION.write(output.separation, found.separation)
    write_fit(output.fit, fit)
