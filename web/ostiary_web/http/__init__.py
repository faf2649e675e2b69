"""One HTTP request and its answer: who asks, who is let in, and what every answer tells a browser.

Nothing here knows a route; the interface (`api`) and the pages (`pages`) are built on it.
"""
