"""Makes the server observable: metrics, traces, the log.

Nothing here changes an answer, and of what a client sent only what the core has named enters.
"""
