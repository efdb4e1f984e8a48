"""Sparse k-means over the ages of a brain atlas and over matrices, to results/report.html.

Run `make results`, or `snakemake --cores all` inside the environment. What is run stands in
config.yaml; the rules stand in workflow/rules, what they do in src/sparsekm.
"""

from snakemake.utils import min_version

min_version("9.10")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/atlas.smk"
include: "workflow/rules/matrices.smk"
include: "workflow/rules/cluster.smk"
include: "workflow/rules/stability.smk"
include: "workflow/rules/genes.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/simulation.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/tuning_study.smk"
include: "workflow/rules/yardstick.smk"
include: "workflow/rules/report.smk"


rule all:
    """Make the report, and with it everything that it tells about."""
    default_target: True
    input:
        targets(),
