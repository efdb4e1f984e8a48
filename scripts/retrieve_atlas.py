"""Download and check files of the atlas (its tables or one age), or only plan the downloads."""

import sys
from pathlib import Path

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas import open_source, retrieval
    from sparsekm.io.atomic import write_table

    params, settings = snakemake.params, dict(snakemake.params.settings)
    if params.source == "allen":
        # No file depends on the contact. As a parameter it would rerun the rule when it changes.
        settings["contact"] = snakemake.config["atlas"]["allen"]["contact"]
    source, folder = open_source(params.source, **settings), Path(snakemake.output[0]).parent
    if snakemake.output.get("plan"):
        plan = retrieval.plan_retrieval(source, params.ages, folder, plane=params.plane)
        write_table(plan, snakemake.output.plan)
        print(plan.to_string(index=False), file=sys.stderr)
    elif age := snakemake.wildcards.get("age"):
        limits = {"plane": params.plane, "max_not_fetched": params.max_not_fetched}
        count = progress.counting("grids")
        retrieval.retrieve_age(source, age, folder, **limits, progress=count)
    else:
        retrieval.retrieve_tables(source, folder)
