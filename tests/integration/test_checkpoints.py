"""What the gate signs of its own accord, and that strangers' tools can check it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.calls import OBSERVE, PATIENCE_S, batch, rows
from tests.support.gate import Home
from tests.support.raw_client import RawClient
from tests.support.store import INTEGRITY
from tests.support.stub_gate import RefusedError, StubGate


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Its text, taken apart by hand."""

    text: str

    @property
    def seq(self) -> int:
        return int(self.text.splitlines()[1])

    @property
    def key_id(self) -> str:
        return self.text.splitlines()[5].split()[2]

    @property
    def signed(self) -> bytes:
        return self.text.partition("\n\n")[0].encode() + b"\n"

    @property
    def signature(self) -> bytes:
        return base64.b64decode(self.text.splitlines()[5].split()[3], validate=True)


def signed_up_to(home: Home, seq: int) -> Checkpoint:
    """Look until the file beside the store is of this row or a later one."""
    file = home.path / "state/store/checkpoint"
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if file.exists() and Checkpoint(file.read_text()).seq >= seq:
            return Checkpoint(file.read_text())
    raise AssertionError(f"row {seq} was not signed")


def certificate(home: Home, key_id: str) -> str:
    with sqlite3.connect(home.path / "state/store/store.db") as db:
        found = db.execute(
            "SELECT value FROM meta WHERE name = ?", (f"signer:{key_id}",)
        ).fetchone()
    db.close()
    return str(found[0])


def openssl(*words: str | Path) -> bytes:
    return subprocess.run(["openssl", *words], capture_output=True, check=True).stdout


def test_claim_08_a_gate_signs_its_head_and_openssl_agrees(
    stub: StubGate, tmp_path: Path
) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        head = raw.call(OBSERVE, batch("a")).head
    one = signed_up_to(stub.home, head.seq)
    names = ("cert", "public", "text", "signature")
    pem, public, text, signature = (tmp_path / name for name in names)
    pem.write_text(certificate(stub.home, one.key_id))
    public.write_bytes(openssl("x509", "-in", pem, "-pubkey", "-noout"))
    text.write_bytes(one.signed)
    signature.write_bytes(one.signature)
    openssl("dgst", "-sha256", "-verify", public, "-signature", signature, text)
    der = openssl("pkey", "-pubin", "-in", public, "-outform", "DER")
    assert hashlib.sha256(der).hexdigest()[:16] == one.key_id
    ca = stub.home.path / "profile/trainer/ca.pem"
    openssl("verify", "-partial_chain", "-CAfile", ca, pem)


def test_claim_08_the_last_row_of_a_gate_that_stops_is_signed_by_the_next_start(
    stub: StubGate,
) -> None:
    assert stub.stop() == "exit 0"
    stopped = int(json.loads(rows(stub.home, "--event", "gate.stop")[-1])["seq"])
    stub.close()
    stub.start()
    assert signed_up_to(stub.home, stopped + 1).seq > stopped


def test_claim_08_a_tail_cut_below_a_checkpoint_needs_no_witness(
    stub: StubGate,
) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        head = raw.call(OBSERVE, batch("a")).head
    signed = signed_up_to(stub.home, head.seq).seq
    stub.close()
    with sqlite3.connect(stub.home.path / "state/store/store.db") as db:
        db.execute("DELETE FROM audit WHERE seq >= ?", (signed,))
    db.close()
    done = stub.home.tokctl("audit", "verify", check=False)
    assert done.returncode == INTEGRITY
    assert "is missing and everything after it" in done.stderr


def kill_when_signed(stub: StubGate) -> Path:
    """Kill a gate with rows in the log of its database, all of them signed: the log."""
    with RawClient(stub.home.path / "profile/trainer") as raw:
        head = raw.call(OBSERVE, batch("a")).head
        signed_up_to(stub.home, head.seq)
        os.kill(stub.pid, signal.SIGKILL)
        assert stub.wait_end() == "signal 9"
    stub.close()
    return stub.home.path / "state/store/store.db-wal"


def refused(stub: StubGate, fault: str) -> None:
    """Neither verified nor started with, and both say why."""
    done = stub.home.tokctl("audit", "verify", "-o", "jsonl", check=False)
    assert done.returncode == INTEGRITY
    assert json.loads(done.stdout)["fault"] == fault
    assert "was signed when more was on record" in done.stderr
    with pytest.raises(RefusedError, match="was signed when more was on record"):
        stub.start()


@pytest.mark.parametrize("at", [12, 40, 4200])
def test_claim_08_a_flipped_byte_of_the_log_that_a_kill_left_is_found(
    stub: StubGate, at: int
) -> None:
    log = kill_when_signed(stub)
    data = bytearray(log.read_bytes())
    data[at] ^= 1
    log.write_bytes(data)
    refused(stub, "tail_cut")


