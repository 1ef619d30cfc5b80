"""A call as the bytes of its request."""

from __future__ import annotations

from typing import Any

from warded._call import Call
from warded._envelope import Request, encode_plain


def encode(call: Call[Any], timeout_ms: int) -> bytes:
    """With the id and the token that the call has by now."""
    ask = call.ask
    if not ask.metadata and call.attempt == 0:
        return encode_plain(call.id, ask.path, timeout_ms, call.token, ask.payload)
    request = Request(
        call_id=call.id,
        attempt=call.attempt,
        method=ask.path,
        timeout_ms=timeout_ms,
        metadata=ask.metadata,
        payload=ask.payload,
    )
    return request.encode(call.token)
