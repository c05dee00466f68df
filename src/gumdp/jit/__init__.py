"""All that knows Numba from inside: records, the cache on disk, calls back into Python, random numbers."""
