"""Assemble the files of an age into a voxel x gene matrix of raw energies."""

from pathlib import Path

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.expression import add_truth, assemble_age, read_tables
    from sparsekm.atlas.listing import add_genes
    from sparsekm.atlas.retrieval import TRUTH_FILE
    from sparsekm.io.hdf5_format import write_anndata

    params, files, age = snakemake.params, snakemake.input, snakemake.wildcards.age
    folder = Path(files.manifest).parent
    origin = {"source": params.source, "simulated": params.simulated}
    ontology, genes = read_tables(Path(files.tables).parent)
    data = assemble_age(folder, ontology, age, **params.settings, origin=origin)
    data.var = add_genes(data.var, genes)
    # Only simulated sources have a planted truth.
    add_truth(data, folder / TRUTH_FILE)
    write_anndata(snakemake.output.expression, data)
