"""From all results to the report."""


def paper_tables():
    """Name the paper's tables about the atlas, where there is a real one to compare with."""
    if not (ATLAS["source"] == "allen" and ATLAS["ages"]):
        return []
    return [paper_file("atlas_statistics"), paper_file("atlas_scores")]


def files_by_dataset():
    """Name what the report reads of every data set, each file by what it is and whose."""

    def by_method(name, methods):
        return {method: f"results/{dataset}/{method}/{name}" for method in methods}

    files = {}
    for dataset in DATASETS:
        files[dataset] = {
            "normalised": f"data/{dataset}/normalised.h5ad",
            "fits": by_method("tuned.h5", config["methods"]),
            "paths": by_method("path.h5", TUNED + UNTUNED),
            "scores": by_method("scores.csv", config["methods"]),
            "gaps": by_method("gap.csv", TUNED_BY_GAP),
            "consensus": by_method("consensus.csv", RESAMPLED),
            "genes": f"results/{dataset}/genes.csv",
            "contingency": f"results/{dataset}/contingency.csv",
        }
        if has_enrichment():
            files[dataset]["enrichment"] = f"results/{dataset}/enrichment.csv"
        if n_clusters(dataset) == "auto":
            files[dataset]["counts"] = f"results/{dataset}/cluster_counts.csv"
        if EVIDENCE_METHOD:
            files[dataset][
                "evidence"
            ] = f"results/{dataset}/{EVIDENCE_METHOD[0]}/evidence.csv"
    return files


def list_files(named):
    """List the files of nested mappings."""
    if isinstance(named, dict):
        return [file for part in named.values() for file in list_files(part)]
    return [named]


rule report:
    """Write one self-contained page about everything that was found."""
    input:
        **simulation_results("simulation/preview"),
        **ages_compared(),
        datasets=list_files(files_by_dataset()),
        gene_sets=gene_sets(),
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
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        "../../envs/sparsekm.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, 0.5),
        runtime=minutes(20),
    params:
        title=config["report"]["title"],
        datasets=files_by_dataset(),
        genes_of_interest=ANNOTATION["genes_of_interest"],
        configuration=config,
        paper=[file_digest(table) for table in paper_tables()],
        code=lambda wildcards: code("report"),
    script:
        "../../scripts/report.py"
