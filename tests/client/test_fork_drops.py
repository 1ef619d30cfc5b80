"""What a forked child has of its parent's: no descriptor, no call, no id to come."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import warded
from warded import _fork, v1
from warded._callid import GateClock, SystemClock, make_call_id
from warded._connection import Connection
from warded._links import links
from warded._open import Socket
from warded._renew import Renewal

from tests.client.echo import echo
from tests.client.fake_gate import FakeGate
from tests.client.pki import Authority, make_profile

CHILD_S = 60
SPARE = 64  # descriptors, more than a channel and its gate have
IDS = 100

pytestmark = pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")
Start = Callable[..., FakeGate]
ChannelOf = Callable[[FakeGate], warded.Channel]


def in_child(check: Callable[[], None]) -> None:
    """Run `check` in a forked child; its failure, or its hanging, is this test's."""
    pid = os.fork()
    if pid == 0:
        code = 1
        signal.alarm(CHILD_S)
        try:
            check()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def inodes() -> set[int]:
    """Everything that this process has open."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.fstat(int(path.name)).st_ino)
        except OSError:
            continue  # the folder's own number
    return found


def are_open(numbers: list[int]) -> None:
    """None of them was closed."""
    for number in numbers:
        os.fstat(number)


def live(channel: warded.Channel) -> Connection:
    """The connection of a channel, which has one."""
    connection = links.find((channel.profile, None))._connection
    assert connection is not None
    return connection


def numbers_of(connection: Connection) -> list[int]:
    """Its descriptors: the socket, and the pipe that wakes its thread."""
    wakeup = connection._wakeup
    return [connection._raw.fileno(), wakeup.fd, wakeup._in]


def wait_for_threads() -> None:
    """Until the threads of connections have closed them and gone."""
    for thread in threading.enumerate():
        if thread.name == "warded":
            thread.join(CHILD_S)


@pytest.fixture
def channel(start: Start, channel_of: ChannelOf) -> warded.Channel:
    """A live channel."""
    made = channel_of(start())
    assert echo(made, 1) == 1
    return made


# --- descriptors ---------------------------------------------------------------------


def test_claim_12_a_child_has_no_descriptor_of_its_parents_connection(
    channel: warded.Channel,
) -> None:
    connection = live(channel)
    theirs = {os.fstat(number).st_ino for number in numbers_of(connection)}
    assert theirs <= inodes()

    def check() -> None:
        assert not theirs & inodes()
        assert connection.dead
        assert not links._links

    in_child(check)
    assert theirs <= inodes()
    assert echo(channel, 3) == 3  # by the connection that it had
    assert live(channel) is connection


def test_claim_12_a_child_has_no_descriptor_of_a_connection_in_the_making(
    tmp_path: Path, authority: Authority
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gate:
        port = gate.getsockname()[1]
        profile = make_profile(tmp_path / "profile", authority, f"127.0.0.1:{port}")
        with warded.connect(profile) as channel:
            call = v1.HealthStub(channel).Check.future(v1.HealthCheckRequest())
            silent, peer = gate.accept()
            (theirs,) = (
                os.fstat(owner.raw.fileno()).st_ino
                for owner in list(_fork.registry._owners.values())
                if isinstance(owner, Socket) and owner.raw.getsockname() == peer
            )

            def check() -> None:
                assert theirs not in inodes()

            in_child(check)
            assert theirs in inodes()
            silent.close()
            assert isinstance(call.exception(), warded.Unreachable)


def test_claim_12_a_grandchild_keeps_what_the_child_has_opened(
    channel: warded.Channel,
) -> None:
    """The numbers that the child has closed are others' by then."""
    numbers = numbers_of(live(channel))

    def check() -> None:
        opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(SPARE)]
        assert set(numbers) <= set(opened)
        in_child(lambda: are_open(opened))

    in_child(check)


def test_claim_12_a_child_keeps_what_has_the_numbers_of_a_closed_connection(
    channel: warded.Channel,
) -> None:
    numbers = numbers_of(live(channel))
    channel.close()
    wait_for_threads()
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(SPARE)]
    try:
        assert set(numbers) & set(opened)
        in_child(lambda: are_open(opened))
    finally:
        for number in opened:
            os.close(number)


def test_claim_12_a_closed_connection_is_nothing_that_a_child_must_drop(
    channel: warded.Channel,
) -> None:
    connection = live(channel)
    mine = {id(connection), id(connection._socket)}
    assert mine <= set(_fork.registry._owners)
    channel.close()
    wait_for_threads()
    assert not mine & set(_fork.registry._owners)


# --- locks, calls, numbers -----------------------------------------------------------


def test_claim_12_a_lock_that_another_thread_holds_does_not_stop_the_child(
    channel: warded.Channel,
) -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with links._lock:
            held.set()
            over.wait(CHILD_S)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(CHILD_S)
    try:
        in_child(lambda: links.close((channel.profile, None)))
    finally:
        over.set()
        thread.join()


def test_claim_12_a_call_of_the_parent_is_over_for_the_child(
    start: Start, channel_of: ChannelOf
) -> None:
    gate = start(lambda _gate, _request: None)  # never answers
    channel = channel_of(gate)
    call = v1.HealthStub(channel).Check.future(v1.HealthCheckRequest(), timeout=60)
    gate.wait_for(lambda seen: len(seen.requests) == 1)

    def check() -> None:
        assert call.done()
        assert not call.running()
        assert not call.cancel()
        error = call.exception()
        assert isinstance(error, warded.InvalidCall)
        assert error.reason is warded.Reason.FORKED

    in_child(check)
    assert not call.done()
    assert len(gate.seen.requests) == 1  # nothing came from the child


def test_claim_12_parent_and_children_make_different_call_ids() -> None:
    """A copy of the parent's generator would go on with the same numbers."""
    made: list[list[bytes]] = []
    for _ in range(2):
        reader, writer = os.pipe()

        def tell(fd: int = writer) -> None:
            os.write(fd, b"".join(make_call_id(0) for _ in range(IDS)))

        in_child(tell)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            ids = pipe.read()
        made.append([ids[at : at + 16] for at in range(0, len(ids), 16)])
    made.append([make_call_id(0) for _ in range(IDS)])
    assert len({one for ids in made for one in ids}) == 3 * IDS


def test_claim_12_parent_and_children_renew_their_tokens_at_different_moments(
    tmp_path: Path,
) -> None:
    """All children of a trainer are not to ask the gate at once."""
    (tmp_path / "expires").write_text(f"0 {1 << 62}\n")
    moments = []
    for _ in range(2):
        reader, writer = os.pipe()

        def tell(fd: int = writer) -> None:
            os.write(fd, str(due_ms(tmp_path)).encode())

        in_child(tell)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            moments.append(int(pipe.read()))
    assert len({*moments, due_ms(tmp_path)}) == 3


def due_ms(folder: Path) -> int:
    """When a process that looks now would renew the token of this profile."""
    renewal = Renewal(folder, GateClock(SystemClock()), lambda: 0)
    renewal._watched = True  # no thread of its own
    renewal._look()
    return renewal._due_ms
