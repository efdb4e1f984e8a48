"""From all results to the report."""


rule report:
    """Write one self-contained page about everything that was found."""
    input:
        **simulation_results("simulation/preview"),
        **ages_compared(),
        normalised=expand("data/{dataset}/normalised.h5ad", dataset=DATASETS),
        fits=per_method("results/{dataset}/{method}/tuned.h5", config["methods"]),
        paths=per_method("results/{dataset}/{method}/path.h5", config["methods"]),
        scores=per_method("results/{dataset}/{method}/scores.csv", config["methods"]),
        genes=expand("results/{dataset}/genes.csv", dataset=DATASETS),
        enrichment=enrichment_files(),
        gene_sets=gene_sets(),
        contingency=expand("results/{dataset}/contingency.csv", dataset=DATASETS),
        evidence=per_method("results/{dataset}/{method}/evidence.csv", ASKED),
        gaps=per_method("results/{dataset}/{method}/gap.csv", TUNED_BY_GAP),
        paper=ancient(paper_tables()),
    output:
        report=report(
            "results/report.html",
            caption="../report/report.rst",
            category="Report",
            labels={"data set": "all", "table": "the page"},
        ),
        figures=directory("results/figures"),
    log:
        "logs/report.log",
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 1),
        runtime=minutes(20),
    params:
        title=config["report"]["title"],
        datasets=DATASETS,
        methods=config["methods"],
        tuned=TUNED_BY_GAP,
        genes_of_interest=ANNOTATION["genes_of_interest"],
        configuration=config,
        paper=[file_digest(table) for table in paper_tables()],
        code=lambda wildcards: code("report"),
    script:
        "../../scripts/report.py"
