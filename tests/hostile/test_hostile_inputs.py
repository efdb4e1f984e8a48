"""Known attacks are refused in a line or do nothing; none runs code, or writes elsewhere."""

import gzip
import io
import json
import pickle
import zipfile
from pathlib import Path

import anndata
import h5py
import numpy as np
import openpyxl
import pytest
from guard import watched

from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.atlas.listing import parse_genes, parse_listing, parse_ontology, read_rows
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.io.input_error import InputError
from sparsekm.io.readers.reader import measure_matrix, read_matrix
from sparsekm.pipeline.bounded_process import Limits, run_bounded
from sparsekm.studies.paper_runs import RepetitionStore

pytestmark = [
    pytest.mark.xdist_group("hostile"),
    # Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


# Libraries are loaded already: less than the limits of jobs.
LIMITS = Limits(memory=2**30, seconds=10, written=2**26)


class Payload:
    """Unpickled, this makes a file: whoever finds it knows that a pickle was loaded."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def tell(folder, read, file):
    """Read a file as the workflow's jobs do, watched, and give the message that refuses it."""
    trace = folder / "ran"
    message = ""

    def work():
        with watched(folder):
            read(file)

    try:
        run_bounded(file, work, LIMITS)
    except InputError as error:
        message = str(error).replace(f"{folder}/", "")
    assert not trace.exists()
    return message


def adopt(file):
    measure_matrix(file)
    return read_matrix(file)


def pack(*parts):
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as opened:
        for part, times in parts:
            for _ in range(times):
                opened.write(part)
    return stream.getvalue()


def claim(shape):
    header, stream = io.BytesIO(), io.BytesIO()
    head = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, head)
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    return stream.getvalue()


def repeat_in_a_sheet(text, n_rows, n_columns):
    """Give a workbook that stores a text once and refers to it in every cell."""
    book = openpyxl.Workbook()
    for _ in range(n_rows):
        book.active.append([text] * n_columns)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


MEGABYTE = b"A" * 10**6
REFUSED = {
    "an array of 4 TB": (
        "m.npz",
        lambda: claim((10**7, 10**5)),
        adopt,
        "10000000 x 100000 takes 3725.3 GiB as dense float32; the limit is 16 GiB",
    ),
    "a line of 40 MB": (
        "m.csv",
        lambda: b"a,b\n1,2\n2,7\n5,1\n3," + b"3" * 40_000_000 + b"x",
        adopt,
        "Columns [b] are not numeric throughout",
    ),
    "1,500,000 columns": (
        "m.csv",
        lambda: b"a," * 1_500_000 + b"\n1,2\n",
        adopt,
        "columns=1500001 should be <= 1000000; use .npz",
    ),
    # It fills memory or time, whichever comes first.
    "600 MB of one text": (
        "m.xlsx",
        lambda: repeat_in_a_sheet("A" * 10_000, 600, 100),
        adopt,
        "its limits are 1024 MiB of memory, 10 s of processor time",
    ),
    "gene sets with a line of 50 MB": (
        "sets.gmt.gz",
        lambda: pack((MEGABYTE, 50)),
        read_gene_sets,
        "line 1: columns=1 should be >= 3",
    ),
    "gene sets that fill the memory": (
        "sets.gmt.gz",
        lambda: pack((MEGABYTE, 1500)),
        read_gene_sets,
        "read it ran out of memory (MemoryError); its limits are 1024 MiB of memory",
    ),
    "a number of 5,000 digits": (
        "genes.json",
        lambda: b'[{"id": ' + b"9" * 5000 + b"}]",
        lambda file: parse_genes(*read_rows(file)),
        """should be JSON, begins b'[{"id": 9""",
    ),
    "a colour that is none": (
        "ontology.json",
        lambda: b'[{"id": 1, "acronym": "a", "color_hex_triplet": "red;}</style>"}]',
        lambda file: parse_ontology(*read_rows(file)),
        "structure 1: color_hex_triplet='red;}</style>' should be six hexadecimal digits",
    ),
    "unpaired surrogates": (
        "listing.json",
        lambda: json.dumps([{"id": 7, "genes": [{"id": 1, "acronym": "\ud800"}]}]).encode(),
        lambda file: parse_listing(*read_rows(file)),
        "id=7: acronym='\\ud800' should be text of <= 10000 characters, without NUL",
    ),
}


