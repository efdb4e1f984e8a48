"""Volumes: header, array order, and everything an archive can get wrong."""

import struct
import zipfile

import numpy as np
import pytest
from hand_made import INDEXED, energy_zip, write_header, write_zip

from sparsekm.atlas import grid
from sparsekm.atlas.grid import (
    DamagedArchiveError,
    GridError,
    MissingGridError,
    read_annotation,
    read_energy,
)


def test_x_runs_fastest_then_y_then_z():
    volume = read_energy(energy_zip())
    assert volume.dims == (4, 3, 2)
    assert volume.spacing == (200.0, 200.0, 200.0)
    assert volume.values.shape == (2, 3, 4)
    assert volume.values[1, 2, 3] == 3 + 200 + 10000
    x, y, z = 2, 1, 1
    assert volume.values.ravel()[x + 4 * (y + 3 * z)] == 2 + 100 + 10000
    # Big endian values are swapped.
    volume = read_energy(energy_zip(INDEXED.astype(">f4").tobytes(), BinaryDataByteOrderMSB="True"))
    np.testing.assert_array_equal(volume.values, INDEXED)
    assert volume.values.dtype == np.dtype("=f4")


@pytest.mark.parametrize("folder", ["../../", "/etc/", "C:\\temp\\"])
def test_members_are_matched_by_base_name_and_written_nowhere(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(read_energy(energy_zip(folder=folder)).values, INDEXED)
    assert not list(tmp_path.iterdir())


def test_ids_beyond_two_to_the_24_are_exact():
    ids = np.array([126652053, 0, 2**24 + 1, 17651, 2**32 - 1, 1], dtype="<u4")
    header = write_header(
        DimSize="3 2 1", ElementType="MET_UINT", ElementDataFile="gridAnnotation.raw"
    )
    body = write_zip({"gridAnnotation.mhd": header, "gridAnnotation.raw": ids.tobytes()})
    volume = read_annotation(body)
    assert volume.values.dtype == np.uint32
    np.testing.assert_array_equal(volume.values.ravel(), ids)
    assert int(np.float32(126652053)) == 126652056


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"NDims": "2"}, "NDims=2 should be 3"),
        ({"DimSize": "4 3 0"}, "DimSize=4 3 0 should be three whole numbers >= 1"),
        ({"ElementType": "MET_SHORT"}, "ElementType=MET_SHORT should be MET_FLOAT or MET_UINT"),
        ({"ElementType": "MET_UINT"}, "ElementType=MET_UINT should be MET_FLOAT"),
        ({"ElementSpacing": "200 0.0 200"}, "should be three numbers > 0"),
        ({"BinaryDataByteOrderMSB": "maybe"}, "BinaryDataByteOrderMSB=maybe should be"),
    ],
)
def test_a_wrong_header_is_refused_with_file_value_and_rule(changes, message):
    with pytest.raises(GridError, match=message) as caught:
        read_energy(energy_zip(**changes), "some.zip")
    assert str(caught.value).startswith("some.zip")


def test_a_sound_archive_without_a_grid_or_whose_array_does_not_fit_is_told_from_a_broken_one():
    with pytest.raises(GridError, match=r"energy.raw declares 92 bytes; it should be 96"):
        read_energy(energy_zip(INDEXED.tobytes()[:-4]))
    with pytest.raises(MissingGridError, match=r"should contain a member named energy\.mhd"):
        read_energy(write_zip({"data_set.xml": "<x/>"}))
    with pytest.raises(MissingGridError, match=r"energy.raw"):
        read_energy(write_zip({"energy.mhd": write_header()}))


def corrupt(fields: dict[bytes, int], change, body: bytes | None = None) -> bytes:
    """Change a field of the last member's record, after each of its two signatures."""
    spoilt = bytearray(body or energy_zip())
    for signature, offset in fields.items():
        place = slice(start := spoilt.rfind(signature) + offset, start + 4)
        spoilt[place] = change(spoilt[place])
    return bytes(spoilt)


CRC = {b"PK\x03\x04": 14, b"PK\x01\x02": 16}
SIZE = {b"PK\x03\x04": 22, b"PK\x01\x02": 24}
BROKEN = {
    "empty": b"",
    "HTML": b"<html>busy</html>",
    "cut": energy_zip()[:-60],
    "wrong CRC": corrupt(CRC, lambda value: bytes(byte ^ 0xFF for byte in value)),
    "larger than declared": corrupt(SIZE, lambda _: struct.pack("<I", 96), energy_zip(bytes(192))),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_body_that_is_no_sound_archive_is_refused(name):
    with pytest.raises(DamagedArchiveError, match=r"some\.zip: should be a complete zip archive"):
        read_energy(BROKEN[name], "some.zip")


def test_a_bomb_is_refused_before_it_is_inflated(monkeypatch):
    monkeypatch.setattr(grid, "MAX_VOLUME_BYTES", 10_000)
    raw = bytes(4 * 100 * 100)
    body = write_zip({"energy.mhd": write_header(DimSize="100 100 1"), "energy.raw": raw})
    read = zipfile.ZipExtFile.read

    def read_header_only(self, n=-1):
        assert n < 10_000, "inflated before its size was checked"
        return read(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", read_header_only)
    with pytest.raises(GridError, match=r"energy.raw declares 40000 bytes; it should be <= 10000"):
        read_energy(body)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5])
def test_values_that_are_no_energies_are_refused(value):
    changed = INDEXED.copy()
    changed[0, 0, 1] = -1
    assert read_energy(energy_zip(changed.tobytes())).values[0, 0, 1] == -1
    changed[1, 0, 0] = value
    with pytest.raises(GridError, match=f"energy={value} at linear position 12 should be finite"):
        read_energy(energy_zip(changed.tobytes()))
