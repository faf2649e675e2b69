"""Parts of a running server besides its routes: settings, database, and their wiring.

Nothing here knows a request.
"""
