"""Choosing the sparsity by stability, if `tuning.criterion` is stability; evidence of clusters."""


rule split_path:
    """Cluster subsets of the samples at every sparsity, and compare with the path of all samples."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        path="results/{dataset}/{method}/path.h5",
        counts=counts_file,
    output:
        splits="results/{dataset}/{method}/splits/{batch}.h5",
    log:
        "logs/split_path/{dataset}/{method}/{batch}.log",
    benchmark:
        "results/benchmarks/split_path/{dataset}/{method}/{batch}.tsv"
    wildcard_constraints:
        method=any_of(FITTED),
    conda:
        "../../envs/sparsekm.yaml"
    threads: fit_threads
    resources:
        mem_mb=tuning_memory(600, 10),
        runtime=minutes(10, 0.5),
    params:
        problem=problem,
        indices=indices("splits"),
        code=lambda wildcards: code("split_path"),
    script:
        "../../scripts/split_path.py"


rule tune_stability:
    """Compute the stability curve, and fit all samples at the chosen sparsity."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        path="results/{dataset}/{method}/path.h5",
        counts=counts_file,
        splits=expand(
            "results/{{dataset}}/{{method}}/splits/{batch}.h5",
            batch=batches("splits"),
        ),
    output:
        stability="results/{dataset}/{method}/stability_curve.csv",
        fit="results/{dataset}/{method}/chosen.h5",
    log:
        "logs/tune_stability/{dataset}/{method}.log",
    wildcard_constraints:
        method=any_of(TUNED_BY_STABILITY),
    conda:
        "../../envs/sparsekm.yaml"
    threads: fit_threads
    resources:
        mem_mb=memory(600, 6),
        runtime=minutes(10, 0.25),
    params:
        problem=problem,
        rule=config["tuning"]["stability_rule"],
        code=lambda wildcards: code("tune_stability"),
    script:
        "../../scripts/tune_stability.py"


rule test_clusterability:
    """Test whether a data set has clusters at all."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        path="results/{dataset}/{method}/path.h5",
        counts=counts_file,
    output:
        evidence="results/{dataset}/{method}/evidence.csv",
    log:
        "logs/test_clusterability/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/test_clusterability/{dataset}/{method}.tsv"
    wildcard_constraints:
        method=any_of(TUNED),
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=tuning_memory(600, 4),
        runtime=minutes(10, 0.1),
    params:
        problem=problem,
        n_references=config["tuning"]["evidence_references"],
        max_samples=config["tuning"]["evidence_samples"],
        code=lambda wildcards: code("test_clusterability"),
    script:
        "../../scripts/test_clusterability.py"
