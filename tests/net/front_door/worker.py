"""A server process for the tests: `python -m tests.net.front_door.worker HOW BIND [GRACEFUL_SECONDS]`.

HOW is `serve`: it answers with its process id; `hang`: its stop never ends; `freeze`: it blocks its event
loop when it is asked; `refuse`: it cannot start; `supervise`: it keeps two workers that `serve`;
`supervise-refuse`: it keeps two workers that `refuse`.
"""

import os
import sys
from functools import partial

import trio

from ostiary_net import front_door
from ostiary_net.front_door import Guard, lifeline, serving
from ostiary_net.front_door.limits import DoorLimits, Receive, Scope, Send
from tests.net.front_door.application import answer_lifespan, refusal

LIMITS = DoorLimits(body_limit=lambda path: 1_000, refusal=refusal)


async def application(how: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        if how == "refuse":
            raise OSError("there is no store")
        await answer_lifespan(receive, send)
        if how == "hang":
            with trio.CancelScope(shield=True):
                await trio.sleep_forever()
        return
    if how == "freeze":
        tell(["frozen"])
        os.read(os.pipe()[0], 1)
    body = str(os.getpid()).encode()
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def tell(addresses: list[str]) -> None:
    print(*addresses, flush=True)


def main(how: str, bind: str, graceful_seconds: str = "0.2") -> int:
    lifeline.BEAT_SECONDS = 0.1  # type: ignore[misc]
    try:
        if how.startswith("supervise"):
            worker = [sys.executable, "-m", __spec__.name, how.partition("-")[2] or "serve"]
            return front_door.supervise(worker, bind=bind, workers=2, graceful_seconds=1, on_listening=tell)
        serving.FORCE_EXIT_SECONDS = 0.2  # type: ignore[misc]
        app = Guard(partial(application, how), LIMITS)
        trio.run(
            partial(
                front_door.serve, app, bind=bind, graceful_seconds=float(graceful_seconds), on_listening=tell
            )
        )
    except (front_door.AddressError, front_door.ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


front_door.patch_hypercorn()  # the product's module for plain Hypercorn does so too
app = Guard(partial(application, "serve"), LIMITS)

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
