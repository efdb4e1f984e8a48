"""Illustrations of the paper's theorems: `snakemake theory` makes results/theory."""

THEORY = config["theory"]
THEORY_FIGURES = [
    "expected_scores",
    "partition_bound",
    "support_recovery",
    "recovery_conditions",
]


rule simulate_theory_scores:
    """Average the scores of relevant and noise features as more samples are mislabelled."""
    output:
        scores="results/theory/expected_scores.csv",
    log:
        "logs/simulate_theory_scores.log",
    benchmark:
        "results/benchmarks/simulate_theory_scores.tsv"
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(10),
    params:
        seed=config["seed"],
        settings=THEORY["expected_scores"],
        code=lambda wildcards: code("simulate_theory_scores"),
    script:
        "../../scripts/simulate_theory_scores.py"


rule simulate_theory_partitions:
    """Cluster by k-means as relevant features are added, and compute Theorem 3's bound."""
    output:
        partitions="results/theory/partition_consistency.csv",
        bounds="results/theory/partition_bound.csv",
    log:
        "logs/simulate_theory_partitions.log",
    benchmark:
        "results/benchmarks/simulate_theory_partitions.tsv"
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(20),
    params:
        seed=config["seed"],
        settings=THEORY["partitions"],
        code=lambda wildcards: code("simulate_theory_partitions"),
    script:
        "../../scripts/simulate_theory_partitions.py"


rule simulate_theory_support:
    """Count how often the support is recovered, over one plane of settings."""
    output:
        recovery="results/theory/support_recovery_{plane}.csv",
    log:
        "logs/simulate_theory_support/{plane}.log",
    benchmark:
        "results/benchmarks/simulate_theory_support/{plane}.tsv"
    wildcard_constraints:
        plane=any_of(THEORY["support"]["planes"]),
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(30),
    params:
        draws={
            "root": config["seed"],
            "n_init": THEORY["support"]["n_init"],
            "repetitions": THEORY["support"]["repetitions"],
        },
        plane=lambda wildcards: THEORY["support"]["planes"][wildcards.plane],
        code=lambda wildcards: code("simulate_theory_support"),
    script:
        "../../scripts/simulate_theory_support.py"


rule check_theorems:
    """Hold the paper's statements about theory against computations of a few seconds."""
    output:
        checks="results/theory/checks.csv",
    log:
        "logs/check_theorems.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(5),
    params:
        seed=config["seed"],
        code=lambda wildcards: code("check_theorems"),
    script:
        "../../scripts/check_theorems.py"


rule draw_theory:
    """Draw the theorems with the simulated results; each figure comes with a caption as text."""
    input:
        scores="results/theory/expected_scores.csv",
        partitions="results/theory/partition_consistency.csv",
        bounds="results/theory/partition_bound.csv",
        recovery=expand(
            "results/theory/support_recovery_{plane}.csv",
            plane=THEORY["support"]["planes"],
        ),
    output:
        expand(
            "results/theory/{figure}.{kind}",
            figure=THEORY_FIGURES,
            kind=["svg", "pdf", "txt"],
        ),
    log:
        "logs/draw_theory.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0),
        runtime=minutes(10),
    params:
        settings=THEORY,
        code=lambda wildcards: code("draw_theory"),
    script:
        "../../scripts/draw_theory.py"


rule theory:
    """Make the tables and figures about the theorems, in results/theory."""
    input:
        rules.draw_theory.output,
