"""How gently the servers are asked: pace, number at once, pauses."""

import errno
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from sparsekm.io import file_lock
from sparsekm.network.errors import UnavailableError
from sparsekm.network.gate import LONGEST_PAUSE, RequestGate
from sparsekm.network.retry import RetryPolicy
from sparsekm.network.transport import TransientError, parse_retry_after


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, now=1_000.0):
        self.now = now
        self.slept = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def fake():
    return FakeTime()


@pytest.fixture
def make_gate(fake, tmp_path):
    def build(**limits):
        return RequestGate(tmp_path / "gate", clock=fake.clock, sleep=fake.sleep, **limits)

    return build


def departures(gate, fake, n):
    times = []
    for _ in range(n):
        with gate.passing():
            times.append(fake.now)
    return times


def test_two_requests_start_in_a_second_and_no_burst_comes_first(make_gate, fake):
    times = departures(make_gate(), fake, 7)
    assert times == pytest.approx([1000 + 0.5 * i for i in range(7)])


def test_a_slow_server_is_not_caught_up_with(make_gate, fake):
    gate = make_gate(per_second=2)
    with gate.passing():
        fake.now += 10
    assert departures(gate, fake, 2) == pytest.approx([1010, 1010.5])


def test_gates_on_the_same_folder_share_the_pace(make_gate, fake):
    gates = [make_gate(per_second=4), make_gate(per_second=4)]
    times = [departures(gates[i % 2], fake, 1)[0] for i in range(5)]
    assert times == pytest.approx([1000 + 0.25 * i for i in range(5)])


def most_at_once(gates):
    """Pass each of the gates from six threads, and count how many were inside together."""
    inside, most, guard = [0], [0], threading.Lock()

    def work(gate):
        with gate.passing():
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            threading.Event().wait(0.01)
            with guard:
                inside[0] -= 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, gates))
    return most[0]


def test_a_request_under_way_takes_a_place_until_it_ends(tmp_path):
    gates = [RequestGate(tmp_path, per_second=1e6, at_once=2) for _ in range(2)]
    assert most_at_once(gates * 6) == 2


def test_without_locks_on_files_the_limits_hold_within_a_process(tmp_path, monkeypatch):
    def flock(opened, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(file_lock.fcntl, "flock", flock)
    gate = RequestGate(tmp_path, per_second=1e6, at_once=2)
    assert most_at_once([gate] * 12) == 2


def test_a_killed_process_lets_go_of_its_place(tmp_path):
    code = (
        "from sparsekm.network.gate import RequestGate\n"
        f"gate = RequestGate({str(tmp_path)!r}, per_second=1e6, at_once=1)\n"
        "with gate.passing():\n print('in', flush=True)\n import time; time.sleep(60)\n"
    )
    held = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with held:
        assert held.stdout.readline() == "in\n"
        tries = []

        def give_up(seconds):
            tries.append(seconds)
            if len(tries) == 3:
                held.kill()
                held.wait()

        with RequestGate(tmp_path, per_second=1e6, at_once=1, sleep=give_up).passing():
            assert len(tries) == 3


def test_a_pause_that_a_server_asks_for_holds_everybody_up(make_gate, fake):
    gates = [make_gate(), make_gate()]
    gates[0].postpone(7)
    assert departures(gates[1], fake, 1) == pytest.approx([1007])
    gates[0].postpone(1e9)
    assert departures(gates[1], fake, 1) == pytest.approx([1007 + LONGEST_PAUSE])


@pytest.mark.parametrize("stored", ["1e15", "nan", "", "soon"])
def test_a_departure_that_cannot_be_meant_is_not_waited_for(make_gate, fake, tmp_path, stored):
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "next-departure").write_text(stored)
    assert departures(make_gate(), fake, 1) == [1000]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"per_second": 0}, "requests_per_second=0 should be > 0"),
        ({"per_second": float("nan")}, "requests_per_second=nan should be > 0"),
        ({"at_once": 0}, "requests_at_once=0 should be >= 1"),
    ],
)
def test_limits_out_of_bounds_are_refused(make_gate, limits, message):
    with pytest.raises(ValueError, match=message):
        make_gate(**limits)


def fail(*errors):
    """Give an attempt that fails with these errors, then returns how often it was tried."""
    left = list(errors)

    def attempt():
        if left:
            raise left.pop(0)
        return len(errors) + 1

    return attempt


def test_pauses_double_with_jitter_in_their_upper_half_up_to_the_longest(fake):
    policy = RetryPolicy(tries=8, first_wait=1, longest_wait=20, sleep=fake.sleep)
    assert policy.call(fail(*[TransientError("no")] * 7), "url") == 8
    for pause, longest in zip(fake.slept, [1, 2, 4, 8, 16, 20, 20], strict=True):
        assert longest / 2 <= pause <= longest
    assert len(set(fake.slept)) == 7


def test_clients_that_failed_together_do_not_come_back_together():
    pauses = set()
    for seed in range(5):
        slept = []
        policy = RetryPolicy(sleep=slept.append, jitter=random.Random(seed))
        policy.call(fail(TransientError("no")), "url")
        pauses.add(slept[0])
    assert len(pauses) == 5


def test_retry_after_is_the_least_pause(fake):
    policy = RetryPolicy(sleep=fake.sleep)
    policy.call(fail(TransientError("busy", 40.0), TransientError("busy", 0.1)), "url")
    assert fake.slept[0] == 40
    assert 1 <= fake.slept[1] <= 2


def test_after_the_last_try_the_error_names_address_and_reason(fake):
    with pytest.raises(UnavailableError, match=r"url/x: failed after 3 attempts \(busy\)"):
        RetryPolicy(tries=3, sleep=fake.sleep).call(fail(*[TransientError("busy")] * 9), "url/x")
    assert len(fake.slept) == 2


def test_a_pause_beyond_the_longest_is_not_waited_for(fake):
    with pytest.raises(UnavailableError, match="failed after 1 attempt"):
        RetryPolicy(sleep=fake.sleep).call(fail(TransientError("busy", 86_400.0)), "url")
    assert fake.slept == []


def test_other_errors_are_not_tried_again(fake):
    with pytest.raises(KeyError):
        RetryPolicy(sleep=fake.sleep).call(fail(KeyError("a bug")), "url")
    with pytest.raises(ValueError, match="tries=0 should be >= 1"):
        RetryPolicy(tries=0)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("soon", None),
        ("-3", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    now = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
    assert parse_retry_after(value, now) == seconds
