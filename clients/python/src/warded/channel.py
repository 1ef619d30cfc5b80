"""Channels: where calls go, as an immutable and picklable value."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from warded._call import Ask, Call
from warded._envelope import Metadata, read_metadata
from warded._links import Spec, links
from warded._refusals import bad_text, too_large
from warded._texts import find_nul
from warded._timeout import read_timeout_ms
from warded._wire import FrameTooLargeError, check_size
from warded.errors import profile_error
from warded.profile import Profile, default_path


class Message(Protocol):
    """A protobuf message, as far as calls need it."""

    def SerializeToString(self) -> bytes:  # noqa: N802  # protobuf's name
        """Its bytes."""

    @classmethod
    def FromString(cls, data: bytes) -> Any:  # noqa: N802  # protobuf's name
        """The message that the bytes are."""


In = TypeVar("In", bound=Message)
Out = TypeVar("Out", bound=Message)


@dataclass(frozen=True)
class Channel:
    """A profile to call by. Holds no connection: processes and threads share it freely.

    Connections are the process's own: made at the first call, shared by equal channels,
    dropped without a word by a forked child, which opens its own.
    """

    profile: str
    token: str | None = field(default=None, repr=False)

    def unary_unary(
        self, path: str, request: type[In], reply: type[Out]
    ) -> UnaryUnary[In, Out]:
        """The callable behind a stub's method; `path` is "/package.Service/Method"."""
        return UnaryUnary(self, path, request, reply)

    def unary_stream(
        self, path: str, request: type[In], reply: type[Out]
    ) -> UnaryUnary[In, Out]:
        """As `unary_unary`: gates build no streams yet, and answer NOT_BUILT."""
        return UnaryUnary(self, path, request, reply)

    def close(self) -> None:
        """End this process's connection once its calls have their answers.

        Equal channels share it; the next call by any of them opens another.
        """
        links.close(self.spec)

    @property
    def spec(self) -> Spec:
        """What connections are keyed by."""
        return self.profile, self.token

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class UnaryUnary(Generic[In, Out]):
    """One method: call it, or take `.with_call` or `.future`."""

    channel: Channel
    path: str
    request: type[In]
    reply: type[Out]

    def __call__(
        self,
        request: In,
        timeout: float | None = None,
        metadata: Metadata = None,
        *,
        wait_for_ready: bool = False,
    ) -> Out:
        """Call and wait for the reply.

        `timeout`: seconds, 30 when None; the gate ends the call by then, and the client
        waits two seconds longer for what there is.
        `wait_for_ready`: keep trying to connect until the deadline.
        Raises RpcError.
        """
        call = self._make(request, timeout, metadata, wait_for_ready)
        return _run(call)

    def with_call(
        self,
        request: In,
        timeout: float | None = None,
        metadata: Metadata = None,
        *,
        wait_for_ready: bool = False,
    ) -> tuple[Out, Call[Out]]:
        """As calling it, but gives the reply and the call."""
        call = self._make(request, timeout, metadata, wait_for_ready)
        return _run(call), call

    def future(
        self,
        request: In,
        timeout: float | None = None,
        metadata: Metadata = None,
        *,
        wait_for_ready: bool = False,
    ) -> Call[Out]:
        """Start the call; the result is a future with `.cancel()`.

        Raises InvalidCall for arguments that no gate would take, ProfileError.
        """
        call = self._make(request, timeout, metadata, wait_for_ready)
        call.start()
        return call

    def _make(
        self, request: In, timeout: float | None, metadata: Metadata, patient: bool
    ) -> Call[Out]:
        if not isinstance(request, self.request):
            raise TypeError(f"{self.path} takes a {self.request.__name__}")
        ask = Ask(
            self.path,
            _encode(self.path, request),
            self.reply.FromString,
            read_timeout_ms(timeout),
            {} if metadata is None else read_metadata(metadata),
            patient,
        )
        link = links.find(self.channel.spec)
        return Call(ask, link, link.clock)


def connect(
    profile: str | os.PathLike[str] | None = None, *, token: str | None = None
) -> Channel:
    """A channel to the gate of a profile folder.

    `profile`: the folder; None: $WARDED_PROFILE, else ~/.config/warded/default.
    `token`: sent as it is, in place of the profile's token file; a secret, which then
    travels with the channel when that is pickled.

    Reads the profile but does not dial: the first call does.
    Raises ProfileError: naming file and cure.

    Example::

        channel = warded.connect("build/try/profile/trainer")
        stub = ObservationStub(channel)
    """
    if profile == "":  # which a path would take for the folder that we are in
        raise profile_error("connect(''): name a profile's folder, or leave it out")
    folder = Path(profile) if profile is not None else default_path()
    checked = Profile(folder.absolute())
    checked.credentials()
    if token is None:
        checked.token()
    return Channel(str(checked.path), token)


def _run(call: Call[Out]) -> Out:
    try:
        call.start()
        return call.result()
    except KeyboardInterrupt:
        call.cancel()  # what it started has no reader any more
        raise


def _encode(path: str, request: Message) -> bytes:
    try:
        payload = request.SerializeToString()
    except UnicodeEncodeError as error:  # where protobuf itself looks no earlier
        raise bad_text(path, f"a text that is no UTF-8: {error}") from error
    try:
        check_size(len(payload))
    except FrameTooLargeError as error:
        raise too_large(path, error) from error
    if b"\0" in payload and hasattr(request, "ListFields"):
        where = find_nul(request)
        if where is not None:
            raise bad_text(path, f"{where} has a NUL in its text")
    return payload
