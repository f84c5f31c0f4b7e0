"""The methods that S²MVTC is compared with, one per file, one contract for all."""

from manyview.baselines.bmvc import BMVC
from manyview.baselines.fastmice import FastMICE
from manyview.baselines.fmvacc import FMVACC
from manyview.baselines.fpmvscag import FPMVSCAG
from manyview.baselines.fsmsc import FSMSC
from manyview.baselines.kmeans import BestViewKMeans, ConcatKMeans
from manyview.baselines.knn_leiden import KNNLeiden
from manyview.baselines.lmtc import LMTC
from manyview.baselines.opmc import OPMC
from manyview.baselines.sfmc import SFMC
from manyview.baselines.single_cell_pipeline import SingleCellKMeans, SingleCellLeiden
from manyview.baselines.smera import SMERAMVC
from manyview.baselines.snf import SNF
from manyview.baselines.spectral_joined import SpectralJoined
from manyview.baselines.turtle import TURTLE
from manyview.baselines.umap_hdbscan import UMAPHDBSCAN
from manyview.baselines.wnn import WNN

__all__: list[str] = [
    "BMVC",
    "FMVACC",
    "FPMVSCAG",
    "FSMSC",
    "LMTC",
    "OPMC",
    "SFMC",
    "SMERAMVC",
    "SNF",
    "TURTLE",
    "UMAPHDBSCAN",
    "WNN",
    "BestViewKMeans",
    "ConcatKMeans",
    "FastMICE",
    "KNNLeiden",
    "SingleCellKMeans",
    "SingleCellLeiden",
    "SpectralJoined",
]
