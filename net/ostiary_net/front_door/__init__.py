"""The front door: Hypercorn's Trio server with its faults repaired, and its limits and processes.

Nothing of OAuth enters; what a request means is for the core and the application to say.
"""

from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.limits import AnswerCutOff, DoorLimits
from ostiary_net.front_door.listeners import AddressError
from ostiary_net.front_door.serving import ServerFailed, run_until_signal, serve
from ostiary_net.front_door.supervising import supervise

__all__ = [
    "AddressError",
    "AnswerCutOff",
    "DoorLimits",
    "Guard",
    "ServerFailed",
    "patch_hypercorn",
    "run_until_signal",
    "serve",
    "supervise",
]
