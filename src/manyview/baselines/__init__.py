"""The methods that S²MVTC is compared with, one per file, one contract for all."""

from .bmvc import BMVC
from .fastmice import FastMICE
from .fmvacc import FMVACC
from .fpmvscag import FPMVSCAG
from .fsmsc import FSMSC
from .kmeans import BestViewKMeans, ConcatKMeans
from .lmtc import LMTC
from .opmc import OPMC
from .sfmc import SFMC
from .smera import SMERAMVC

__all__ = [
    "BMVC",
    "FMVACC",
    "FPMVSCAG",
    "FSMSC",
    "LMTC",
    "OPMC",
    "SFMC",
    "SMERAMVC",
    "BestViewKMeans",
    "ConcatKMeans",
    "FastMICE",
]
