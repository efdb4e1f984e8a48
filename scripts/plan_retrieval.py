"""List the grids that are still to be downloaded, without downloading any."""

import sys
from pathlib import Path

from atlas_source import open_atlas
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.retrieval import describe_plan, plan_retrieval
    from sparsekm.io.atomic import write_table

    source, params = open_atlas(snakemake), snakemake.params
    folder = Path(snakemake.output.plan).parent
    plan = plan_retrieval(source, params.ages, folder, plane=params.plane)
    write_table(plan, snakemake.output.plan)
    print(describe_plan(plan), file=sys.stderr)
