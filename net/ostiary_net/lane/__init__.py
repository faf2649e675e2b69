"""Answers plain requests to the token service and user-info where they are read.

Third-party backends keep a connection open and send nothing else. For them a task, two channels and a round
trip through ASGI cost several times what the answer costs. The lane answers the requests that it reads in
full, and hands everything else untouched to Hypercorn and h11 (docs/decisions/0011-token-lane.md). What a
request means does not enter: the service knows it.
"""

from ostiary_net.lane.opening import start_door

__all__ = ["start_door"]
