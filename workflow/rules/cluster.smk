"""From a normalised data set to a tuned and scored clustering."""


rule choose_cluster_count:
    """Choose the number of clusters: the number of clearly separated groups."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
    output:
        counts="results/{dataset}/cluster_counts.csv",
        tried="results/{dataset}/tried_clusters.csv",
    log:
        "logs/choose_cluster_count/{dataset}.log",
    benchmark:
        "results/benchmarks/choose_cluster_count/{dataset}.tsv"
    conda:
        "../../envs/sparsekm.yaml"
    threads: 2
    resources:
        **needs(memory=(900, 10), minutes=(6, 0.02), tunes=True),
    params:
        code=code_and_versions("compare_choices", METHODS["sparse"].module),
        problem=open_problem,
    script:
        "../../scripts/compare_choices.py"


rule cluster_path:
    """Cluster a data set at every sparsity of a method's grid."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        counts=counts_file,
    output:
        path="results/{dataset}/{method}/path.h5",
    log:
        "logs/cluster_path/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/cluster_path/{dataset}/{method}.tsv"
    wildcard_constraints:
        method=any_of(FITTED),
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.005), tunes=True),
    params:
        code=code_and_versions("cluster_path"),
        problem=problem,
    script:
        "../../scripts/cluster_path.py"


rule reference_path:
    """Cluster a batch of reference data sets at every sparsity of a method's grid."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        counts=counts_file,
    output:
        references="results/{dataset}/{method}/references/{batch}.h5",
    log:
        "logs/reference_path/{dataset}/{method}/{batch}.log",
    benchmark:
        "results/benchmarks/reference_path/{dataset}/{method}/{batch}.tsv"
    wildcard_constraints:
        method=any_of(FITTED),
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.015), tunes=True),
    params:
        code=code_and_versions("reference_path"),
        problem=problem,
        indices=indices,
        reference=config["tuning"]["reference"],
    script:
        "../../scripts/reference_path.py"


rule tune_sparsity:
    """Compute the gap curve, and fit all samples at the chosen sparsity."""
    input:
        path="results/{dataset}/{method}/path.h5",
        references=expand(
            "results/{{dataset}}/{{method}}/references/{batch}.h5",
            batch=batches(),
        ),
        normalised="data/{dataset}/normalised.h5ad",
        counts=counts_file,
    output:
        gap="results/{dataset}/{method}/gap.csv",
        fit="results/{dataset}/{method}/chosen.h5",
    log:
        "logs/tune_sparsity/{dataset}/{method}.log",
    wildcard_constraints:
        method=any_of(TUNED),
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.005), tunes=True),
    params:
        code=code_and_versions("tune_sparsity"),
        problem=problem,
        rule=config["tuning"]["rule"],
    script:
        "../../scripts/tune_sparsity.py"


rule find_consensus:
    """Choose the clusters among the candidates, their features, and which are separated."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        counts=counts_file,
        tried=tried_file,
    output:
        candidates="results/{dataset}/{method}/candidates.csv",
        separation="results/{dataset}/{method}/separation.csv",
        numbers="results/{dataset}/{method}/numbers.csv",
        divisions="results/{dataset}/{method}/divisions.csv",
        fit="results/{dataset}/{method}/chosen.h5",
    log:
        "logs/find_consensus/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/find_consensus/{dataset}/{method}.tsv"
    wildcard_constraints:
        method=any_of(RESAMPLED),
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.015), tunes=True),
    params:
        code=code_and_versions("find_consensus"),
        problem=problem,
    script:
        "../../scripts/find_consensus.py"


use rule choose_cluster_count as compare_choices with:
    """Compare the result with results for other numbers of clusters, features and samples."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fit="results/{dataset}/sparse/tuned.h5",
    output:
        choices="results/{dataset}/choices.csv",
    log:
        "logs/compare_choices/{dataset}.log",
    benchmark:
        "results/benchmarks/compare_choices/{dataset}.tsv"
    group:
        of_small("sparsekm_genes")
    threads: 1
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.015), tunes=True),


rule select_fit:
    """Select the only fit of a method that has no sparsity to choose."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        path="results/{dataset}/{method}/path.h5",
    output:
        fit="results/{dataset}/{method}/chosen.h5",
    log:
        "logs/select_fit/{dataset}/{method}.log",
    wildcard_constraints:
        method=any_of(UNTUNED),
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 4), minutes=(3, 0.002)),
    params:
        code=code_and_versions("select_fit"),
        problem=problem,
    script:
        "../../scripts/select_fit.py"


rule score_clustering:
    """Compare a tuned fit with the known classes and features."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fit="results/{dataset}/{method}/tuned.h5",
    output:
        scores="results/{dataset}/{method}/scores.csv",
    log:
        "logs/score_clustering/{dataset}/{method}.log",
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0), minutes=(3, 0)),
    params:
        code=code_and_versions("score_clustering"),
    script:
        "../../scripts/score_clustering.py"


rule refit_other_seeds:
    """Fit the chosen model again from other seeds, score every fit, and select the one to show."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fit="results/{dataset}/{method}/chosen.h5",
        counts=counts_file,
    output:
        fit="results/{dataset}/{method}/tuned.h5",
        seeds="results/{dataset}/{method}/seeds.csv",
    log:
        "logs/refit_other_seeds/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/refit_other_seeds/{dataset}/{method}.tsv"
    group:
        of_small("sparsekm_fit")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.005), tunes=True),
    params:
        code=code_and_versions("refit_other_seeds"),
        problem=open_problem,
        n_seeds=n_seeds,
    script:
        "../../scripts/refit_other_seeds.py"


rule export_clusters:
    """Collect the results of every method for a data set, for other programs."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fits=expand("results/{{dataset}}/{method}/tuned.h5", method=config["methods"]),
        genes="results/{dataset}/genes.csv",
    output:
        data="results/{dataset}/clusters.h5ad",
        table="results/{dataset}/clusters.csv",
        workbook="results/{dataset}/clusters.xlsx",
        gct="results/{dataset}/kept.gct",
        cls="results/{dataset}/kept.cls",
        ranked="results/{dataset}/ranked.zip",
    log:
        "logs/export_clusters/{dataset}.log",
    group:
        of_small("sparsekm_tables")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0.5), minutes=(3, 0.002)),
    params:
        code=code("export_clusters"),
        methods=config["methods"],
        settings=lambda wildcards: exported_settings(wildcards.dataset),
    script:
        "../../scripts/export_clusters.py"
