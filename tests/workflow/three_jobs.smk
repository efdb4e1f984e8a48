rule all:
    input:
        "told.txt",
        "stopped.txt",
        "killed.txt",


rule tell:
    output:
        "told.txt",
    log:
        "logs/tell.log",
    benchmark:
        "told.tsv"
    params:
        word="as it is",
    script:
        "tell.py"


rule stop:
    output:
        "stopped.txt",
    script:
        "stop.py"


rule kill:
    output:
        "killed.txt",
    script:
        "kill.py"