# They fill the memory that a reader may have, for many seconds.
FILLING = ["600 MB of one text", "gene sets that fill the memory"]
SLOW = [pytest.param(name, marks=pytest.mark.release) for name in FILLING]


@pytest.mark.parametrize("name", [*(name for name in REFUSED if name not in FILLING), *SLOW])
def test_an_attack_is_refused_in_a_line_that_names_the_file(tmp_path, name):
    file, make, read, message = REFUSED[name]
    (tmp_path / file).write_bytes(make())
    told = tell(tmp_path, read, tmp_path / file)
    assert told.startswith(file)
    assert message in told


@pytest.mark.release
def test_a_file_that_hangs_its_reader_is_refused(sound, tmp_path):
    body = bytearray((sound / "dense.h5ad").read_bytes())
    # A string that says it has no size: HDF5 walks on the spot.
    first = body.index(b"GCOL\x01\0\0\0") + 16
    body[first : first + 16] = bytes(16)
    (tmp_path / "m.h5ad").write_bytes(body)
    told = tell(tmp_path, adopt, tmp_path / "m.h5ad")
    assert told.startswith(
        "m.h5ad: the process that read it took too long; its limits are 1024 MiB"
    )


def test_a_table_that_is_a_part_of_itself_is_refused(tmp_path):
    anndata.AnnData(np.eye(4, dtype=np.float32)).write_h5ad(tmp_path / "m.h5ad")
    with h5py.File(tmp_path / "m.h5ad", "r+") as opened:
        loop = opened.create_group("obs/a")
        loop.attrs["encoding-type"], loop.attrs["encoding-version"] = "dict", "0.1.0"
        loop["left"] = loop["right"] = loop
        opened["obs"].attrs["column-order"] = ["a"]
    assert "m.h5ad: not a complete .h5ad file" in tell(tmp_path, adopt, tmp_path / "m.h5ad")


def test_groups_thousands_deep_are_refused_at_once(tmp_path):
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        inner = opened
        for _ in range(3000):
            inner = inner.create_group("a")
        inner["X"] = np.eye(4)
    told = tell(tmp_path, adopt, tmp_path / "m.h5")
    assert told.startswith("m.h5: groups are nested more than 32 levels deep")


def test_pickles_are_left_alone_wherever_they_stand(tmp_path):
    payload = Payload(tmp_path / "ran")
    body = np.void(pickle.dumps(payload))
    objects = np.array([payload] * 4, dtype=object)
    np.savez(tmp_path / "m.npz", X=np.eye(4), y=objects)
    assert "Object arrays cannot be loaded" in tell(tmp_path, adopt, tmp_path / "m.npz")
    # A finished repetition that is damaged counts as absent.
    store = RepetitionStore(tmp_path, {"seed": 1})
    np.savez(tmp_path / "0.npz", digest=np.array(store.digest), metrics=objects)
    assert tell(tmp_path, lambda file: store.load(0), tmp_path / "0.npz") == ""
    anndata.AnnData(np.eye(4, dtype=np.float32)).write_h5ad(tmp_path / "m.h5ad")
    with h5py.File(tmp_path / "m.h5ad", "r+") as opened:
        opened.attrs["pickle"] = opened["obs"].attrs["PYTHON_OBJECT"] = body
        opened["uns/opaque"] = body
    assert tell(tmp_path, adopt, tmp_path / "m.h5ad") == ""
    # Otherwise the lines above would say nothing.
    pickle.loads(pickle.dumps(payload))  # noqa: S301
    assert (tmp_path / "ran").exists()


def test_a_manifest_names_files_of_its_folder_alone(sound, tmp_path):
    text = (sound / "raw" / "E11.5" / "manifest.csv").read_text()
    (tmp_path / "manifest.csv").write_text(text.replace("listing.json", "../../../etc/passwd"))
    told = tell(tmp_path, read_manifest, tmp_path / "manifest.csv")
    assert told.startswith("manifest.csv: file='../../../etc/passwd' should lie in the folder.")
