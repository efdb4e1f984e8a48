configfile: "settings.yaml"


module ours:
    snakefile:
        "ROOT/workflow/Snakefile"
    config:
        config["ours"]
    prefix:
        "ours"


module theirs:
    snakefile:
        "ROOT/workflow/Snakefile"
    config:
        config["theirs"]
    prefix:
        "elsewhere/theirs"


use rule * from ours as ours_*


use rule * from theirs as theirs_*


rule all:
    default_target: True
    input:
        rules.ours_all.input,
        rules.theirs_all.input,
