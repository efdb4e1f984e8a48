"""A signal to the command stops all that it started, and the status says which signal it was."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from sparsekm.command.signals import Stopped, run_group, stoppable

# Starts a program that starts another, as Snakemake starts jobs; both print their numbers.
COMMAND = """
import sys
from types import SimpleNamespace
from sparsekm.command import main as command
from sparsekm.command.signals import run_group

def run(options):
    run_group([sys.executable, "-c", {parent!r}])

sys.modules["sparsekm.command.run"] = SimpleNamespace(run_table=run)
sys.exit(command.main(["run", "t.csv"]))
"""
CHILD = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
# Like Snakemake's, its end waits for the end of the child.
PARENT = f"""
import os, subprocess, sys
print(os.getpid(), flush=True)
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}])
try:
    child.wait()
except KeyboardInterrupt:
    child.wait()
"""
STUBBORN = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{PARENT}"


def obey_signals():
    # The tests themselves may have been started in the background, or with nohup.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(parent=PARENT, **options):
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND.format(parent=parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **{"preexec_fn": obey_signals, **options},
    )
    return command, [psutil.Process(int(command.stdout.readline())) for _ in range(2)]


def assert_all_ended(command, started, number):
    """Assert that nothing is left, and that the status names the signal; give what was told."""
    _, told = command.communicate(timeout=60)
    assert command.returncode == 128 + number
    assert psutil.wait_procs(started, timeout=10)[1] == []
    return told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_the_command_started_ends_and_the_status_says_why(number):
    command, started = start()
    command.send_signal(number)
    told = assert_all_ended(command, started, number)
    assert f"sparsekm: stopped by {number.name}; run the same command to continue." in told


def test_in_the_background_of_a_script_where_interrupts_are_ignored_it_is_the_same():
    command, started = start(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    command.send_signal(signal.SIGINT)
    assert all(process.is_running() for process in started)
    command.send_signal(signal.SIGTERM)
    assert_all_ended(command, started, signal.SIGTERM)


def test_a_signal_while_something_is_being_started_leaves_nothing_behind(monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(psutil.Process(self.pid))
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with stoppable(), pytest.raises(Stopped) as told:
        run_group([sys.executable, "-c", "import time; time.sleep(60)"])
    assert told.value.signal == signal.SIGTERM
    assert not started[0].is_running()


def test_a_second_signal_ends_what_the_first_did_not():
    command, started = start(STUBBORN)
    command.send_signal(signal.SIGTERM)
    while command.poll() is None and started[0].is_running():
        command.send_signal(signal.SIGTERM)
        psutil.wait_procs(started, timeout=0.1)
    assert_all_ended(command, started, signal.SIGTERM)
