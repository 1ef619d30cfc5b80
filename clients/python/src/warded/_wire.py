"""SP (scalability protocols, REQ/REP version 0) as bytes in, events out.

docs/protocol.md, section 2. No I/O and no clock here: the caller moves the bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

FRAME_BYTES = 16 << 20
"""Largest envelope, either way; the gate's setting is limits.frame_bytes."""

_GREETING = b"\0SP\0\0\x30\0\0"  # we are REQ
_PEER_GREETING = b"\0SP\0\0\x31\0\0"  # the gate is REP
_SLACK_BYTES = 64 << 10  # a gate may be set a little above the default
_TOP_BIT = 0x80000000
_LENGTH = struct.Struct(">Q")
_ID = struct.Struct(">I")
_HEADER = struct.Struct(">QI")
_ID_BYTES = 4


class WireError(Exception):
    """The peer does not speak the protocol: the connection is of no more use."""


class FrameTooLargeError(Exception):
    """An envelope that the gate would refuse; nothing was sent."""


@dataclass(frozen=True)
class Greeted:
    """The peer's greeting has come whole: requests may be sent."""


class Answer(NamedTuple):
    """The answer to one outstanding request."""

    request_id: int
    body: bytes


Event = Greeted | Answer


class Wire:
    """One connection's framing and its table of outstanding requests."""

    def __init__(self, *, frame_bytes: int = FRAME_BYTES) -> None:
        self._frame_bytes = frame_bytes
        self._buffer = bytearray()
        self._greeted = False
        self._outstanding: set[int] = set()
        self._last_id = 0

    @property
    def outstanding(self) -> int:
        """How many requests have no answer yet."""
        return len(self._outstanding)

    def greeting(self) -> bytes:
        """What we send, once, before the first request."""
        return _GREETING

    def request(self, body: bytes) -> tuple[int, bytes]:
        """Frame `body` as a new request: (request id, bytes to send).

        Raises FrameTooLargeError: names size, limit and setting; nothing changed.
        """
        if not self._greeted:
            raise AssertionError("a request before the peer's greeting")
        check_size(len(body), self._frame_bytes)
        request_id = self._next_id()
        self._outstanding.add(request_id)
        return request_id, _HEADER.pack(len(body) + _ID_BYTES, request_id) + body

    def forget(self, request_id: int) -> None:
        """Stop waiting for an answer; if it comes all the same, it is dropped."""
        self._outstanding.discard(request_id)

    def receive(self, data: bytes) -> list[Event]:
        """Take bytes as they came; give what they completed, in order.

        Raises WireError: wrong greeting, absurd length, no request id.
        """
        events: list[Event] = []
        if self._greeted and not self._buffer:  # no need to gather, nearly always
            at = self._take_frames(data, events)
            self._buffer += data[at:]
            return events
        self._buffer += data
        if not self._greeted:
            if not self._take_greeting():
                return events
            events.append(Greeted())
        del self._buffer[: self._take_frames(self._buffer, events)]
        return events

    def _next_id(self) -> int:
        while True:
            self._last_id = (self._last_id + 1) % _TOP_BIT
            request_id = self._last_id | _TOP_BIT
            if request_id not in self._outstanding:
                return request_id

    def _take_greeting(self) -> bool:
        seen = bytes(self._buffer[: len(_PEER_GREETING)])
        if not _PEER_GREETING.startswith(seen):
            raise WireError(f"greeting {seen.hex(' ')} is not an SP replier's")
        if len(seen) < len(_PEER_GREETING):
            return False
        del self._buffer[: len(_PEER_GREETING)]
        self._greeted = True
        return True

    def _take_frames(self, data: bytes | bytearray, events: list[Event]) -> int:
        """Every frame that is whole; how many bytes they are."""
        outstanding = self._outstanding
        most = self._frame_bytes + _SLACK_BYTES + _ID_BYTES
        size = len(data)
        at = 0
        while size - at >= 8:
            (length,) = _LENGTH.unpack_from(data, at)
            if not _ID_BYTES <= length <= most:
                raise WireError(f"a frame of {length} bytes; allowed are 4 to {most}")
            end = at + 8 + length
            if size < end:
                break
            (request_id,) = _ID.unpack_from(data, at + 8)
            if request_id in outstanding:
                outstanding.discard(request_id)
                events.append(Answer(request_id, bytes(data[at + 12 : end])))
            elif not request_id & _TOP_BIT:
                raise WireError(f"request id {request_id:#010x} lacks the top bit")
            # else it is late: nobody waits for it any more
            at = end
        return at


def check_size(size: int, limit: int = FRAME_BYTES) -> None:
    """Raise FrameTooLargeError when an envelope of `size` bytes exceeds `limit`."""
    if size > limit:
        raise FrameTooLargeError(
            f"the request is {size} bytes; the limit is {limit} "
            "(limits.frame_bytes of the gate): send fewer or smaller items"
        )
