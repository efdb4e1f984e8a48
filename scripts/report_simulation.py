"""Write the page about the paper's experiments, and its figures as SVG and PDF."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from pathlib import Path

    from sparsekm.io.atomic import write_bytes, write_text
    from sparsekm.reporting import simulation_page

    report = Path(snakemake.output.report)
    result = simulation_page.load_simulation_result(**dict(snakemake.input.items()))
    view, drawn = simulation_page.view_simulation(result), {}
    for figure in view["figures"]:
        drawn |= figure.files(report.with_name("figures"))
    for file in map(Path, snakemake.output.figures):
        write_bytes(drawn[file], file)
    write_text(simulation_page.render_simulation_page(view), report)
