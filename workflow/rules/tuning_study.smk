"""Comparison of rules for the sparsity and the number of clusters: `snakemake tuning_study`."""


rule run_tuning_study:
    """Apply every tuning rule to repetitions of one data set."""
    input:
        lambda wildcards: STUDY_DESIGNS[wildcards.design].get("path", []),
    output:
        table="results/tuning_study/{design}.csv",
    log:
        "logs/run_tuning_study/{design}.log",
    benchmark:
        "results/benchmarks/run_tuning_study/{design}.tsv"
    wildcard_constraints:
        design=any_of(STUDY_DESIGNS),
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000, 40),
        runtime=minutes(30),
    params:
        draws={"seed": config["seed"], "replicates": TUNING_STUDY["replicates"]},
        design=study_settings,
        kind=lambda wildcards: STUDY_DESIGNS[wildcards.design]["kind"],
        content=lambda wildcards: content(STUDY_DESIGNS[wildcards.design].get("path")),
        effort=TUNING_STUDY["effort"],
        code=lambda wildcards: code("run_tuning_study"),
    script:
        "../../scripts/run_tuning_study.py"


rule summarise_tuning_study:
    """Average the comparison of tuning rules, and draw it."""
    input:
        expand("results/tuning_study/{design}.csv", design=STUDY_DESIGNS),
    output:
        summary="results/tuning_study/summary.csv",
        overview="results/tuning_study/overview.csv",
        figure="results/tuning_study/summary.svg",
    log:
        "logs/summarise_tuning_study.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(10),
    params:
        code=lambda wildcards: code("summarise_tuning_study"),
    script:
        "../../scripts/summarise_tuning_study.py"


rule run_count_study:
    """Apply every rule for the number of clusters to repetitions of one data set."""
    input:
        lambda wildcards: STUDY_DESIGNS[wildcards.design].get("path", []),
    output:
        table="results/tuning_study/counts/{design}.csv",
    log:
        "logs/run_count_study/{design}.log",
    benchmark:
        "results/benchmarks/run_count_study/{design}.tsv"
    wildcard_constraints:
        design=any_of(COUNTED_DESIGNS),
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000, 40),
        runtime=minutes(30),
    params:
        draws={"seed": config["seed"], "replicates": TUNING_STUDY["replicates"]},
        design=study_settings,
        kind=lambda wildcards: STUDY_DESIGNS[wildcards.design]["kind"],
        content=lambda wildcards: content(STUDY_DESIGNS[wildcards.design].get("path")),
        effort=count_effort(),
        code=lambda wildcards: code("run_count_study"),
    script:
        "../../scripts/run_count_study.py"


rule summarise_count_study:
    """Count how often every rule chose the known number of clusters."""
    input:
        expand("results/tuning_study/counts/{design}.csv", design=COUNTED_DESIGNS),
    output:
        table="results/tuning_study/counts.csv",
    log:
        "logs/summarise_count_study.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(10),
    params:
        code=lambda wildcards: code("summarise_count_study"),
    script:
        "../../scripts/summarise_count_study.py"


rule tuning_study:
    """Compare the rules for the sparsity and the number of clusters, in results/tuning_study."""
    input:
        rules.summarise_tuning_study.output,
        rules.summarise_count_study.output if COUNTED_DESIGNS else [],
