"""``python -m manyview``."""

import sys

from .cli import main

sys.exit(main())
