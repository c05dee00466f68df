"""``python -m gumdp``: the command line."""

import sys

from gumdp.cli.main import main

sys.exit(main())
