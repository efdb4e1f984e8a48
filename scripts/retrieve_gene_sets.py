"""Download a file of gene sets, and store it if it can be read completely."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_set_download import fetch_gene_sets
    from sparsekm.network.retry import RetryPolicy

    # Not parameters of the rule, since the settings of requests do not affect the file.
    http = snakemake.config["atlas"]["allen"]["http"]
    names = ("cache", "requests_per_second", "contact")
    timeouts = {name: value for name, value in http.items() if name.endswith("_timeout")}
    fetch_gene_sets(
        snakemake.params.url,
        snakemake.output[0],
        snakemake.params.kind,
        policy=RetryPolicy(tries=http["tries"]),
        **{name: http[name] for name in names},
        **timeouts,
    )
