#!/bin/sh
# Prints what has become of a Slurm job: running (or still to run), success or failed.
# Usage: job_state.sh NUMBER

if answer=$(scontrol --oneliner show job "$1" 2>&1); then
    state=${answer#*JobState=}
else
    case $answer in
    # Slurm forgets a job some minutes (MinJobAge) after its end; its accounts may remember.
    *"Invalid job id"*)
        state=$(sacct --noheader --parsable2 --allocations --jobs="$1" --format=State 2>/dev/null)
        ;;
    # A controller that is busy, or is being restarted, is asked again the next time.
    *) state=RUNNING ;;
    esac
fi

case ${state%% *} in
COMPLETED) echo success ;;
PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED | STOPPED | SIGNALING | STAGE_OUT | \
    REQUEUED | REQUEUE_HOLD | REQUEUE_FED | RESV_DEL_HOLD | SPECIAL_EXIT | RESIZING | REVOKED)
    echo running
    ;;
# BOOT_FAIL, CANCELLED, DEADLINE, FAILED, NODE_FAIL, OUT_OF_MEMORY, PREEMPTED, TIMEOUT; and a job
# that nothing is known of: better run again than waited for.
*) echo failed ;;
esac
