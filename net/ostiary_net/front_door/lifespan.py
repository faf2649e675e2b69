"""Serves the lifespan of an application, and tells why it could not start or has ended."""

import structlog
import trio

from ostiary_net.front_door.limits import Application, CannotStart, Message, Receive, Scope, Send
from ostiary_net.observability.log import list_frames, unwrap_error

_log = structlog.get_logger("ostiary")


class Lifespan:
    """The lifespan of one application."""

    def __init__(self) -> None:
        self.failure: str | None = None
        """Reason why the application could not start, or has ended."""
        self.broken = trio.Event()
        """Event of an application that ended by itself."""

    async def serve(self, app: Application, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the lifespan of `app`; fail the start if the application raises in it."""
        # Servers take an exception here for an application without a lifespan, and serve it (ASGI
        # "Lifespan").
        has_asked = has_started = False

        async def receive_marked() -> Message:
            nonlocal has_asked
            message = await receive()
            has_asked = True
            return message

        async def send_marked(message: Message) -> None:
            nonlocal has_started
            has_started = has_started or message["type"] == "lifespan.startup.complete"
            await send(message)

        try:
            trio.lowlevel.current_task()
        except RuntimeError:
            message = "this application needs Trio: hypercorn --worker-class trio"
            await send({"type": "lifespan.startup.failed", "message": message})
            return
        try:
            await app(scope, receive_marked, send_marked)
        except Exception as error:
            where = list_frames(error)
            if has_started:
                _log.critical("the application ended", cause=type(error).__name__, where=where)
                self.failure = "the application ended by itself; the log says why"
                self.broken.set()
                raise
            fault = unwrap_error(error)
            self.failure = str(fault)
            if not isinstance(fault, CannotStart):
                _log.critical("the application could not start", cause=repr(fault), where=where)
                self.failure = f"the application could not start: {fault}"
            if not has_asked:
                await receive()  # or Hypercorn would send `startup` into a channel that it has closed
            await send({"type": "lifespan.startup.failed", "message": str(fault)})
