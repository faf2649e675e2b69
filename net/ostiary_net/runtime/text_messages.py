"""Sends text messages to a gateway or an outbox file, after the answer to the request that caused them.

The time of an answer must not tell a caller whether a number is known. So all that depends on it (deciding,
writing, sending) is a job: a few tasks run the jobs of a bounded queue while the answer is under way.

- A gateway is an HTTP service. A message that it does not accept for a reason that may pass is posted again a
  few times, each time later, under the same `Idempotency-Key`, so that it arrives once.
- Without a gateway, messages are lines of a file on this machine, written before the answer: there is nobody
  to hide from, and the reader of the file finds the line there.

No code, token or number is logged; the log has the trace id of a message that could not be sent.
"""

import json
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import httpx
import structlog
import trio

from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.secret import Secret
from ostiary_net.runtime.outbound import RouteUnusable, read_route
from ostiary_net.runtime.system import EntropySource, RunSync, run_in_thread

_log = structlog.get_logger("ostiary")

_MOST_WAITING: Final = 256
_ERRANDS_AT_A_TIME: Final = 4
_CLOSING_SECONDS: Final = 5.0

_ATTEMPTS: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0
_ATTEMPT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMessage:
    """A message, which may have a code in it; its printed form shows neither."""

    phone: str = field(repr=False)
    purpose: str
    """Purpose of the message in a word, by which a gateway may choose how to send it."""
    code: Secret | None = None
    text: str = field(repr=False)
    """Text that the telephone shows, with the code if there is one."""
    at: Instant


class NotDelivered(Exception):
    """A message was not accepted; the text tells why and is safe to log."""


class Delivery(Protocol):
    """Delivers text messages."""

    is_local: bool
    """Whether messages are delivered on this machine, at once."""

    async def deliver(self, message: TextMessage) -> None:
        """Deliver a message. Raises `NotDelivered`."""
        ...


# --- the gateway


@dataclass(frozen=True, slots=True, repr=False)
class Gateway:
    """Posts messages to an HTTP service as `{phone, purpose, text}`; any 2xx accepts one (READINGS 28)."""

    is_local = False

    client: httpx.AsyncClient
    url: str
    read_token: Callable[[], Secret | None]
    """Reader of the token, called for each message, as the token may change while the server runs."""
    entropy_source: EntropySource
    attempt_seconds: float = _ATTEMPT_SECONDS
    pause: Callable[[float], Awaitable[None]] = trio.sleep

    async def deliver(self, message: TextMessage) -> None:
        """Post a message until it is accepted, refused for good, or tried often enough."""
        headers = {"Idempotency-Key": self.entropy_source.draw()[:16].hex()}
        if (token := await trio.to_thread.run_sync(self.read_token)) is not None:
            headers["Authorization"] = f"Bearer {token.reveal()}"
        content = {"phone": message.phone, "purpose": message.purpose, "text": message.text}
        cause, pause_seconds = "", _FIRST_PAUSE_SECONDS
        for attempt in range(_ATTEMPTS):
            if attempt:
                await self.pause(pause_seconds)
                pause_seconds = _FIRST_PAUSE_SECONDS * 2**attempt
            # Only class names leave this block, as an error of httpx may quote the request.
            try:
                with trio.fail_after(self.attempt_seconds):
                    status, retry_after = await self._post(headers, content)
            except trio.TooSlowError:
                cause = "no answer in time"
                continue
            except httpx.TransportError as error:
                cause = _find_certificate_fault(error) or type(error).__name__
                continue
            if 200 <= status < 300:
                return
            cause = f"status {status}"
            if status != 429 and status < 500:
                raise NotDelivered(cause)
            pause_seconds = max(pause_seconds, retry_after)
        raise NotDelivered(f"{cause}, after {_ATTEMPTS} attempts")

    async def _post(self, headers: dict[str, str], content: dict[str, str]) -> tuple[int, float]:
        """Post once; return the status and the seconds of `Retry-After`. The answer's body is not read."""
        async with self.client.stream("POST", self.url, headers=headers, json=content) as response:
            asked = response.headers.get("Retry-After", "")
            seconds = float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0.0
            return response.status_code, min(seconds, _LONGEST_PAUSE_SECONDS)


