rule all:
    input:
        "told.txt", "stopped.txt", "killed.txt"

rule tell:
    output: "told.txt"
    params: word="as it is"
    log: "logs/tell.log"
    benchmark: "told.tsv"
    script: "tell.py"

rule stop:
    output: "stopped.txt"
    script: "stop.py"

rule kill:
    output: "killed.txt"
    script: "kill.py"
