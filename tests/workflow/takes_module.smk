configfile: "settings.yaml"


module sparsekm:
    snakefile:
        "ROOT/workflow/Snakefile"
    config:
        config["sparsekm"]


use rule * from sparsekm as sparsekm_*


rule all:
    default_target: True
    input:
        rules.sparsekm_all.input,
        "lines.txt",


rule count_lines:
    input:
        "results/small/kmeans/scores.csv",
    output:
        "lines.txt",
    shell:
        "wc -l < {input} > {output}"
