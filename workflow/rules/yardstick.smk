"""All methods on labelled real data, compared with plain ones: `snakemake yardstick`."""


rule run_yardstick:
    """Run one method on one labelled data set with every seed."""
    input:
        labelled=lambda wildcards: local(YARDSTICK_SETS[wildcards.labelled_set]),
    output:
        table="results/yardstick/{labelled_set}/{method}.csv",
    log:
        "logs/run_yardstick/{labelled_set}/{method}.log",
    benchmark:
        "results/benchmarks/run_yardstick/{labelled_set}/{method}.tsv"
    wildcard_constraints:
        labelled_set=any_of(YARDSTICK_SETS),
    group:
        "sparsekm_yardsticks"
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(1300, 100), minutes=(60, 0)),
    params:
        code=code_and_versions("run_yardstick"),
        draws={"seed": config["seed"]}
        | {"seeds": YARDSTICK["n_seeds"], "max_samples": YARDSTICK["max_samples"]},
        effort=yardstick_effort,
        content=lambda wildcards: content(YARDSTICK_SETS[wildcards.labelled_set]),
    script:
        "../../scripts/run_yardstick.py"


rule summarise_yardstick:
    """Combine and average the results of all methods."""
    input:
        tables=yardstick_tables,
    output:
        table="results/yardstick/yardstick.csv",
        summary="results/yardstick/summary.csv",
        overview="results/yardstick/overview.csv",
    log:
        "logs/summarise_yardstick.log",
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0), minutes=(10, 0)),
    params:
        code=code("summarise_yardstick"),
    script:
        "../../scripts/summarise_yardstick.py"


rule yardstick:
    """Compare all methods on the labelled data sets of a folder, in results/yardstick."""
    input:
        rules.summarise_yardstick.output,
