from dataclasses import replace

import numpy as np
import pytest

from sparsekm.annotation.gene_table import gene_table
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting import figures
from sparsekm.reporting.methods_text import Citations, write_methods
from sparsekm.reporting.report import load_dataset_result
from sparsekm.reporting.simulation_figures import row_look
from sparsekm.studies.paper.plan import METHOD_ROWS


def test_matrix_is_no_atlas_and_brain_is_one(matrix_result, brain_result):
    assert not matrix_result.is_atlas
    assert brain_result.is_atlas
    assert brain_result.is_simulated
    assert brain_result.planted is None


def test_gene_table_is_made_where_no_file_is_given(matrix_files, matrix_result):
    without = {name: file for name, file in matrix_files.items() if name != "genes"}
    made = load_dataset_result("toy", **without).genes
    assert made["symbol"].tolist() == matrix_result.genes["symbol"].tolist()
    expected = gene_table(matrix_result.var, matrix_result.methods)
    assert made["rank_l1"].tolist() == expected["rank_l1"].tolist()


def test_columns_are_read_from_the_file(matrix_result):
    everything = matrix_result.read_features(np.arange(6))
    assert everything.shape == (12, 6)
    np.testing.assert_array_equal(matrix_result.read_features([1, 4]), everything[:, [1, 4]])
    np.testing.assert_allclose(everything.std(axis=0, ddof=1), 1, rtol=1e-5)


def test_fit_of_another_data_set_is_refused(matrix_files, brain_result):
    with pytest.raises(
        ValueError, match=r"\(n_samples, n_features\)=\(12, 6\) should be \(120, 8\)"
    ):
        load_dataset_result("E11.5", brain_result.normalised, fits=matrix_files["fits"])


def test_every_method_of_the_registry_has_its_title_and_a_look_of_its_own():
    assert len({look.title for look in METHODS.values()}) == len(METHODS)
    main = [name for name, row in METHOD_ROWS.items() if not row.is_variant]
    for looks in (METHODS.values(), [row_look(name) for name in main]):
        for part in ("color", "marker"):
            assert len({getattr(look, part) for look in looks}) == len(looks)


def test_the_report_says_what_the_rival_methods_do_and_cites_them(matrix_result):
    found = matrix_result.methods["kmeans"]
    rivals = {name: replace(found, name=name) for name in ("ifpca", "scfs")}
    citations = Citations()
    text = " ".join(write_methods([replace(matrix_result, methods=rivals)], citations))
    assert "Higher Criticism" in text
    assert {"10.1214/15-AOS1423", "10.1111/biom.13665"} <= {work.doi for work in citations.cited}


def test_of_many_samples_some_are_shown_and_the_caption_says_so(matrix_result, monkeypatch):
    monkeypatch.setattr(figures, "MOST_POINTS", 5)
    figure = figures.answer_figure(matrix_result)
    scatter = figure.axes[-1]
    assert sum(len(points.get_offsets()) for points in scatter.collections) == 5
    captions = {drawn.name: drawn.caption for drawn in figures.draw_figures(matrix_result)}
    assert "of the features kept, 5 drawn at random." in captions["answer"]


def test_the_methods_name_data_that_were_tuned_on_a_sample(matrix_result):
    assert "drawn at random" not in " ".join(write_methods([matrix_result], Citations()))
    l0 = matrix_result.methods["l0"]
    drawn = replace(l0, attributes={**l0.attributes, "n_tuned": 8})
    result = replace(matrix_result, methods=matrix_result.methods | {"l0": drawn})
    text = " ".join(write_methods([result], Citations()))
    assert "Sparsities were tuned on 8 of the 12 samples of toy, drawn at random" in text
