"""All methods on labelled real data, compared with plain ones: `snakemake yardstick`."""


use rule job as run_yardstick with:
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
    resources:
        **needs(memory=(1100, 100), minutes=(60, 0)),
    params:
        **computes("run_yardstick"),
        draws={"seed": config["seed"]}
        | {"seeds": YARDSTICK["n_seeds"], "max_samples": YARDSTICK["max_samples"]},
        effort=yardstick_effort,
        content=lambda wildcards: content(YARDSTICK_SETS[wildcards.labelled_set]),


use rule job as summarise_yardstick with:
    """Combine and average the results of all methods."""
    input:
        tables=yardstick_tables,
    output:
        table="results/yardstick/yardstick.csv",
        summary="results/yardstick/summary.csv",
        overview="results/yardstick/overview.csv",
    log:
        "logs/summarise_yardstick.log",
    resources:
        **needs(memory=(700, 0), minutes=(10, 0)),
    params:
        **runs("summarise_yardstick"),


rule yardstick:
    """Compare all methods on the labelled data sets of a folder, in results/yardstick."""
    input:
        rules.summarise_yardstick.output,
