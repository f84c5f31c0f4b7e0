"""What readers see: one table in five forms, one figure maker, one page frame."""

import lazy_loader as _lazy

# A table is made without figures: these load NumPy.
__getattr__, __dir__, _ = _lazy.attach(__name__, submodules=["plot"])
