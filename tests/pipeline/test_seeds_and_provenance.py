"""Seeds, versions and digests of files."""

import subprocess
import sys

from sparsekm.pipeline.provenance import file_digest
from sparsekm.pipeline.seeds import derive_seed


def test_seeds_differ_with_root_and_names_and_with_nothing_else():
    seeds = [
        derive_seed(1, "a"),
        derive_seed(2, "a"),
        derive_seed(1, "b"),
        derive_seed(1, "a", 0),
        derive_seed(1, "a", 1),
        derive_seed(1, "a", "1"),
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= value < 2**31 for value in seeds)


def test_seeds_are_the_same_in_another_process():
    code = "from sparsekm.pipeline.seeds import derive_seed; print(derive_seed(5, 'E11.5', 3))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) == derive_seed(5, "E11.5", 3)


def test_the_digest_of_a_file_is_its_sha256(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223")
