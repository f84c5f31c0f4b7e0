"""Settings of the documentation; `make docs` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery_figures import scrape
from method_table import find_benchmark

import manyview

project = "manyview"
author = "the manyview developers"
copyright = author
version = release = manyview.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "measured", "drawings", "gallery/*.ipynb"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "substitution", "deflist"]
myst_heading_anchors = 3
MISSING = (
    "*No result lies in this copy of the repository.* The command above makes it; "
    "`python docs/method_table.py` then brings its means into "
    "[](choosing_a_method.md)."
)


def honest_tables() -> str:
    """The tables that benchmarks/honest.py wrote, without their heading."""
    folder = find_benchmark()
    if folder is None:
        return MISSING
    return (folder / "honest.md").read_text("utf-8").partition("\n")[2]


myst_substitutions = {"honest_tables": honest_tables()}

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "ignore_pattern": "the_method_on_one_page",  # how_it_works.md shows it
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (scrape,),
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "manyview"
html_static_path = ["_static"]
html_css_files = ["manyview.css"]
ALONE = (
    *("index", "quickstart", "row_order", "choosing_a_method", "honest_benchmark"),
    *("how_it_works", "adding_a_method", "compared_methods", "awa"),
)
html_sidebars = {page: [] for page in ALONE}
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