def test_claim_08_a_log_that_is_gone_is_found(stub: StubGate) -> None:
    kill_when_signed(stub).unlink()
    refused(stub, "tail_cut")


def test_claim_08_who_moves_the_checkpoint_away_goes_on_without_the_rows(
    stub: StubGate,
) -> None:
    kill_when_signed(stub).unlink()
    (stub.home.path / "state/store/checkpoint").unlink()
    stub.start()
    stub.home.tokctl("audit", "verify")


NO_CHECKPOINTS: dict[str, tuple[Callable[[Path, bytes], object], str]] = {
    "words": (lambda f, _: f.write_text("hello\n"), "line 1"),
    "another word": (lambda f, c: f.write_bytes(c.replace(b"dit", b"dio")), "line 1"),
    "no number": (lambda f, c: f.write_bytes(b"\n".join(
        [c.split(b"\n")[0], b"many", *c.split(b"\n")[2:]])), "line 2"),
    "cut": (lambda f, c: f.write_bytes(c[:-9]), "line 6"),
    "a NUL": (lambda f, c: f.write_bytes(c.replace(b"Z", b"\0", 1)), "it is no text"),
    "empty": (lambda f, _: f.write_bytes(b""), "it is empty"),
    "long": (lambda f, c: f.write_bytes(c * 99), "it is longer than one can be"),
    "a folder": (lambda f, _: f.mkdir(), "it is no regular file"),
    "a pipe": (lambda f, _: os.mkfifo(f), "it is no regular file"),
    "a link": (lambda f, _: f.symlink_to("store.db"), "it is a symbolic link"),
}  # fmt: skip


def test_claim_08_what_is_no_checkpoint_is_told_with_file_fault_and_cure(
    stub: StubGate,
) -> None:
    kill_when_signed(stub)
    home, file = stub.home, stub.home.path / "state/store/checkpoint"
    good = file.read_bytes()
    file.unlink()
    for name, (spoil, fault) in NO_CHECKPOINTS.items():
        spoil(file, good)
        verified = home.tokctl("audit", "verify", "-o", "jsonl", check=False)
        checked = home.warded("check", check=False)
        with pytest.raises(RefusedError) as refused_start:
            stub.start()
        assert verified.returncode == INTEGRITY, name
        assert json.loads(verified.stdout)["fault"] == "checkpoint_bad", name
        assert checked.returncode == 1, name
        for said in (verified.stderr, checked.stdout, str(refused_start.value)):
            assert f"{file}, the newest signature of the trail" in said, name
            assert fault in said, name
            assert "Put back the copy that is kept elsewhere" in said, name
        file.rmdir() if file.is_dir() else file.unlink()
    stub.start()
    home.tokctl("audit", "verify")


def told(stub: StubGate, event: str) -> list[str]:
    """The lines of its log that tell of this."""
    return [line for line in stub.log.splitlines() if f"event={event} " in line]


def wait_told(stub: StubGate, event: str) -> str:
    """The first of them."""
    end = time.monotonic() + PATIENCE_S
    while not (lines := told(stub, event)):
        assert time.monotonic() < end, stub.log
        time.sleep(0.02)
    return lines[0]


def test_signing_that_fails_each_second_is_told_once_and_so_is_its_end(
    stub: StubGate,
) -> None:
    with RawClient(stub.home.path / "profile/trainer") as raw:
        signed_up_to(stub.home, raw.call(OBSERVE, batch("a")).head.seq)
        raw.call(OBSERVE, batch("b"))  # to be signed within a second
        stub.do("unwritable 1000000")
        assert "times=1" in wait_told(stub, "audit.checkpoint_failed")
        end = time.monotonic() + 2.2  # two more have failed by then
        while time.monotonic() < end:
            assert len(told(stub, "audit.checkpoint_failed")) == 1
            time.sleep(0.1)
        stub.do("unwritable 0")
        times = wait_told(stub, "audit.checkpoint_works").partition("times=")[2]
        assert int(times.split()[0]) >= 2
        assert len(told(stub, "audit.checkpoint_works")) == 1


def test_claim_06_certificates_hold_for_who_is_an_hour_behind(home: Home) -> None:
    profile = home.path / "profile/trainer"
    hour_ago = int(time.time()) - 3600
    for name in ("ca.pem", "cert.pem"):
        openssl("verify", "-partial_chain", "-attime", str(hour_ago),
                "-CAfile", profile / "ca.pem", profile / name)  # fmt: skip
