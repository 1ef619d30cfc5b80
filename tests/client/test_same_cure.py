"""What is wrong with a profile: both clients say the same about what to do.

What a gate says to a certificate that has expired is in test_real_gate.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import warded

from tests.client.c_caller import calling
from tests.client.fake_gate import FakeGate
from tests.client.pki import CLIENT, GATE, TOKEN, Authority, Leaf, Pair
from tests.client.test_profile_kinds import said_of_unreadable

Start = Callable[..., FakeGate]
ProfileOf = Callable[[FakeGate], Path]
Spoil = Callable[[Path, Authority], None]

MAKE = "make a profile with `warded profile new NAME --scope ... --out DIR`"
REGULAR = "put a regular file there"
PAIR = f"they must be one pair, in PEM, the key not encrypted; {MAKE}"
CA = "copy the gate's ca.pem"
TOKEN_CURE = "write one there with `tokctl issue` or `warded profile new`; not sent"
GLOB = (
    "write spiffe://DOMAIN/ns/NS/owner/OWNER[/pool/POOL]/gate/ID in lower case, `*` "
    "for any part of a segment, `**` for anything"
)
IMAGE = "write sha256: and its 64 hexadecimal digits in lower case"
POOL = "write 1 to 512 printable ASCII characters"
HOST = (
    "write an IPv4 address of four numbers, an IPv6 address, or a name of labels of 1 "
    "to 63 characters, 253 in all, that does not end in a number"
)
LINE = (
    "a line is `adopt own|namespace|never`, `gate GLOB`, `image sha256:HEX` or `pool "
    "NAME`"
)


def missing(name: str) -> Spoil:
    """A file is not there."""
    return lambda folder, _: (folder / name).unlink()


def text(name: str, content: str) -> Spoil:
    """A file holds something else."""

    def spoil(folder: Path, _: Authority) -> None:
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(content)

    return spoil


def put(name: str, make: Callable[[Path], None]) -> Spoil:
    """Something else bears the file's name."""

    def spoil(folder: Path, _: Authority) -> None:
        (folder / name).unlink()
        make(folder / name)

    return spoil


def mode(name: str, bits: int) -> Spoil:
    """A file with other permissions."""
    return lambda folder, _: (folder / name).chmod(bits)


def another_key(folder: Path, authority: Authority) -> None:
    """The key of another certificate."""
    (folder / "key.pem").write_bytes(authority.issue(Leaf(uris=(CLIENT,))).key)


def leaf(spec: Leaf) -> Spoil:
    """Another certificate, with its key."""

    def spoil(folder: Path, authority: Authority) -> None:
        pair: Pair = authority.issue(spec)
        pair.write(folder)

    return spoil


