"""What readers see: one table in five forms, one figure maker, one page frame."""

from manyview.present import plot as plot
