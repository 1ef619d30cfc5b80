"""The closed sets that programs branch on: status codes, reasons, phases."""

from __future__ import annotations

import enum


class Named(enum.IntEnum):
    """A number that prints as its name, on every Python: "OK", not "0"."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        as_number = spec != "" and spec[-1] in "bcdeEfFgGnoxX%"
        return format(int(self) if as_number else self.name, spec)


class StatusCode(Named):
    """How a call ended, with gRPC's names and numbers."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @classmethod
    def _missing_(cls, value: object) -> StatusCode:
        return cls.UNKNOWN


class Reason(Named):
    """Why a call did not answer OK: `warded.v1.Reason`, number by number.

    A number that this version does not know becomes a member named REASON_<number>:
    shown as it is, never taken for success.
    """

    REASON_UNSPECIFIED = 0
    TOKEN_MISSING = 1
    TOKEN_MALFORMED = 2
    TOKEN_UNKNOWN = 3
    TOKEN_EXPIRED = 4
    TOKEN_NOT_YET = 5
    TOKEN_REVOKED = 6
    TOKEN_RETIRED = 7
    TOKEN_NOT_YOURS = 8
    TOKEN_AUDIENCE = 9
    IDENTITY_DENIED = 10
    SCOPE_MISSING = 11
    METHOD_UNKNOWN = 12
    SESSION_NOT_YOURS = 13
    HOST_NOT_ADOPTED = 14
    QUEUE_FULL = 15
    QUOTA = 16
    TOKEN_USES_SPENT = 17
    CAPACITY = 18
    TOO_LARGE = 19
    MALFORMED = 20
    FIELD_INVALID = 21
    CALL_ID_REUSED = 22
    CLOCK_SKEW = 23
    TOOL_UNKNOWN = 24
    ENVIRONMENT_UNKNOWN = 25
    SESSION_UNKNOWN = 26
    SESSION_LOST = 27
    TOKEN_ID_UNKNOWN = 28
    EPISODE_FINISHED = 29
    STEP_OUT_OF_ORDER = 30
    CONFLICT = 31
    FORKED = 32
    REPLY_EVICTED = 33
    CALL_ID_EXPIRED = 34
    OUTCOME_UNKNOWN = 35
    QUEUE_TIMEOUT = 36
    RUN_TIMEOUT = 37
    CANCELLED = 38
    AUDIT_UNWRITABLE = 39
    SANDBOX_UNAVAILABLE = 40
    DRAINING = 41
    UNREACHABLE = 42
    TLS_REFUSED = 43
    NOT_BUILT = 44
    EXECUTOR_DIED = 45
    WORKER_FAILED = 46
    BUG = 47
    OUTCOME_UNRECORDED = 48
    CHAIN_BROKEN = 49
    NOT_ON_RECORD = 50
    STORE_UNAVAILABLE = 51

    @classmethod
    def _missing_(cls, value: object) -> Reason | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"REASON_{value}"
        member._value_ = value
        return member


class Phase(enum.Enum):
    """How far a call had come when it failed."""

    PROFILE = "profile"  # reading the profile's files
    RESOLVE = "resolve"  # the gate's name
    CONNECT = "connect"  # TCP
    TLS = "tls"  # the handshake, until the gate's greeting
    HOST = "host"  # who the gate is
    AUTH = "auth"  # the token
    SEND = "send"  # the request, before all of it was handed to the kernel
    WAIT = "wait"  # sent, no answer yet: it may have run
    REMOTE = "remote"  # the gate answered
