"""The front door: Hypercorn's Trio server with its faults repaired, and its limits and processes.

Nothing of OAuth enters; what a request means is for the core and the application to say.
"""

from ostiary_net.front_door.connection import patch_hypercorn as patch_hypercorn
from ostiary_net.front_door.guard import Guard as Guard
from ostiary_net.front_door.limits import AnswerCutOff as AnswerCutOff, DoorLimits as DoorLimits
from ostiary_net.front_door.listeners import (
    AddressError as AddressError,
    find_handed_over as find_handed_over,
)
from ostiary_net.front_door.serving import (
    ServerFailed as ServerFailed,
    run_until_signal as run_until_signal,
    serve as serve,
)
from ostiary_net.front_door.supervising import supervise as supervise
