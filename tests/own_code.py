"""Modules that tests write: forgotten when the test is over, so that the next one can use their names."""

import sys
from pathlib import Path

from gumdp.experiments.plan import code
from gumdp.zoo import registry


def forget(folder: Path) -> None:
    """Modules from ``folder`` were never imported, and what they registered is not there."""
    root = str(folder.resolve())
    gone = {name for name, module in sys.modules.items() if str(getattr(module, "__file__", None)).startswith(root)}
    for name in gone:
        del sys.modules[name]
        code._imported.pop(name, None)
    for name, entry in list(registry._entries.items()):
        if entry.build.__module__ in gone:
            del registry._entries[name]
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(root)]
    sys.path_importer_cache.clear()
    code._home_digest.cache_clear()
