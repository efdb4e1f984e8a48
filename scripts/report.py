"""Write the report about all data sets and methods."""

from pathlib import Path

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from functools import partial

    from sparsekm.annotation.gene_sets import read_gene_sets
    from sparsekm.annotation.gene_table import CHANGES, read_ages
    from sparsekm.pipeline.workflow_files import replace_recorded
    from sparsekm.reporting.comparison_tables import read_paper_tables
    from sparsekm.reporting.gene_tables import view_ages
    from sparsekm.reporting.report import write_report
    from sparsekm.reporting.results import load_dataset_result

    params, files = snakemake.params, snakemake.input
    results = [load_dataset_result(name, **found) for name, found in params.datasets.items()]
    ages = None
    if files.get("kept_by_age"):
        simulated = any(result.is_simulated for result in results if result.is_atlas)
        kept, names = read_ages(files.kept_by_age)
        changes = CHANGES.read(files.changes)
        ages = partial(view_ages, kept, names, changes, simulated=simulated)
    write_report(
        results,
        snakemake.output.report,
        title=params.title,
        configuration=params.configuration,
        figures=params.figures,
        record=lambda drawn: replace_recorded(Path(snakemake.log[0]), params.figures, drawn),
        paper=read_paper_tables(*files.paper) if files.paper else None,
        genes_of_interest=params.genes_of_interest,
        ages=ages,
        gene_sets=read_gene_sets(files.gene_sets) if files.gene_sets else None,
        n_processes=snakemake.threads,
        progress=progress.counting("sections"),
    )
