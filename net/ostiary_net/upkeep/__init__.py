"""Work that is done beside all requests: forgetting, and checkpoints of the log.

Nobody waits for it.
"""
