"""Traces where the settings ask for them, and nothing of OpenTelemetry imported where they do not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ostiary_net.observability.tracing import Tracing
from ostiary_web.settings import Settings

__all__ = ["open_tracing"]


@asynccontextmanager
async def open_tracing(settings: Settings) -> AsyncIterator[Tracing | None]:
    """What requests are traced with; None where no collector is named."""
    if settings.otel_exporter_otlp_endpoint is None:
        yield None
        return
    from ostiary_net.observability.spans import open_spans

    async with open_spans(settings.otel_exporter_otlp_endpoint) as spans:
        yield spans
