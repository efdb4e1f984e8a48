"""Screen, transform, fill and standardise the expression of an age, and write its provenance."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.expression import normalise_age, read_common_genes, read_expression
    from sparsekm.io.normalised_file import write_normalised

    params, files = snakemake.params, snakemake.input
    data = normalise_age(
        read_expression(files.expression),
        **params.quality_control,
        **params.normalisation,
        genes=read_common_genes(files.common_genes) if files.common_genes else None,
    )
    uns = dict(data.uns)
    parts = data.X, data.obs, data.var, uns.pop("provenance")
    write_normalised(snakemake.output.normalised, *parts, obsm=data.obsm, uns=uns)
