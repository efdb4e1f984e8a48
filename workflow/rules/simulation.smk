"""The paper's experiments and the comparison with its tables: `snakemake paper`."""


wildcard_constraints:
    experiment="experiment_[1-4]",
    setting=r"[a-z0-9._]+",
    row=r"[a-z0-9_]+",


rule simulate:
    """Run all repetitions of one method in one setting of one experiment."""
    output:
        table="results/simulation/{experiment}/{setting}/{row}.csv",
        gap="results/simulation/{experiment}/{setting}/gap/{row}.csv",
        weights="results/simulation/{experiment}/{setting}/weights/{row}.csv",
    log:
        "logs/simulate/{experiment}/{setting}/{row}.log",
    benchmark:
        "results/benchmarks/simulate/{experiment}/{setting}/{row}.tsv"
    wildcard_constraints:
        experiment="experiment_[23]",
    group:
        "sparsekm_simulations"
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(1000, 0), minutes=(120, 0)),
    params:
        code=code_and_versions("simulate"),
        draws=lambda wildcards: {
            "seed": config["seed"],
            "replicates": replicates(wildcards),
        },
        effort=simulation_effort,
        # Finished repetitions. They are not an output, because a killed job continues from them.
        store=lambda wildcards, output: str(
            Path(output.table).parents[2].joinpath("repetitions", *wildcards)
        ),
    script:
        "../../scripts/simulate.py"


use rule simulate as simulate_large with:
    """Run the repetitions of an experiment whose jobs are long."""

    # They begin first, so that short jobs fill the last gaps between the cores.
    wildcard_constraints:
        experiment="experiment_[14]",
    priority: 1


rule summarise_simulation:
    """Average the repetitions, compare them with the paper's tables, and judge its claims."""
    input:
        tables=simulated_files(),
        paper=ancient(PAPER_VALUES),
        claims=ancient(PAPER_CLAIMS),
        checks="results/theory/checks.csv",
    output:
        summary="results/simulation/summary.csv",
        versus_paper="results/simulation/versus_paper.csv",
        claims="results/simulation/claims.csv",
    log:
        "logs/summarise_simulation.log",
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0), minutes=(5, 0)),
    params:
        code=code("summarise_simulation"),
        content=lambda wildcards: content(PAPER_VALUES, PAPER_CLAIMS),
    script:
        "../../scripts/summarise_simulation.py"


rule report_simulation:
    """Draw the experiments' figures and write a page about them."""
    input:
        repetitions=simulated_files(),
        gaps=simulated_files("gap/"),
        weights=simulated_files("weights/"),
        summary="results/simulation/summary.csv",
        versus_paper="results/simulation/versus_paper.csv",
        claims="results/simulation/claims.csv",
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
    resources:
        **needs(memory=(1000, 4), minutes=(10, 0)),
    params:
        code=code("report_simulation"),
    script:
        "../../scripts/report_simulation.py"


rule paper:
    """Make the paper's evaluation: every experiment, method and repetition."""
    input:
        "results/simulation/report.html",
        "results/simulation/summary.csv",
        "results/simulation/versus_paper.csv",
        "results/simulation/claims.csv",
