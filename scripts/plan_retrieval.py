"""Say what a download would take, without downloading a grid."""

import sys

from atlas_source import open_atlas
from workflow_job import run


def main(snakemake, progress):
    """Ask for listings and annotations, and tabulate the grids that are still to be fetched."""
    from sparsekm.atlas.allen.plan import describe_plan, plan_retrieval
    from sparsekm.io.atomic import write_table

    source, params = open_atlas(snakemake), snakemake.params
    plan = plan_retrieval(source, params.ages, plane=params.plane)
    write_table(plan, snakemake.output.plan)
    print(describe_plan(plan), file=sys.stderr)


run(main, snakemake)
