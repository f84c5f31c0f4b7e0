"""Tables, figures and pages."""

from manyview.present import plot as plot
