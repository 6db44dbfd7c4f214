"""A local page that shows what runs: a small HTTP server, a feed of numbers, and the page itself.

Nothing here knows queries: what is shown comes from a `Source`.
"""

from windrow.watching.page import Page, Source
from windrow.watching.server import Server

__all__ = ["Page", "Server", "Source"]
