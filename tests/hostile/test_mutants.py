"""Spoilt files of every kind are read or refused with a message, and do no harm.

Each mutant is read in a child process whose memory and time are bounded and whose acts are
watched. The reader returns what passes the checks of `kinds`, or raises a documented error whose
message is one line and names the file; it starts no program, loads no pickle, and writes nowhere.
"""

import os

import pytest
from campaign import run_campaign
from kinds import KINDS

N_QUICK = 210
N_THOROUGH = 10_000
# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def assert_harmless(findings, n_mutants):
    assert not findings.faults, "\n\n".join(findings.faults[:20])
    assert findings.n_mutants == n_mutants
    assert len(findings.kinds) == len(KINDS)
    # Mutants that are all refused, or never, would prove little; so would limits that do the work.
    assert 0.2 * n_mutants < findings.n_refused < 0.98 * n_mutants
    assert findings.n_limited < 0.02 * n_mutants


@pytest.mark.xdist_group("hostile")
def test_some_hundred_mutants_do_no_harm(sound, tmp_path):
    assert_harmless(run_campaign(sound, tmp_path, 0, N_QUICK), N_QUICK)


@pytest.mark.survival
def test_ten_thousand_mutants_do_no_harm(sound, tmp_path):
    n_mutants = int(os.environ.get("SPARSEKM_MUTANTS", N_THOROUGH))
    assert_harmless(run_campaign(sound, tmp_path, 0, n_mutants), n_mutants)
