"""Which clusters of a gap search stand apart."""

import numpy as np
import pytest

from sparsekm import GapSearch, L0KMeans
from sparsekm.tuning.separation import LEVEL


@pytest.fixture(scope="module")
def searches():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((40, 30))
    clusters = noise.copy()
    clusters[:20, :6] += 4
    estimator = L0KMeans(2, n_init=2)
    sparsities = [6, 12]
    return [
        (
            data,
            GapSearch(estimator, sparsities=sparsities, n_references=2, random_state=0).fit(data),
        )
        for data in (clusters, noise)
    ]


def test_far_clusters_stand_apart_and_pieces_of_noise_do_not(searches):
    (clusters, apart), (noise, touching) = searches
    assert apart.separation(clusters)["p_adjusted"].tolist()[0] <= LEVEL
    assert touching.separation(noise)["p_adjusted"].tolist()[0] > LEVEL


def test_groups_are_counted_once_and_other_data_refused(searches):
    clusters, search = searches[0]
    groups = np.arange(40) // 4
    grouped = search.separation(clusters, groups=groups)
    assert grouped[["n_a", "n_b"]].to_numpy().sum() <= 10
    with pytest.raises(ValueError, match=r"n_samples=39 should be 40, as in `fit`"):
        search.separation(clusters[:39])
