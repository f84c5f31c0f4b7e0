"""Data in: readers, known data sets, generators and the on-disk layout."""

import lazy_loader

# __init__.pyi says where each name lives; nothing is imported before it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
