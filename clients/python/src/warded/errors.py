"""What can go wrong with a call: one tree, typed by what a caller does about it.

RpcError
  ProfileError       a file of the profile is missing, wrong or readable by others
  Unauthenticated    get another token or certificate
  PermissionDenied   ask whoever grants scopes
    HostNotAdopted   the gate is not one that the profile's policy trusts
  InvalidCall        the call is wrong: sending it again changes nothing
  Busy               nothing ran: wait `retry_after_ms`, then send it again
  Unavailable        nothing ran: the gate can't take calls now
    Unreachable      no gate answered, or the connection died before the call left
    TlsRefused       the gate refused the handshake: `alert` names why
  DeadlineExceeded   `may_have_run` tells whether the gate may have begun
  Cancelled          by `.cancel()`, or by the gate for another's sake
  OutcomeUnknown     it may have run; its gate could not be asked again, or can't tell
  ServerFault        the gate or its executor failed
"""

# ruff: noqa: N818  # these names say what happened; "Error" would say it twice
from __future__ import annotations

from dataclasses import dataclass, replace

from warded._quote import mask
from warded.status import Phase, Reason, StatusCode

_NEVER_RAN = frozenset(
    {
        Reason.CLOCK_SKEW,
        Reason.CALL_ID_EXPIRED,
        Reason.QUEUE_TIMEOUT,
        Reason.UNREACHABLE,
        Reason.TLS_REFUSED,
        Reason.AUDIT_UNWRITABLE,
        Reason.SANDBOX_UNAVAILABLE,
        Reason.DRAINING,
    }
)
_MAY_HAVE_RUN = frozenset(
    {
        StatusCode.ABORTED,
        StatusCode.CANCELLED,
        StatusCode.DATA_LOSS,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.UNKNOWN,
    }
)


@dataclass(frozen=True)
class Failure:
    """The facts of a failed call, as the exceptions carry them."""

    code: StatusCode
    reason: Reason
    message: str
    phase: Phase
    retry_after_ms: int = 0
    alert: str = ""
    call_id: str = ""


class RpcError(Exception):
    """A call that did not answer OK. Exceptions are picklable.

    Example::

        try:
            stub.GetObservation(request)
        except warded.Busy as error:
            time.sleep(error.retry_after_ms / 1000)
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure

    def code(self) -> StatusCode:
        """The status: gRPC's numbers."""
        return self.failure.code

    def details(self) -> str:
        """For people: what was attempted, why it failed, what to do."""
        return self.failure.message

    def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        """Nothing yet; for code that was written for gRPC."""
        return ()

    @property
    def reason(self) -> Reason:
        """What programs branch on."""
        return self.failure.reason

    @property
    def phase(self) -> Phase:
        """How far the call had come."""
        return self.failure.phase

    @property
    def retry_after_ms(self) -> int:
        """When to try again, milliseconds; 0: not by the clock."""
        return self.failure.retry_after_ms

    @property
    def call_id(self) -> str:
        """The call's UUID as the audit trail has it; empty: it had none yet."""
        return self.failure.call_id

    @property
    def may_have_run(self) -> bool:
        """Whether the gate may have begun the call."""
        if self.phase not in (Phase.WAIT, Phase.REMOTE) or self.reason in _NEVER_RAN:
            return False
        return self.phase is Phase.WAIT or self.code() in _MAY_HAVE_RUN

    def __str__(self) -> str:
        f = self.failure
        what = f"{f.code}/{f.reason}" if f.reason else f"{f.code}"
        return f"{what} [{f.phase.value}]: {f.message}"


class ProfileError(RpcError):
    """A file of the profile is missing, wrong or readable by others."""


class Unauthenticated(RpcError):
    """The gate does not know the token, or it is not this identity's."""


class PermissionDenied(RpcError):
    """The token's scopes do not allow it."""


class HostNotAdopted(PermissionDenied):
    """The peer is not a gate that the policy trusts. It received no byte of a call."""


class InvalidCall(RpcError):
    """The call is wrong; sending it again gets the same answer."""


class Busy(RpcError):
    """Nothing ran: wait `retry_after_ms` and send the call again."""


class Unavailable(RpcError):
    """Nothing ran: the gate can't take calls now."""


class Unreachable(Unavailable):
    """The call was not sent; it is safe to send it again. Never an observation."""


class TlsRefused(Unavailable):
    """The gate refused the handshake."""

    @property
    def alert(self) -> str:
        """The TLS alert's name: "certificate_required", "unknown_ca", ..."""
        return self.failure.alert


class DeadlineExceeded(RpcError):
    """No answer within the deadline (and the two seconds of grace)."""


class Cancelled(RpcError):
    """The call was cancelled; what it had started is dead."""


class OutcomeUnknown(RpcError):
    """The call may have run, and its reply is lost."""


class ServerFault(RpcError):
    """The gate, its executor or a worker failed."""


_BY_REASON: dict[Reason, type[RpcError]] = {
    Reason.HOST_NOT_ADOPTED: HostNotAdopted,
    Reason.UNREACHABLE: Unreachable,
    Reason.TLS_REFUSED: TlsRefused,
    Reason.TOO_LARGE: InvalidCall,
    Reason.TOKEN_USES_SPENT: Unauthenticated,
    Reason.CALL_ID_EXPIRED: InvalidCall,
}
_BY_CODE: dict[StatusCode, type[RpcError]] = {
    StatusCode.CANCELLED: Cancelled,
    StatusCode.INVALID_ARGUMENT: InvalidCall,
    StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    StatusCode.NOT_FOUND: InvalidCall,
    StatusCode.ALREADY_EXISTS: InvalidCall,
    StatusCode.PERMISSION_DENIED: PermissionDenied,
    StatusCode.RESOURCE_EXHAUSTED: Busy,
    StatusCode.FAILED_PRECONDITION: InvalidCall,
    StatusCode.ABORTED: OutcomeUnknown,
    StatusCode.OUT_OF_RANGE: InvalidCall,
    StatusCode.UNIMPLEMENTED: InvalidCall,
    StatusCode.UNAVAILABLE: Unavailable,
    StatusCode.DATA_LOSS: OutcomeUnknown,
    StatusCode.UNAUTHENTICATED: Unauthenticated,
}


def make_error(failure: Failure) -> RpcError:
    """The exception of the tree that fits `failure`; it never holds a token."""
    failure = replace(failure, message=mask(failure.message))
    if failure.phase is Phase.PROFILE:
        return ProfileError(failure)
    kind = _BY_REASON.get(failure.reason) or _BY_CODE.get(failure.code, ServerFault)
    return kind(failure)


def profile_error(message: str) -> RpcError:
    """A ProfileError; `message` names the file and the cure."""
    return make_error(
        Failure(
            StatusCode.FAILED_PRECONDITION,
            Reason.REASON_UNSPECIFIED,
            message,
            Phase.PROFILE,
        )
    )


def unreachable(message: str, phase: Phase, *, call_id: str = "") -> RpcError:
    """An Unreachable: nothing was sent."""
    return make_error(
        Failure(
            StatusCode.UNAVAILABLE,
            Reason.UNREACHABLE,
            f"{message}; not sent, safe to retry",
            phase,
            call_id=call_id,
        )
    )
