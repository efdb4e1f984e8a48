"""The rules for choosing the sparsity compared: `snakemake tuning_study` makes its results."""


rule run_tuning_study:
    """Let every tuning rule choose on repetitions of one data set."""
    input:
        lambda wildcards: STUDY_DESIGNS[wildcards.design].get("path", []),
    output:
        table="results/tuning_study/{design}.csv",
    log:
        "logs/run_tuning_study/{design}.log",
    wildcard_constraints:
        design=either(STUDY_DESIGNS),
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


rule tuning_study:
    """Compare the rules for choosing the sparsity, in results/tuning_study."""
    input:
        rules.summarise_tuning_study.output,
