"""A page in the browser: problems are chosen or painted, watched while they are planned, compared and taken home.

``server`` serves the page and one socket for each tab, on this machine only; ``messages`` is all that the page can say;
``session`` is what one tab has going on. The page itself is in ``page/``: plain modules, no build step, no network.

Starlette, uvicorn and a page of our own, rather than a Python library that draws pages: the search is drawn live,
many times a second, which needs a socket and a canvas; it must work offline; and this adds 6 MB, not 60.
"""
