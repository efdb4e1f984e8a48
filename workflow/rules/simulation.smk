"""The paper's experiments: repetitions, summaries, and the comparison with its tables.

There are two studies. `snakemake paper` makes the whole one in results/simulation; the preview of
a default run stands in results/simulation/preview, with fewer repetitions. They share finished
repetitions and nothing else.
"""


wildcard_constraints:
    study="simulation(/preview)?",
    experiment="experiment_[1-4]",
    setting=r"[a-z0-9._]+",
    row=r"[a-z0-9_]+",


rule simulate:
    """Run all repetitions of one method in one setting of one experiment."""
    output:
        table="results/{study}/{experiment}/{setting}/{row}.csv",
        gap="results/{study}/{experiment}/{setting}/gap/{row}.csv",
        weights="results/{study}/{experiment}/{setting}/weights/{row}.csv",
    log:
        "logs/simulate/{study}/{experiment}/{setting}/{row}.log",
    benchmark:
        "results/benchmarks/simulate/{study}/{experiment}/{setting}/{row}.tsv"
    wildcard_constraints:
        experiment="experiment_[23]",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(700, 0),
        runtime=minutes(120),
    params:
        draws=lambda wildcards: {
            "seed": config["seed"],
            "replicates": replicates(wildcards),
        },
        effort=simulation_effort(),
        # Finished repetitions. No output: a job that was killed goes on from them.
        store="results/simulation/repetitions/{experiment}/{setting}/{row}",
        code=lambda wildcards: code("simulate"),
    script:
        "../../scripts/simulate.py"


use rule simulate as simulate_large with:
    # Long jobs first: short ones then fill the last gap between the cores.
    wildcard_constraints:
        experiment="experiment_[14]",
    priority: 1


rule summarise_simulation:
    """Average the repetitions, set them beside the paper's tables, and judge its claims."""
    input:
        tables=lambda wildcards: simulated_files(wildcards.study),
        paper=ancient(PAPER_VALUES),
        claims=ancient(PAPER_CLAIMS),
        checks=lambda wildcards: theory_checks(wildcards.study),
    output:
        summary="results/{study}/summary.csv",
        versus_paper="results/{study}/versus_paper.csv",
        claims="results/{study}/claims.csv",
    log:
        "logs/summarise_simulation/{study}.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(5),
    params:
        content=lambda wildcards: content(PAPER_VALUES, PAPER_CLAIMS),
        code=lambda wildcards: code("summarise_simulation"),
    script:
        "../../scripts/summarise_simulation.py"


rule report_simulation:
    """Draw the experiments' figures and write a page about them."""
    input:
        **simulation_results("simulation"),
    output:
        report="results/simulation/report.html",
        figures=expand(
            "results/simulation/figures/{figure}.{kind}",
            figure=simulation_figures(),
            kind=["svg", "pdf"],
        ),
    log:
        "logs/report_simulation.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(700, 4),
        runtime=minutes(10),
    params:
        code=lambda wildcards: code("report_simulation"),
    script:
        "../../scripts/report_simulation.py"


rule paper:
    """Make the paper's evaluation: every experiment, method and repetition."""
    input:
        "results/simulation/report.html",
        "results/simulation/summary.csv",
        "results/simulation/versus_paper.csv",
        "results/simulation/claims.csv",
