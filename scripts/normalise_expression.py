"""Bring the expression of an age to the form that every data set is clustered in."""

from workflow_job import run


def main(snakemake, progress):
    """Screen genes and voxels, transform, fill gaps, z-score, and write it with its provenance."""
    from sparsekm.atlas.expression_file import read_expression
    from sparsekm.atlas.normalisation import normalise_age
    from sparsekm.expression.normalised_file import write_normalised

    params = snakemake.params
    data = normalise_age(
        read_expression(snakemake.input.expression),
        **params.quality_control,
        **params.normalisation,
    )
    uns = dict(data.uns)
    provenance = uns.pop("provenance")
    write_normalised(
        snakemake.output.normalised,
        data.X,
        data.obs,
        data.var,
        provenance,
        obsm=data.obsm,
        uns=uns,
    )


run(main, snakemake)
