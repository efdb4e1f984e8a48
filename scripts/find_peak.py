"""Write the gap curve of the first stage of tuning, whose largest gap is where the second looks."""

from gap_of_paths import read_gap
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.tables import GAP
    from sparsekm.tuning.selection import select_sparsity

    _, gap, _ = read_gap(snakemake.input)
    GAP.write(snakemake.output.gap, gap, select_sparsity(gap, "max"))
