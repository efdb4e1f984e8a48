"""From the user's matrices to normalised data sets."""


rule simulate_matrix:
    """Simulate a matrix of one of the paper's experiments."""
    output:
        matrix="data/raw/{dataset}/matrix.npz",
    log:
        "logs/simulate_matrix/{dataset}.log",
    wildcard_constraints:
        dataset=any_of(name for name in MATRICES if "draw" in MATRICES[name]),
    group:
        of_small("sparsekm_data")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        **needs(memory=(800, 0), minutes=(5, 0)),
    params:
        code=code_and_versions("simulate_matrix"),
        experiment=lambda wildcards: MATRICES[wildcards.dataset]["draw"]["experiment"],
        setting=lambda wildcards: {
            key: value
            for key, value in MATRICES[wildcards.dataset]["draw"].items()
            if key != "experiment"
        },
        seed=config["seed"],
    script:
        "../../scripts/simulate_matrix.py"


rule normalise_matrix:
    """Read and check a matrix, and normalise its features."""
    input:
        matrix=matrix_file,
    output:
        normalised="data/{dataset}/normalised.h5ad",
    log:
        "logs/normalise_matrix/{dataset}.log",
    benchmark:
        "results/benchmarks/normalise_matrix/{dataset}.tsv"
    wildcard_constraints:
        dataset=any_of(MATRICES),
    group:
        of_small("sparsekm_data")
    conda:
        "../../envs/sparsekm.yaml"
    resources:
        mem_mb=reading_memory,
        # It may be written in blocks, and be larger than the memory of this job.
        disk_mb=lambda wildcards: int(4 * expected_megabytes(wildcards.dataset)) + 1000,
        runtime=growing(5, 0.02),
    params:
        code=code_and_versions("normalise_matrix"),
        settings=lambda wildcards: table_settings(wildcards.dataset),
        content=lambda wildcards: content(
            *(
                MATRICES[wildcards.dataset].get(key)
                for key in ("path", "feature_groups")
            )
        ),
        simulated=lambda wildcards: "draw" in MATRICES[wildcards.dataset],
    script:
        "../../scripts/normalise_matrix.py"
