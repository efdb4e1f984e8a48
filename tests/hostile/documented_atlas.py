"""Hostile files as a server of the atlas could send them."""

from __future__ import annotations

import json
import zipfile
from functools import partial
from pathlib import Path

from input_registry import hostile_input, write_zip

from sparsekm.atlas.gene_metadata import read_genes
from sparsekm.atlas.grid import read_energy
from sparsekm.atlas.listing import read_listing
from sparsekm.atlas.manifest import read_manifest
from sparsekm.atlas.ontology import read_ontology


def _energy_members(sound: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(sound / "energy.zip") as archive:
        return {name: archive.read(name) for name in ("energy.mhd", "energy.raw")}


def _with_dims(sound: Path, dims: bytes) -> dict[str, bytes]:
    members = _energy_members(sound)
    lines = members["energy.mhd"].split(b"\n")
    changed = [b"DimSize = " + dims if line.startswith(b"DimSize") else line for line in lines]
    return members | {"energy.mhd": b"\n".join(changed)}


@hostile_input("a zip that is cut short")
def _(sound, folder):
    (folder / "7.zip").write_bytes((sound / "energy.zip").read_bytes()[:-40])
    return partial(read_energy, folder / "7.zip")


@hostile_input("a zip bomb: 20 MB of header in 20 KB")
def _(sound, folder):
    members = _energy_members(sound) | {"energy.mhd": b" " * 20_000_000}
    return partial(read_energy, write_zip(folder / "7.zip", members))


@hostile_input("a zip member that is longer than it says")
def _(sound, folder):
    members = _energy_members(sound)
    body = write_zip(folder / "7.zip", members).read_bytes()
    size = len(members["energy.mhd"])
    # In the local header and in the directory.
    (folder / "7.zip").write_bytes(
        body.replace(size.to_bytes(4, "little"), (size - 9).to_bytes(4, "little"))
    )
    return partial(read_energy, folder / "7.zip")


@hostile_input("a zip member that is compressed by bzip2, which has no bound")
def _(sound, folder):
    return partial(
        read_energy, write_zip(folder / "7.zip", _energy_members(sound), zipfile.ZIP_BZIP2)
    )


@hostile_input("a zip with thousands of members")
def _(sound, folder):
    many = {f"{number}": b"" for number in range(2000)}
    return partial(read_energy, write_zip(folder / "7.zip", many | _energy_members(sound)))


@hostile_input("a zip whose members are called ../../energy.mhd and /energy.raw")
def _(sound, folder):
    members = _energy_members(sound)
    named = {"../../energy.mhd": members["energy.mhd"], "/energy.raw": members["energy.raw"]}
    return partial(read_energy, write_zip(folder / "7.zip", named))


@hostile_input("a header that declares 10,000 x 10,000 x 10,000 voxels")
def _(sound, folder):
    return partial(
        read_energy, write_zip(folder / "7.zip", _with_dims(sound, b"10000 10000 10000"))
    )


@hostile_input("a header with an extent of 5,000 digits")
def _(sound, folder):
    return partial(
        read_energy, write_zip(folder / "7.zip", _with_dims(sound, b"9" * 5000 + b" 2 2"))
    )


@hostile_input("JSON that nests 100,000 deep")
def _(sound, folder):
    (folder / "ontology.json").write_text("[" * 100_000)
    return partial(read_ontology, folder / "ontology.json")


@hostile_input("JSON with a number of 5,000 digits")
def _(sound, folder):
    (folder / "genes.json").write_text('[{"id": ' + "9" * 5000 + "}]")
    return partial(read_genes, folder / "genes.json")


@hostile_input("JSON of 300 MB")
def _(sound, folder):
    with (folder / "listing.json").open("wb") as opened:
        opened.truncate(300_000_000)
    return partial(read_listing, folder / "listing.json")


@hostile_input("a region's colour that is no colour")
def _(sound, folder):
    rows = [{"id": 1, "acronym": "a", "color_hex_triplet": "red;}</style>"}]
    (folder / "ontology.json").write_text(json.dumps(rows))
    return partial(read_ontology, folder / "ontology.json")


@hostile_input("a gene's symbol with half a surrogate pair")
def _(sound, folder):
    rows = [{"id": 7, "genes": [{"id": 1, "acronym": "\ud800"}]}]
    (folder / "listing.json").write_text(json.dumps(rows))
    return partial(read_listing, folder / "listing.json")


@hostile_input("a listing with a float for an id")
def _(sound, folder):
    (folder / "listing.json").write_text('[{"id": 126652054.0}]')
    return partial(read_listing, folder / "listing.json")


@hostile_input("a manifest that names ../../../etc/passwd")
def _(sound, folder):
    text = (sound / "raw" / "E11.5" / "manifest.csv").read_text()
    (folder / "manifest.csv").write_text(text.replace("listing.json", "../../../etc/passwd"))
    return partial(read_manifest, folder / "manifest.csv")
