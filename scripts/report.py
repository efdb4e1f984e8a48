"""Write the report about every data set and method."""

from workflow_job import run


def main(snakemake, progress):
    """Gather the results data set by data set and write one page."""
    from sparsekm.reporting.report import write_report
    from sparsekm.reporting.results import load_dataset_result

    params, files = snakemake.params, snakemake.input
    per_method = {"fits": files.fits, "paths": files.paths, "scores": files.scores}
    results = []
    for number, (dataset, normalised) in enumerate(
        zip(params.datasets, files.normalised, strict=True)
    ):
        first = number * len(params.methods)
        found = {
            kind: dict(zip(params.methods, names[first:], strict=False))
            for kind, names in per_method.items()
        }
        first = number * len(params.tuned)
        gaps = dict(zip(params.tuned, files.gaps[first:], strict=False))
        results.append(
            load_dataset_result(dataset, normalised, gaps=gaps, genes=files.genes[number], **found)
        )
    write_report(
        results,
        snakemake.output.report,
        title=params.title,
        configuration=params.configuration,
        figures=snakemake.output.figures,
        progress=progress.counting("data sets"),
    )


run(main, snakemake)
