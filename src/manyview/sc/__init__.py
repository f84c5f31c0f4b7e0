"""For single cells: AnnData or MuData in, results where scanpy and muon look for them.

>>> import manyview as mv
>>> mv.sc.cluster.__name__
'cluster'
"""

from manyview.sc.clustering import cluster

__all__ = ["cluster"]
