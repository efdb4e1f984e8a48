"""Repetitions that are kept: a run that was cut short ends in the same bits."""

import zipfile
from dataclasses import asdict

import numpy as np
import pytest

from sparsekm.studies.paper import repetition
from sparsekm.studies.paper.plan import METHOD_ROWS, get_setting
from sparsekm.studies.paper.repetition import Effort, RepetitionStore, draw_data, run_repetition

SETTING, ROW = get_setting("experiment_3", "p25"), METHOD_ROWS["l0_carried"]
EFFORT = Effort(n_init=1, n_sparsities=3, n_references=2)


def run(store, replicates=3, progress=lambda done, total: None):
    found = repetition.run_repetitions(
        SETTING, ROW, EFFORT, root=1, replicates=replicates, store=store, progress=progress
    )
    data = draw_data(SETTING, root=1, replicate=0, standardise=True)
    return [
        repetition.repetition_table(SETTING, ROW, found).to_csv(index=False),
        repetition.gap_table(SETTING, ROW, found).to_csv(index=False),
        repetition.weight_table(SETTING, ROW, data, found).to_csv(index=False),
    ]


@pytest.fixture
def counted(monkeypatch):
    computed = []

    def count(setting, row, effort, *, root, replicate):
        computed.append(replicate)
        return run_repetition(setting, row, effort, root=root, replicate=replicate)

    monkeypatch.setattr(repetition, "run_repetition", count)
    return computed


def test_a_run_cut_short_goes_on_and_ends_in_the_same_bits(tmp_path, counted):
    whole = run(RepetitionStore(tmp_path / "whole", "d"))

    def cut(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(RepetitionStore(tmp_path / "cut", "d"), progress=cut)
    counted.clear()
    assert run(RepetitionStore(tmp_path / "cut", "d")) == whole
    assert counted == [1, 2]


def test_more_repetitions_extend_fewer(tmp_path, counted):
    few = run(RepetitionStore(tmp_path, "d"), replicates=1)[0]
    counted.clear()
    more = run(RepetitionStore(tmp_path, "d"))[0]
    assert counted == [1, 2]
    assert more.startswith(few)


def test_a_damaged_file_counts_as_absent(tmp_path, counted):
    whole = run(RepetitionStore(tmp_path, "d"), replicates=2)
    (tmp_path / "0.npz").write_bytes((tmp_path / "0.npz").read_bytes()[:200])
    (tmp_path / "1.npz").write_bytes(b"")
    counted.clear()
    assert run(RepetitionStore(tmp_path, "d"), replicates=2) == whole
    assert counted == [0, 1]
    with zipfile.ZipFile(tmp_path / "0.npz", "w") as archive:
        for name in ("metrics", "weights", "gap"):
            archive.writestr(f"{name}.npy", b"no array")
        with archive.open("digest.npy", "w") as member:
            np.lib.format.write_array(member, np.array("d"))
    assert RepetitionStore(tmp_path, "d").load(0) is None


def test_the_digest_changes_with_every_parameter():
    base = {"seed": 1, "row": asdict(ROW), "effort": {"n_init": 1}}
    others = [
        {**base, "seed": 2},
        {**base, "row": asdict(METHOD_ROWS["l0_lloyd"])},
        {**base, "effort": {"n_init": 2}},
    ]
    digests = {RepetitionStore("s", parameters).digest for parameters in [base, *others]}
    assert len(digests) == 4
    assert RepetitionStore("s", dict(reversed(base.items()))).digest in digests
