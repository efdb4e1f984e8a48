"""Annotation of the kept and the dropped genes: stability, gene sets, enrichment, ages, anatomy."""


rule gene_stability:
    """Count how often each feature is kept in half of the samples, at the tuned sparsity."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fit="results/{dataset}/{method}/tuned.h5",
    output:
        stability="results/{dataset}/{method}/stability.csv",
    log:
        "logs/gene_stability/{dataset}/{method}.log",
    benchmark:
        "results/benchmarks/gene_stability/{dataset}/{method}.tsv"
    wildcard_constraints:
        method=any_of(SELECTING),
    group:
        of_small("sparsekm_genes")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 6), minutes=(3, 0.015), tunes=True),
    params:
        code=code_and_versions("gene_stability"),
        problem=open_problem,
        subsamples=ANNOTATION["subsamples"],
    script:
        "../../scripts/gene_stability.py"


rule draw_gene_sets:
    """Write the invented terms of the phantom's genes."""
    output:
        sets="data/raw/phantom/gene_sets.gmt",
    log:
        "logs/draw_gene_sets.log",
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(800, 0), minutes=(5, 0)),
    params:
        code=code("collect_gene_sets"),
        phantom={name: ATLAS[name] for name in ("size", "seed")},
    script:
        "../../scripts/collect_gene_sets.py"


use rule draw_gene_sets as collect_gene_sets with:
    """Copy or download the user's file of gene sets, if the whole file is valid."""
    input:
        file=[] if SETS_ADDRESS or not OWN_SETS else local(OWN_SETS),
    output:
        sets=COLLECTED_SETS,
    log:
        "logs/collect_gene_sets.log",
    # A download runs locally, because cluster nodes often have no network access.
    localrule: bool(SETS_ADDRESS)
    resources:
        **needs(memory=(1300, 20), minutes=(60, 0)),
        downloads=int(bool(SETS_ADDRESS)),
    params:
        phantom=None,
        url=SETS_ADDRESS and SHOWN_SETS,
        identifier=IDENTIFIER,
        content=lambda wildcards: content(None if SETS_ADDRESS else OWN_SETS),


rule annotate_genes:
    """Tabulate every feature of a data set: its results under each method, and where it is high."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fits=expand("results/{{dataset}}/{method}/tuned.h5", method=config["methods"]),
        stability=expand("results/{{dataset}}/{method}/stability.csv", method=SELECTING),
        gene_sets=gene_sets(),
    output:
        genes=listed("results/{dataset}/genes.csv", "Genes", "{dataset}", "genes"),
    log:
        "logs/annotate_genes/{dataset}.log",
    group:
        of_small("sparsekm_genes")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(700, 0.5), minutes=(3, 0.002)),
    params:
        code=code("annotate_genes"),
        methods=config["methods"],
        selecting=SELECTING,
        identifier=IDENTIFIER,
        # The terms listed for each gene.
        terms={"most": 5, "largest": ANNOTATION["term_size"][1]},
    script:
        "../../scripts/annotate_genes.py"


rule enrich_genes:
    """Find terms that are over-represented among genes kept, dropped, or kept only by l1."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fits=expand("results/{{dataset}}/{method}/tuned.h5", method=SELECTING),
        gene_sets=gene_sets(),
    output:
        enrichment=listed(
            "results/{dataset}/enrichment.csv", "Genes", "{dataset}", "terms"
        ),
    log:
        "logs/enrich_genes/{dataset}.log",
    group:
        of_small("sparsekm_tables")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 4), minutes=(3, 0.015)),
    params:
        code=code_and_versions("enrich_genes"),
        seed=config["seed"],
        selecting=SELECTING,
        identifier=IDENTIFIER,
        term_size=ANNOTATION["term_size"],
    script:
        "../../scripts/enrich_genes.py"


rule match_clusters:
    """Count the samples of each cluster in each known class, for every method."""
    input:
        normalised="data/{dataset}/normalised.h5ad",
        fits=expand("results/{{dataset}}/{method}/tuned.h5", method=config["methods"]),
    output:
        contingency=listed(
            "results/{dataset}/contingency.csv", "Clusters", "{dataset}", "contingency"
        ),
    log:
        "logs/match_clusters/{dataset}.log",
    group:
        of_small("sparsekm_tables")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(700, 0.5), minutes=(3, 0.002)),
    params:
        code=code("match_clusters"),
        methods=config["methods"],
    script:
        "../../scripts/match_clusters.py"


rule compare_ages:
    """Compare which genes are kept at each age, and list those that enter and leave."""
    input:
        genes=expand("results/{age}/genes.csv", age=ATLAS["ages"]),
    output:
        kept=listed("results/genes/kept_by_age.csv", "Genes", "all ages", "kept by age"),
        changes=listed(
            "results/genes/changes.csv",
            "Genes",
            "all ages",
            "genes that enter and leave",
        ),
    log:
        "logs/compare_ages.log",
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 0), minutes=(5, 0)),
    params:
        code=code("compare_ages"),
        ages=ATLAS["ages"],
    script:
        "../../scripts/compare_ages.py"
