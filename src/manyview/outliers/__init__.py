"""Rows that fit nowhere: far from all others, or placed elsewhere by some view."""

from manyview.outliers.finding import FindsOutliers, Outliers

__all__ = ["FindsOutliers", "Outliers"]
