"""
Text and image embeddings
=========================

Articles with a picture: a bag of words and a dense image embedding of each. The data is
generated: eight topics, texts that mix two topics, blurred image embeddings on a
sphere.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from manyview import S2MVTC, AnchorSpectral, Views
from manyview.baselines import ConcatKMeans
from manyview.metrics import clustering_scores

rng = np.random.default_rng(1)
n, n_topics, n_words = 1000, 8, 800
topic = rng.integers(n_topics, size=n)
other = rng.integers(n_topics, size=n)

words = rng.dirichlet(np.full(n_words, 0.05), size=n_topics)
mixture = 0.62 * words[topic] + 0.38 * words[other]
text = sp.csr_array(np.stack([rng.multinomial(80, p) for p in mixture]))

centres = rng.normal(size=(n_topics, 64))
image = centres[topic] + 3.0 * rng.normal(size=(n, 64))
image /= np.linalg.norm(image, axis=1, keepdims=True)

views = Views({"text": text, "image": image}, labels=topic)

# %%
# Text and image alone, both side by side, and joined:

settings = {"n_graph_anchors": 1000, "random_state": 0}
runs = {
    "text alone": (AnchorSpectral(8, **settings), [text]),
    "image alone": (AnchorSpectral(8, **settings), [image]),
    "both, k-means": (ConcatKMeans(8, random_state=0), views),
    "both, AnchorSpectral": (AnchorSpectral(8, **settings), views),
    "both, S2MVTC": (S2MVTC(8, n_anchors=200, **settings), views),
}
accuracy = {
    name: clustering_scores(topic, model.fit_predict(data))["ACC"]
    for name, (model, data) in runs.items()
}

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
bars = axis.barh(list(accuracy), list(accuracy.values()), color="#0072B2")
axis.bar_label(bars, fmt="%.2f", padding=3)
axis.invert_yaxis()
axis.set(xlim=(0, 1.1), xlabel="accuracy", title="Eight topics (generated, seed 1)")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
