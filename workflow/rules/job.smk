"""What all rules share that run a script."""


rule job:
    """Run a script of this project, with its packages; other rules inherit this one."""
    log:
        "logs/job.log",
    conda:
        "../../envs/sparsekm.yaml"
    script:
        "../../scripts/{params.script}.py"
