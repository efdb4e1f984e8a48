"""Choose the clusters among the candidates, and write the fit and the tables of its tests."""

from rule_problem import read_count, read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    import numpy as np

    from sparsekm.io.store import MOST_TOGETHER, write_fit
    from sparsekm.io.tables import CANDIDATES, SEPARATION
    from sparsekm.pipeline.problem import describe_found, find_clusters
    from sparsekm.tuning.partitions import match_clusters

    output, problem = snakemake.output, read_problem(snakemake)
    _, numbers = read_count(snakemake)
    count = progress.counting("folds")
    found = find_clusters(problem, numbers=numbers, progress=count)
    if problem.data is not problem.whole and problem.whole.weights is None:
        # Outliers were set aside before it was known which features to look at.
        again = problem.trim_again(found.fit)
        if not np.array_equal(again.rows, problem.rows):
            problem, found = again, find_clusters(again, numbers=numbers, progress=count)
    (signature, *of_each), labels = found.signatures, found.labels
    attributes = {
        **problem.attributes,
        "search": found.fit.search,
        "screening": found.screening,
        "has_clusters": found.has_clusters,
        "could_tell": found.could_tell,
        "signature_agreement": signature.agreement,
        "conclusion": found.sentence(problem.whole.features),
        **numbers,
    }
    fit = describe_found(problem, found, attributes)
    of_clusters = np.zeros(fit.centers.shape, np.int8)
    for cluster, own in enumerate(of_each):
        if own.features is not None:
            of_clusters[cluster, own.features] = 1
    batch_centred = None
    if problem.data.batch is not None:
        centred = find_clusters(problem.centre_batches(), numbers=numbers, progress=count)
        same = match_clusters(labels, centred.labels, np.arange(len(labels)))
        batch_centred = problem.of_all(same.astype(np.int32), -1)
    is_whole = problem.data is problem.whole and found.partitions.shape[1] == len(labels)
    fit = replace(
        fit,
        reproducibility=problem.of_all(found.reproducibility, np.nan),
        left_out=problem.of_all(found.left_out_labels, -1),
        selection_frequency=found.selection_frequency,
        signature=signature.features,
        cluster_signatures=of_clusters,
        cluster_agreements=[own.agreement for own in of_each],
        batch_centred=batch_centred,
        partitions=found.partitions if is_whole and len(labels) <= MOST_TOGETHER else None,
    )
    CANDIDATES.write(output.candidates, found.table)
    SEPARATION.write(output.separation, found.separation)
    write_fit(output.fit, fit)
