"""rpc_worker KIND DEPTH SECONDS PADDING PROFILE [PORT]: Health.Check from Python.

KIND: warded.future, warded.threads, grpcio.future, grpcio.threads, aio. At depth 1 the
first two of a kind are the same: a plain call. All use the same message classes.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warded import v1

from tests.bench.loop import Meter, by_threads

WARM_S = 0.7
METHOD = "/warded.v1.Health/Check"


def warded_call(profile: str) -> Any:
    """A stub's method, ours."""
    import warded

    return v1.HealthStub(warded.connect(profile)).Check


def grpc_credentials(grpc: Any, profile: str) -> Any:
    """The same certificate, key and CA as ours."""
    files = [(Path(profile) / f"{n}.pem").read_bytes() for n in ("ca", "key", "cert")]
    return grpc.ssl_channel_credentials(*files)


def grpc_method(channel: Any) -> Any:
    """A stub's method, as grpcio's generated stubs make it."""
    return channel.unary_unary(
        METHOD,
        request_serializer=v1.HealthCheckRequest.SerializeToString,
        response_deserializer=v1.HealthCheckReply.FromString,
    )


def by_futures(meter: Meter, depth: int, start: Callable[[], Any]) -> None:
    """One thread that keeps `depth` futures open."""
    window: deque[tuple[float, Any]] = deque()
    took: list[tuple[float, float]] = []
    now = time.perf_counter()
    while now < meter.end or window:
        while len(window) < depth and now < meter.end:
            window.append((time.perf_counter(), start()))
        began, future = window.popleft()
        future.result()
        now = time.perf_counter()
        took.append((began, now))
    meter.add(took)


async def by_tasks(depth: int, seconds: float, address: str, padding: int) -> Meter:
    """`depth` coroutines over one grpc.aio channel."""
    aio = importlib.import_module("grpc.aio")
    grpc = importlib.import_module("grpc")
    request = v1.HealthCheckRequest(padding=bytes(padding), brief=True)
    credentials = grpc_credentials(grpc, PROFILE)
    async with aio.secure_channel(address, credentials) as channel:
        call = grpc_method(channel)
        await call(request)
        meter = Meter(seconds, WARM_S)

        async def work() -> None:
            mine = []
            now = time.perf_counter()
            while now < meter.end:
                began = now
                await call(request)
                now = time.perf_counter()
                mine.append((began, now))
            meter.add(mine)

        await asyncio.gather(*(work() for _ in range(depth)))
    return meter


def blocking(kind: str, address: str) -> Any:
    """The method of a client that blocks."""
    if kind.startswith("warded"):
        return warded_call(PROFILE)
    grpc = importlib.import_module("grpc")
    channel = grpc.secure_channel(address, grpc_credentials(grpc, PROFILE))
    return grpc_method(channel)


def main(kind: str, depth: int, seconds: float, padding: int, port: str) -> None:
    """Measure and say so."""
    address = f"127.0.0.1:{port}"
    if kind == "aio":
        asyncio.run(by_tasks(depth, seconds, address, padding)).print()
        return
    call = blocking(kind, address)
    request = v1.HealthCheckRequest(padding=bytes(padding), brief=True)
    if len(call(request).padding) != padding:
        raise SystemExit("the padding did not come back")
    meter = Meter(seconds, WARM_S)
    if depth > 1 and kind.endswith(".future"):
        by_futures(meter, depth, lambda: call.future(request))
    else:
        by_threads(meter, depth, lambda: call(request))
    meter.print()


PROFILE = sys.argv[5]
main(
    sys.argv[1],
    int(sys.argv[2]),
    float(sys.argv[3]),
    int(sys.argv[4]),
    (sys.argv[6:] or [""])[0],
)