def _find_certificate_fault(error: BaseException | None) -> str:
    """Return OpenSSL's reason for not trusting the gateway's certificate; empty for other errors."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"certificate not trusted: {error.verify_message} (SSL_CERT_FILE names authorities)"
        error = error.__cause__ or error.__context__
    return ""


@asynccontextmanager
async def open_gateway(
    url: str, read_token: Callable[[], Secret | None], entropy_source: EntropySource
) -> AsyncIterator[Delivery]:
    """Open the gateway at `url`, with connections of its own, if the environment lets it be asked."""
    try:
        route = read_route(url, os.environ)
    except RouteUnusable as error:
        # Everything else goes on: nobody signs in or refreshes by a text message.
        _log.error("no text message can be sent", setting=error.variable, reason=error.reason)
        yield UnreachableGateway(str(error))
        return
    # A redirect is not followed, as it could lead the token to another server.
    async with httpx.AsyncClient(
        timeout=_ATTEMPT_SECONDS,
        follow_redirects=False,
        trust_env=False,
        verify=route.trust,
        proxy=route.proxy,
    ) as client:
        yield Gateway(client, url, read_token, entropy_source)


@dataclass(frozen=True, slots=True)
class UnreachableGateway:
    """A gateway that the environment lets nobody ask; says why for each message."""

    is_local = False

    reason: str

    async def deliver(self, message: TextMessage) -> None:
        """Raise `NotDelivered`."""
        raise NotDelivered(self.reason)


# --- the outbox


class Outbox:
    """Appends messages to a file that only its owner can read, as JSON lines."""

    is_local = True

    def __init__(self, path: Path, run_sync: RunSync = run_in_thread) -> None:
        self.path = path
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)

    async def deliver(self, message: TextMessage) -> None:
        """Append the message's line to the file."""
        entry = {
            "phone": message.phone,
            "purpose": message.purpose,
            "code": None if message.code is None else message.code.reveal(),
            "text": message.text,
            "at": iso_time(message.at),
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            await self._run_sync(partial(_append, self.path, line), limiter=self._limiter)
        except OSError as error:
            raise NotDelivered(type(error).__name__) from None


def _append(path: Path, line: bytes) -> None:
    """Append a line in one write, so that lines of several processes do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        if os.write(descriptor, line) != len(line):
            raise OSError("the disk is full")
    finally:
        os.close(descriptor)


# --- jobs


MessageJob = Callable[[], Awaitable[TextMessage | None]]
"""Job that decides which message is to be sent, if any."""


class TextMessages:
    """Runs jobs, a few at a time, and delivers their messages."""

    def __init__(self, delivery: Delivery, *, most_waiting: int = _MOST_WAITING) -> None:
        self._delivery = delivery
        self._unfinished = 0
        self._enter, self._leave = trio.open_memory_channel[tuple[MessageJob, str]](most_waiting)

    async def send(self, job: MessageJob, trace_id: str) -> None:
        """Queue a job, or run it at once if delivery is local; failures are only logged."""
        if self._delivery.is_local:
            await self._run(job, trace_id)
            return
        try:
            self._enter.send_nowait((job, trace_id))
        except (trio.WouldBlock, trio.ClosedResourceError):
            _log.error("text message not sent", trace_id=trace_id, cause="too many are waiting")
        else:
            self._unfinished += 1

    async def run(self) -> None:
        """Run jobs until `close` was called and none waits."""
        async with trio.open_nursery() as nursery:
            for _ in range(_ERRANDS_AT_A_TIME):
                nursery.start_soon(self._run_all)

    def close(self) -> None:
        """Take no more jobs."""
        self._enter.close()

    def count_unfinished(self) -> int:
        """Return how many jobs wait or are being run."""
        return self._unfinished

    async def _run_all(self) -> None:
        async for job, trace_id in self._leave:
            await self._run(job, trace_id)
            self._unfinished -= 1

    async def _run(self, job: MessageJob, trace_id: str) -> None:
        """Run one job and deliver its message; log every error, and raise none."""
        try:
            message = await job()
            if message is not None:
                await self._delivery.deliver(message)
        except NotDelivered as failed:
            _log.error("text message not sent", trace_id=trace_id, cause=str(failed))
        except Exception as error:
            _log.error("text message not sent", trace_id=trace_id, cause=type(error).__name__)


@asynccontextmanager
async def open_text_messages(delivery: Delivery) -> AsyncIterator[TextMessages]:
    """Open text messages while the block runs; at its end, run the waiting jobs for a few seconds."""
    messages = TextMessages(delivery)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(messages.run)
        try:
            yield messages
        finally:
            messages.close()
            nursery.cancel_scope.deadline = trio.current_time() + _CLOSING_SECONDS
    if messages.count_unfinished():
        _log.error("text messages not sent", cause="the server stopped", messages=messages.count_unfinished())
