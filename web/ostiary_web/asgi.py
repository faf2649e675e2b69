"""Make the application for any ASGI server: `hypercorn --worker-class trio ostiary_web.asgi:app`."""

import atexit
from contextlib import ExitStack

from ostiary_net.observability.log import LINES
from ostiary_web.app.asgi_app import asgi_app_from_environment
from ostiary_web.streams import open_standard_streams

open_standard_streams()
_until_exit = ExitStack()
_until_exit.enter_context(LINES.write_in_thread())
atexit.register(_until_exit.close)

app = asgi_app_from_environment()
