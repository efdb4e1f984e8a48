"""The paper's theorems in pictures, and its statements about theory checked."""


rule draw_theorem:
    """Simulate the statement of a theorem, and draw it; the caption is a text file."""
    output:
        table="results/theory/{picture}.csv",
        svg="results/theory/{picture}.svg",
        pdf="results/theory/{picture}.pdf",
        caption="results/theory/{picture}.txt",
    log:
        "logs/draw_theorem/{picture}.log",
    benchmark:
        "results/benchmarks/draw_theorem/{picture}.tsv"
    wildcard_constraints:
        picture="expected_scores|partition_bound|support_recovery",
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0), minutes=(60, 0)),
    params:
        code=code_and_versions("draw_theorem"),
        seed=config["seed"],
    script:
        "../../scripts/draw_theorem.py"


use rule draw_theorem as check_theorems with:
    """Check the paper's statements about theory by computations of a few seconds."""
    output:
        checks="results/theory/checks.csv",
    log:
        "logs/check_theorems.log",
    benchmark:
        "results/benchmarks/check_theorems.tsv"
    resources:
        **needs(memory=(900, 0), minutes=(5, 0)),


rule theory:
    """Make the tables and pictures of the theorems, in results/theory."""
    input:
        expand(
            "results/theory/{picture}.svg",
            picture=["expected_scores", "partition_bound", "support_recovery"],
        ),
