"""What a running server is made of besides its routes: settings, database, the one wiring of all of it.

Nothing here knows a request.
"""
