"""``python -m gumdp``: the command line."""

import sys

from gumdp.cli import main

sys.exit(main())
