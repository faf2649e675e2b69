"""HTTP requests and their answers: who calls, who may, and what every answer tells a browser.

Nothing here knows a route; the interface (`api`) and the pages (`pages`) are built on it.
"""
