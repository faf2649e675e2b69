"""What makes the server observable: metrics, traces, the log.

It changes no answer.
"""
