"""What makes the server observable: metrics, traces, the log.

It changes no answer, and nothing that a client sent enters it but what the core has named.
"""
