"""The trainer's real profile in the hands of code under test opens no door.

Certificate, key, token and address are the real ones; first inside an action, then in a
process of a slot's uid on the host's network, as if the namespaces had let it out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from warded.v1 import GetObservationReply, GetObservationRequest, Item

from tests.conftest import NewGate, NewHome
from tests.support.calls import OBSERVE, WHO, rows
from tests.support.gate import Gate
from tests.support.raw_client import RawClient

SLOTS = 2
FILES = ("ca.pem", "cert.pem", "key.pem", "token", "server")

# For each way to the gate "in", or how it ended otherwise. A TLS 1.3 client believes to
# be done first: only the gate's greeting tells.
THIEF = """
import os, socket, ssl, sys
folder = sys.argv[1] if len(sys.argv) > 1 else "/work"
for name, text in STOLEN.items():
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.load_verify_locations(f"{folder}/ca.pem")
context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
if len(sys.argv) > 2:  # a socket belongs to who makes it
    os.setresgid(*[int(sys.argv[2])] * 3)
    os.setresuid(*[int(sys.argv[2])] * 3)
def enter(family, address):
    plain = socket.socket(family)
    plain.settimeout(5)
    plain.connect(address)
    with context.wrap_socket(plain) as peer:
        peer.sendall(bytes.fromhex("0053500000300000"))
        return peer.recv(8)
for host in HOSTS:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        answer = enter(family, (host, PORT))
        print("in" if answer else "closed", host)
    except OSError as error:
        print("out", host, type(error).__name__, error)
"""


def steal(profile: Path, hosts: list[str]) -> str:
    """The thief's code, with the profile's bytes in it."""
    stolen = {name: (profile / name).read_text() for name in FILES}
    port = int(stolen["server"].split()[0].rsplit(":", 1)[1])
    return f"STOLEN, HOSTS, PORT = {stolen!r}, {hosts!r}, {port}\n{THIEF}"


def addresses() -> list[str]:
    """Every address of this machine, and what else may lead to it."""
    shown = subprocess.run(
        ["ip", "-j", "address"], capture_output=True, text=True, check=True
    )
    own = [a["local"] for link in json.loads(shown.stdout) for a in link["addr_info"]]
    return ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "0.0.0.0", *own]


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"], ids=["loopback", "everywhere"])
def gate(new_home: NewHome, new_gate: NewGate, request: pytest.FixtureRequest) -> Gate:
    home = new_home()
    base = f"uid_base: {home.take_uids().start}\n"
    text = home.config.read_text().replace("127.0.0.1:0", f"{request.param}:0")
    home.config.write_text(text.replace(base, f"{base}  slots: {SLOTS}\n"))
    home.profile("trainer", "observe:python_code")
    return new_gate(home)


@pytest.fixture
def profile(gate: Gate) -> Path:
    """Of the trainer, whose address is one that can be dialled."""
    path = gate.home.path / "profile/trainer"
    server = path / "server"
    server.write_text(server.read_text().replace("0.0.0.0", "127.0.0.1"))
    return path


def refusals(gate: Gate) -> list[dict[str, object]]:
    """Rows of refused connections."""
    found = [json.loads(row) for row in rows(gate.home)]
    return [row for row in found if row["event"] == "tls.reject"]


def wait_for_refusal(gate: Gate) -> dict[str, object]:
    """The first such row, when it is there: rows of one cause are written together."""
    end = time.monotonic() + 30
    while not (found := refusals(gate)):
        assert time.monotonic() < end, [json.loads(row) for row in rows(gate.home)]
        time.sleep(0.1)
    return found[0]


def test_claim_10_an_action_with_the_trainers_profile_reaches_nothing(
    gate: Gate, profile: Path
) -> None:
    hosts = [*addresses(), "169.254.169.254"]
    with RawClient(profile) as raw:
        assert raw.call(WHO).code == 0  # it is a good profile
        item = Item(trajectory_id="t", tool="python_code", action=steal(profile, hosts))
        payload = GetObservationRequest(items=[item]).SerializeToString()
        reply = raw.call(OBSERVE, payload)
    result = GetObservationReply.FromString(reply.payload).results[0]
    printed = "".join(content.text for content in result.content)
    lines = printed.splitlines()
    assert [line.split()[:2] for line in lines] == [["out", host] for host in hosts]
    assert refusals(gate) == []  # no packet of it came so far


@pytest.mark.parametrize("number", range(2 * SLOTS))
def test_claim_10_a_slots_uid_on_the_hosts_network_is_refused_in_the_handshake(
    gate: Gate, profile: Path, tmp_path: Path, number: int
) -> None:
    uid = gate.home.take_uids().start + number
    code = steal(profile, ["127.0.0.1"])
    done = subprocess.run(
        [sys.executable, "-", str(tmp_path), str(uid)],
        input=code, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split()[0] in {"out", "closed"}, done.stdout
    row = wait_for_refusal(gate)
    assert row["reason"] == "slot_uid", row


def test_claim_10_another_uid_of_the_host_is_let_in_with_the_same_files(
    gate: Gate, profile: Path, tmp_path: Path
) -> None:
    code = steal(profile, ["127.0.0.1"])
    first = gate.home.take_uids().start
    for uid in (0, 65534, first - 1, first + 2 * SLOTS):
        done = subprocess.run(
            [sys.executable, "-", str(tmp_path), str(uid)],
            input=code, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert done.stdout == "in 127.0.0.1\n", done.stderr
    assert refusals(gate) == []
