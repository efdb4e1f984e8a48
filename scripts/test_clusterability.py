"""Test whether a data set has clusters: whether it is more stable than data without clusters."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.fit_files import read_path
    from sparsekm.io.tables import EVIDENCE
    from sparsekm.tuning.evidence import weigh_evidence
    from sparsekm.tuning.feature_limit import feature_limit
    from sparsekm.tuning.noise_correlation import fair_reference

    params, wildcards = snakemake.params, snakemake.wildcards
    problem = pose(snakemake)
    path, _ = read_path(snakemake.input.path)
    correlation = feature_limit(problem.tuning_data, path).correlation
    evidence = weigh_evidence(
        problem.estimator,
        # Without a name: all that the test does not draw of it is let go.
        problem.tuning_data,
        problem.sparsities,
        reference=fair_reference(correlation),
        n_references=params.n_references,
        n_selected=path.n_selected,
        max_samples=params.max_samples,
        seed=problem.seed,
        blocks=problem.tuning_blocks,
        progress=progress.counting("references"),
    )
    references = evidence.reference_stabilities
    row = {
        "dataset": wildcards.dataset,
        "method": wildcards.method,
        "noise_correlation": correlation.mean,
        "reference": evidence.reference,
        "n_references": len(references),
        "n_samples": evidence.sampled[0] if evidence.sampled else path.labels.shape[1],
        "stability": evidence.stability,
        "reference_mean": references.mean() if len(references) else None,
        "reference_max": references.max() if len(references) else None,
        "strength": evidence.strength,
        "conclusion": evidence.sentence(),
    }
    EVIDENCE.write_row(snakemake.output.evidence, row)
