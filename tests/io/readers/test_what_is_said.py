"""Remarks of the reader: on names that repeat, odd values and classes, and what is left out."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from reading import CYTOKINES, follow, values, write

from sparsekm.io.readers import messages
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.table_settings import TABLE_SETTINGS


class TestRepeatedNames:
    def test_features_are_merged_aloud_as_the_setting_says(self, put):
        file = put("gene,s1,s2,s3\nTP53,1.5,2,3\nTP53,2.5,4,8\nMYC,1,2,1.5\n")
        expected = {None: 2, "mean": 2, "sum": 4, "max": 2.5, "first": 1.5}
        for how, value in expected.items():
            raw = read_matrix(file, duplicates=how, transpose=True)
            assert raw.about.features == ["TP53", "MYC"]
            assert (raw.collect() + raw.offset)[0, 0] == pytest.approx(value)
            assert f"merged by {how or 'mean'}" in " ".join(raw.remarks)

    def test_counts_are_added(self, put):
        raw = read_matrix(put("gene,s1,s2,s3\nTP53,10,2,3\nTP53,20,400,8\nMYC,1,2,15\n"))
        assert (raw.collect() + raw.offset)[:, 0].tolist() == [30, 402, 11]

    def test_a_name_of_many_features_names_none_of_them(self, put):
        names = ["Unknown"] * 25 + ["TP53", "TP53", "MYC"]
        raw = read_matrix(put(write(["gene", "s1", "s2", "s3"], names)), transpose=True)
        assert raw.shape == (3, 27)
        assert raw.about.features[::13] == ["Unknown", "Unknown_14", "MYC"]
        assert "such as TP53; their values are merged" in " ".join(raw.remarks)

    def test_samples_are_numbered(self, put):
        raw = read_matrix(put("who,TP53,MYC,EGFR\nann,1,2,3\nbob,2,1,3\nann,7,2,2\n"))
        assert raw.about.samples == ["ann", "bob", "ann_2"]


class TestWhatIsSaid:
    def test_numbers_that_stand_for_missing_values(self, put):
        cells = values(9, 8)
        cells[2][3] = cells[5][1] = -999
        file = put(write(["sample", *CYTOKINES], [f"d{i}" for i in range(9)], cells=cells))
        [remark] = read_matrix(file).remarks
        [settings] = follow(remark)
        assert settings == {"missing_values": [-999]}
        raw = read_matrix(file, **settings)
        assert np.isnan(raw.collect()).sum() == 2
        assert raw.remarks == []

    def test_samples_that_are_the_same(self, put):
        cells = values(6, 8)
        cells[4] = cells[1]
        file = put(write(["sample", *CYTOKINES], [f"d{i}" for i in range(6)], cells=cells))
        assert "(d1 = d4)" in read_matrix(file).remarks[0]


CONTENT = json.loads(Path(messages.__file__).with_name("messages.json").read_text())
TEXTS = {key: text for key, text in CONTENT.items() if isinstance(text, str)}


class TestTexts:
    def test_each_is_one_line_and_is_used(self):
        used = "".join(
            file.read_text() for file in Path(messages.__file__).parents[2].rglob("*.py")
        )
        for key, text in TEXTS.items():
            assert f'"{key}"' in used, key
            assert "\n" not in text

    def test_advice_names_settings_that_there_are_with_a_value(self):
        known = {setting.name for setting in TABLE_SETTINGS}
        for text in TEXTS.values():
            for name in re.findall(r"\{(\w+)(?:=[^}]*)?!o\}", text):
                assert name in known, text
            # A setting with its value comes from the reader, not from the text.
            assert not re.search(rf"[Ss]et ({'|'.join(known)}): ", text), text
