"""Spoilt files of every kind are read or refused, in a bounded process that is watched for harm."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from configuration_reader import read_configuration
from guard import watched
from sound_files import AGE

from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.atlas.grid import parse_header, read_annotation, read_energy
from sparsekm.atlas.listing import parse_genes, parse_listing, parse_ontology, read_rows
from sparsekm.io.input_error import InputError
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.tables import GAP
from sparsekm.pipeline.bounded_process import LimitError, Limits, run_bounded

pytestmark = [
    pytest.mark.xdist_group("hostile"),
    # Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
MATRICES = ("csv", "tsv", "csv.gz", "npz", "h5")
READERS = {
    "energy.zip": lambda file: read_energy(file.read_bytes(), str(file)),
    "annotation.zip": lambda file: read_annotation(file.read_bytes(), str(file)),
    "header.mhd": lambda file: parse_header(file.read_bytes(), str(file)),
    "raw/ontology.json": lambda file: parse_ontology(*read_rows(file)),
    f"raw/{AGE}/listing.json": lambda file: parse_listing(*read_rows(file)),
    "raw/genes.json": lambda file: parse_genes(*read_rows(file)),
    **{f"matrix.{form}": read_matrix for form in MATRICES},
    "packed.npz": read_matrix,
    "dense.h5ad": lambda file: read_matrix(file, "kind"),
    "sparse.h5ad": read_matrix,
    "normalised.h5ad": read_normalised,
    "sets.gmt": read_gene_sets,
    "sets.gmt.gz": read_gene_sets,
    "gap.csv": GAP.read,
    "config.yaml": read_configuration,
}
# Mutants are small, and libraries are loaded already: less than the limits of jobs.
LIMITS = Limits(memory=2**30, seconds=10, written=2**26)
WORDS = [b"\0", b'"', b"\r", b"nan", b"-1", b"1e999", b"../../x", b"\xff\xfe"]
WORDS += [b"9" * 400, b"[" * 99]


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, repeat, overwrite or add to a piece of a file; of a packed text, also inside."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        return gzip.compress(mutate(gzip.decompress(content), rng))
    first, last = sorted(rng.integers(len(content) + 1, size=2))
    last = min(last, first + 200)
    piece, head, tail = content[first:last], content[:first], content[last:]
    word = WORDS[rng.integers(len(WORDS))]
    noise = rng.integers(256, size=len(piece), dtype=np.uint8).tobytes()
    made = (head, head + tail, head + 3 * piece + tail, head + noise + tail, head + word + tail)
    return made[rng.integers(len(made))]


def read_mutants(sound, folder, n_mutants):
    """Read mutants of every kind; return how many were refused, and ended by a limit."""
    n_refused = n_limited = 0
    for name, read in READERS.items():
        content = (sound / name).read_bytes()
        file = folder / Path(name).name
        file.write_bytes(content)
        read(file)
        for number in range(n_mutants):
            file.write_bytes(mutate(content, np.random.default_rng([number, len(content)])))

            def work(read=read, file=file):
                with watched(folder):
                    try:
                        read(file)
                    except (InputError, FileNotFoundError) as error:
                        return str(error)

            try:
                message = run_bounded(file, work, LIMITS)
            except LimitError:
                n_limited += 1
                continue
            except InputError as error:
                raise AssertionError(f"{name}, mutant {number}: {error}") from error
            n_refused += message is not None
            assert message is None or "\n" not in message, (name, number, message)
            assert message is None or file.name in message, (name, number, message)
    return n_refused, n_limited


@pytest.mark.parametrize(
    "n_mutants",
    [4, pytest.param(int(os.environ.get("SPARSEKM_MUTANTS", 200)), marks=pytest.mark.survival)],
)
def test_mutants_are_read_or_refused_in_a_line_that_names_the_file(sound, tmp_path, n_mutants):
    n_refused, n_limited = read_mutants(sound, tmp_path, n_mutants)
    n_all = n_mutants * len(READERS)
    # Mutants that are all refused, or never, would prove little; so would limits that do the work.
    assert 0.2 * n_all < n_refused < 0.98 * n_all
    assert n_limited < 0.05 * n_all


@pytest.mark.parametrize("offence", ["__import__('os').system('true')", "open('/dev/shm/x', 'w')"])
def test_harm_is_seen(tmp_path, offence):
    def work():
        with watched(tmp_path):
            eval(offence)

    with pytest.raises(InputError, match="did what no reader may"):
        run_bounded("m.csv", work, LIMITS)