NOWHERE = "this symbolic link leads to no file: point it at one or remove it"
GARBAGE = {"ca.pem": CA, "cert.pem": MAKE, "key.pem": PAIR, "token": TOKEN_CURE}
BAD = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CASES: list[tuple[str, Spoil, str]] = [
    *((f"no {name}", missing(name), MAKE) for name in [*GARBAGE, "server"]),
    *((f"empty {name}", text(name, ""), GARBAGE[name]) for name in GARBAGE),
    *((f"{name} of words", text(name, "hello"), GARBAGE[name]) for name in GARBAGE),
    *((f"broken {name}", text(name, BAD), GARBAGE[name]) for name in GARBAGE),
    *((f"{name} a folder", put(name, Path.mkdir), REGULAR) for name in GARBAGE),
    *((f"{name} a pipe", put(name, os.mkfifo), REGULAR) for name in GARBAGE),
    *(
        (f"{name} a link to nothing", put(name, lambda p: p.symlink_to("no")), NOWHERE)
        for name in GARBAGE
    ),
    *(
        (f"{name} of a MiB and a byte", text(name, "x" * ((1 << 20) + 1)), "put the")
        for name in ("ca.pem", "cert.pem", "server", "policy")
    ),
    *((f"{name} for all", mode(name, 0o604), "chmod 600 ") for name in ("key.pem",)),
    *((f"{n} for a group", mode(n, 0o620), "chmod 600 ") for n in ("key.pem", "token")),
    ("the key of another certificate", another_key, PAIR),
    ("a gate's certificate", leaf(Leaf(uris=(GATE,))), MAKE),
    ("no SAN", leaf(Leaf(san=False)), MAKE),
    ("two URIs", leaf(Leaf(uris=(CLIENT, GATE))), MAKE),
    ("a line of no sort", text("policy", "trust all\n"), LINE),
    ("no adoption", text("policy", "adopt all"), "it is own, namespace or never"),
    ("two adoptions", text("policy", "adopt own\nadopt own"), "keep the one you mean"),
    ("an image of two digits", text("policy", "image sha256:zz"), IMAGE),
    ("an image of 63", text("policy", f"image sha256:{'a' * 63}"), IMAGE),
    ("an image of 65", text("policy", f"image sha256:{'a' * 65}"), IMAGE),
    ("an image in capitals", text("policy", f"image sha256:{'A' * 64}"), IMAGE),
    ("a tag for an image", text("policy", "image latest"), IMAGE),
    ("a glob for no gate", text("policy", "gate spiffe://D/**"), GLOB),
    ("a glob for clients", text("policy", "gate spiffe://d/**/client/*"), GLOB),
    ("a client for a gate", text("policy", f"gate {CLIENT}"), GLOB),
    ("a gate of 64 characters", text("policy", f"gate **/gate/{'a' * 64}"), GLOB),
    ("a pool of no ASCII", text("policy", "pool caf\u00e9"), POOL),
    ("a pool of 513", text("policy", f"pool {'p' * 513}"), POOL),
    ("a server in two words", text("server", "a b"), "a line is `HOST:PORT`, or `ADD"),
    ("no server", text("server", "# none\n"), "write a line `HOST:PORT`"),
    ("three numbers", text("server", "127.0.1:7443"), HOST),
    ("256", text("server", "1.2.3.256"), HOST),
    ("an empty label", text("server", "a..b:1"), HOST),
    ("a label of 64", text("server", f"{'a' * 64}.b"), HOST),
    ("a number as whom to expect", text("server", "a as 7"), HOST),
]  # fmt: skip


def cure(said: str, told: str) -> str:
    """What a refusal says to do, from `told` on, behind what is wrong."""
    assert f"; {told}" in said, said
    return said[said.index(f"; {told}") :]


@pytest.fixture
def profile(start: Start, profile_of: ProfileOf) -> Path:
    """A good profile, which each case spoils."""
    return profile_of(start())


@pytest.mark.parametrize(
    ("spoil", "told"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_both_clients_tell_the_same_cure_of_a_profile(
    profile: Path, authority: Authority, spoil: Spoil, told: str
) -> None:
    spoil(profile, authority)
    with pytest.raises(warded.RpcError) as caught:
        warded.connect(profile)
    with calling(profile) as caller:
        by_c = caller.check()
    assert by_c.phase == str(caught.value.phase.name).lower()
    assert by_c.message.startswith(str(profile))
    assert caught.value.details().startswith(str(profile))
    assert cure(by_c.message, told) == cure(caught.value.details(), told)
    assert TOKEN not in by_c.message


@pytest.mark.parametrize("name", [*GARBAGE, "server", "policy"])
def test_both_clients_tell_the_same_cure_of_a_file_that_may_not_be_read(
    profile: Path, name: str
) -> None:
    by_python, by_c = said_of_unreadable(profile, name)
    for said in (by_c.message, by_python):
        assert said.startswith(f"{profile / name}: ")
        assert said.endswith("; check its owner and its mode")


def test_a_cure_of_the_c_client_is_not_another_than_its_message_says(
    profile: Path,
) -> None:
    (profile / "key.pem").chmod(0o644)
    with calling(profile) as caller:
        assert caller.check().cure == "mend the file that the message names, as it says"
