"""The front door: Hypercorn's Trio server with its faults repaired, and its limits and processes."""

from ostiary_net.front_door.guard import Guard, guard
from ostiary_net.front_door.listening import AddressError
from ostiary_net.front_door.rules import DoorRules
from ostiary_net.front_door.seam import install_seam
from ostiary_net.front_door.serving import ServerFailed, serve, until_signal
from ostiary_net.front_door.supervising import supervise

__all__ = [
    "AddressError",
    "DoorRules",
    "Guard",
    "ServerFailed",
    "guard",
    "install_seam",
    "serve",
    "supervise",
    "until_signal",
]
