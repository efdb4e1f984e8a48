"""From a source of the atlas's files to the normalised expression of each age."""


rule retrieve_ontology:
    """Download the tree of structures and the table of genes; the manifest is written last."""
    output:
        manifest=f"{RAW}/manifest.csv",
    log:
        "logs/retrieve_ontology.log",
    localrule: IS_DOWNLOADED
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(800, 0), minutes=(10, 0)),
        downloads=int(IS_DOWNLOADED),
    params:
        code=code("retrieve_atlas", SOURCES[ATLAS["source"]][0]),
        source=ATLAS["source"],
        settings=source_settings(),
    script:
        "../../scripts/retrieve_atlas.py"


use rule retrieve_ontology as retrieve_atlas with:
    """Download listing, annotation and energy grids of an age; the manifest is written last."""
    output:
        manifest=f"{RAW}/{{age}}/manifest.csv",
    log:
        "logs/retrieve_atlas/{age}.log",
    benchmark:
        "results/benchmarks/retrieve_atlas/{age}.tsv"
    resources:
        **needs(memory=(1000, 0), minutes=(60, 0)),
        downloads=int(IS_DOWNLOADED),
    params:
        plane=ATLAS["plane"],
        max_not_fetched=IS_DOWNLOADED and ATLAS["allen"]["max_not_fetched"],


use rule retrieve_ontology as plan_retrieval with:
    """List the files and gigabytes to download, without downloading a grid (make plan-allen)."""
    output:
        plan=f"{RAW}/plan.csv",
    log:
        "logs/plan_retrieval.log",
    resources:
        **needs(memory=(1000, 0), minutes=(30, 0)),
        downloads=int(IS_DOWNLOADED),
    params:
        ages=ATLAS["ages"],
        plane=ATLAS["plane"],


rule assemble_expression:
    """Assemble the files of an age into a voxel x gene matrix with the regions of its voxels."""
    input:
        manifest=f"{RAW}/{{age}}/manifest.csv",
        tables=f"{RAW}/manifest.csv",
    output:
        expression="data/{age}/expression.h5ad",
    log:
        "logs/assemble_expression/{age}.log",
    benchmark:
        "results/benchmarks/assemble_expression/{age}.tsv"
    group:
        of_small("sparsekm_data")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        mem_mb=assembly_memory,
        runtime=growing(60, 0),
    params:
        code=code_and_versions("assemble_expression"),
        source=ATLAS["source"],
        simulated=ATLAS["source"] == "phantom",
        settings={
            name: ATLAS[name] for name in ("level", "tissue", "plane", "replicates")
        },
    script:
        "../../scripts/assemble_expression.py"


rule find_common_genes:
    """Find the genes that pass quality control at every age."""
    input:
        expressions=expand("data/{age}/expression.h5ad", age=ATLAS["ages"]),
    output:
        genes="data/raw/common_genes.csv",
    log:
        "logs/find_common_genes.log",
    group:
        of_small("sparsekm_data")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 2), minutes=(20, 0)),
    params:
        code=code_and_versions("find_common_genes"),
        ages=ATLAS["ages"],
        quality_control=ATLAS["quality_control"],
    script:
        "../../scripts/find_common_genes.py"


rule normalise_expression:
    """Drop genes and voxels with many missing values, fill the rest, and standardise an age."""
    input:
        expression="data/{age}/expression.h5ad",
        common_genes=common_genes,
    output:
        normalised="data/{age}/normalised.h5ad",
    log:
        "logs/normalise_expression/{age}.log",
    benchmark:
        "results/benchmarks/normalise_expression/{age}.tsv"
    group:
        of_small("sparsekm_data")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(900, 5), minutes=(20, 0)),
    params:
        code=code_and_versions("normalise_expression"),
        quality_control=ATLAS["quality_control"],
        normalisation=ATLAS["normalisation"],
    script:
        "../../scripts/normalise_expression.py"
