"""Repeated rows are clustered without a word."""

import numpy as np
from sklearn.cluster import KMeans

from manyview.kmeans.passes import quiet_fit


def test_fewer_distinct_rows_than_clusters_give_no_warning(recwarn):
    search = KMeans(3, n_init=1, random_state=0)
    assert quiet_fit(search, np.ones((9, 2))) is search
    assert search.labels_.shape == (9,) and not recwarn.list
