"""From all results to the report."""


rule annotate_genes:
    """Tabulate every feature of a data set: its score, rank and weight under each method."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fits=expand("results/{{dataset}}/{method}/tuned.h5", method=config["methods"]),
    output:
        genes="results/{dataset}/genes.csv",
    log:
        "logs/annotate_genes/{dataset}.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 4),
        runtime=minutes(10),
    params:
        methods=config["methods"],
        code=lambda wildcards: code("annotate_genes"),
    script:
        "../../scripts/annotate_genes.py"


rule report:
    """Write one self-contained page about everything that was found."""
    input:
        normalised=expand("data/{dataset}/normalised.h5ad", dataset=DATASETS),
        fits=per_method("results/{dataset}/{method}/tuned.h5", config["methods"]),
        paths=per_method("results/{dataset}/{method}/path.h5", config["methods"]),
        scores=per_method("results/{dataset}/{method}/scores.csv", config["methods"]),
        genes=expand("results/{dataset}/genes.csv", dataset=DATASETS),
        gaps=per_method("results/{dataset}/{method}/gap.csv", TUNED),
    output:
        report="results/report.html",
        figures=directory("results/figures"),
    log:
        "logs/report.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(800, 4),
        runtime=minutes(20),
    params:
        title=config["report"]["title"],
        datasets=DATASETS,
        methods=config["methods"],
        tuned=TUNED,
        configuration=config,
        code=lambda wildcards: code("report"),
    script:
        "../../scripts/report.py"
