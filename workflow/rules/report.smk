"""From all results to the report."""

# Processes that share the data sets; Slurm counts the memory of each.
N_DRAWING = max(1, min(4, len(DATASETS)))


# In no group: whenever a job is finished, Snakemake compares the group of a job that needs it with the
# group of each of that job's inputs, of which there may be thousands.
rule report:
    """Write one self-contained page with all results."""
    input:
        **ages_compared(),
        datasets=list_files(files_by_dataset()),
        gene_sets=gene_sets(),
        paper=ancient(paper_tables()),
    output:
        report=listed("results/report.html", "Report", "all", "the page"),
    log:
        "logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    conda:
        "../../envs/sparsekm.yaml"
    threads: N_DRAWING
    resources:
        **needs(
            memory=(700 + 500 * N_DRAWING, 0.5),
            minutes=(5 + 0.1 * len(DATASETS), 0.005),
        ),
    params:
        code=code("report"),
        # This is not an output, because the figures depend on the results, and your own files may
        # be there.
        figures=lambda wildcards, output: str(Path(output.report).with_name("figures")),
        title=as_is(config["report"]["title"]),
        datasets=lambda wildcards, input: name_files(
            files_by_dataset(), iter(input.datasets)
        ),
        genes_of_interest=as_is(ANNOTATION["genes_of_interest"]),
        # Settings of the machine and of the studies are left out, because nothing on the page
        # depends on them.
        configuration={
            key: value
            for key, value in set_by_user(config).items()
            if key not in ("max_memory_gb", "simulation", "theory", "yardstick")
        },
        content=lambda wildcards: content(*paper_tables()),
    script:
        "../../scripts/report.py"
