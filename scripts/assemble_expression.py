"""Assemble the files of an age into a voxel x gene matrix of raw energies.

The files come from a server, so a child process with limits reads them.
"""

from pathlib import Path

from workflow_job import job


def assemble(snakemake, folder, progress):
    """Read the grids, name every voxel's region, and write raw energies with what was planted."""
    from sparsekm.atlas.assembly import assemble_age, read_tables
    from sparsekm.atlas.expression_file import add_truth, describe_expression
    from sparsekm.atlas.gene_metadata import add_genes
    from sparsekm.atlas.retrieval import TRUTH_FILE
    from sparsekm.io.atomic_hdf5 import write_anndata

    params, age = snakemake.params, snakemake.wildcards.age
    ontology, genes = read_tables(Path(snakemake.input.tables).parent)
    matrix = assemble_age(
        folder,
        ontology,
        age,
        **params.settings,
        progress=progress.counting("genes"),
    )
    data = describe_expression(
        matrix,
        age,
        source=params.source,
        simulated=params.simulated,
        settings=params.settings,
    )
    data.var = add_genes(data.var, genes)
    # Only a simulated source has a planted truth.
    add_truth(data, folder / TRUTH_FILE)
    write_anndata(snakemake.output.expression, data)


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.bounded_child import Allowance, run_bounded

    folder = Path(snakemake.input.manifest).parent

    def measure():
        from sparsekm.atlas.assembly import measure_age

        return Allowance(measure_age(folder, snakemake.wildcards.age))

    run_bounded(folder, lambda: assemble(snakemake, folder, progress), measure)
