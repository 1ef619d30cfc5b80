"""Who may sign: a checkpoint by a key that the CA does not know proves nothing."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from warded.v1 import CheckpointRequest, VerifyReply, VerifyRequest

from tests.client.pki import Authority, Leaf
from tests.support.gate import Home, program, run
from tests.support.raw_client import RawClient
from tests.support.store import INTEGRITY, NOT_FOUND, USAGE, Store, new_store
from tests.support.stub_gate import StubGate

BY_ANOTHER_CA = "the certificate of its key was not issued by this CA"


@pytest.fixture
def home(home: Home) -> Home:
    """Who may read is there before the gate starts."""
    home.profile("auditor", "audit:read")
    return home


def forge(store: Path, ca: Authority) -> str:
    """The newest checkpoint, signed as the gate by a key of another CA, with its
    certificate where the store keeps those: its text."""
    text = (store / "checkpoint").read_text()
    signed = text.partition("\n\n")[0] + "\n"
    gate = text.splitlines()[5].split()[1]
    pair = ca.issue(Leaf(uris=(gate,)))
    key = serialization.load_pem_private_key(pair.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    key_id = hashlib.sha256(public).hexdigest()[:16]
    signature = key.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
    forged = f"{signed}\n— {gate} {key_id} {base64.b64encode(signature).decode()}\n"
    with sqlite3.connect(store / "store.db", timeout=30) as db:
        db.execute(
            "INSERT INTO meta VALUES (?, ?)", (f"signer:{key_id}", pair.cert.decode())
        )
    db.close()
    return forged


def put_newest(store: Path, text: str) -> None:
    """In place of the newest checkpoint, wherever that is kept."""
    with sqlite3.connect(store / "store.db") as db:
        db.execute(
            "UPDATE checkpoints SET text = ? WHERE seq = ?",
            (text, int(text.splitlines()[1])),
        )
    db.close()
    (store / "checkpoint").write_text(text)


def stopped(stub: StubGate) -> Home:
    """An orderly end, before which the head is signed."""
    assert stub.stop() == "exit 0"
    stub.close()
    return stub.home


def test_claim_08_offline_signatures_are_checked_by_the_ca(
    stub: StubGate, tmp_path: Path
) -> None:
    home = stopped(stub)
    assert home.tokctl("audit", "verify").stderr == ""
    shutil.copytree(home.store, tmp_path / "copy")
    copy, ca = Store(tmp_path / "copy"), str(home.path / "state/gate/ca.pem")
    assert copy.json("audit", "verify", "--ca", ca)["checkpoints"] == 1
    put_newest(copy.path, forge(copy.path, Authority()))
    told = copy.tokctl("audit", "verify")  # all that its own files say
    assert "was not checked: give --ca FILE" in told.stderr
    bad = copy.tokctl("audit", "verify", "--ca", ca, exit_status=INTEGRITY)
    assert BY_ANOTHER_CA in bad.stderr
    put_newest(home.store, forge(home.store, Authority()))
    done = home.tokctl("audit", "verify", check=False)  # the gate's CA lies beside it
    assert (done.returncode, BY_ANOTHER_CA in done.stderr) == (INTEGRITY, True)


def test_claim_08_offline_a_signature_that_is_none_is_found(stub: StubGate) -> None:
    home = stopped(stub)
    text = (home.store / "checkpoint").read_text()
    when = text.splitlines()[3]
    put_newest(home.store, text.replace(when, when.replace("20", "21", 1)))
    done = home.tokctl("audit", "verify", check=False)
    assert done.returncode == INTEGRITY
    assert "has not signed this text" in done.stderr


def test_claim_08_a_gate_takes_no_checkpoint_that_its_ca_does_not_know(
    stub: StubGate,
) -> None:
    now = CheckpointRequest(now=True).SerializeToString()
    with RawClient(stub.home.path / "profile/auditor") as raw:
        assert raw.call("/warded.v1.Audit/Checkpoint", now).code == 0
        request = VerifyRequest(checkpoint=forge(stub.home.store, Authority()))
        reply = raw.call("/warded.v1.Audit/Verify", request.SerializeToString())
    told = VerifyReply.FromString(reply.payload)
    assert (told.ok, told.fault) == (False, VerifyReply.CHECKPOINT_BAD)
    assert BY_ANOTHER_CA in told.message


@pytest.mark.parametrize("option", ["--ca", "--checkpoint"])
def test_claim_08_a_file_that_is_not_there_is_named_with_its_option(
    option: str, tmp_path: Path
) -> None:
    store = new_store(tmp_path / "store")
    words = ("audit", "verify", option)
    gone = store.tokctl(*words, str(tmp_path / "gone"), exit_status=NOT_FOUND)
    assert f"{option}: could not read {tmp_path}/gone: No such file" in gone.stderr
    assert "profile" not in gone.stderr
    folder = store.tokctl(*words, str(tmp_path), exit_status=USAGE)
    assert f"{option}: {tmp_path}: no regular file" in folder.stderr


def test_a_gate_is_told_no_ca(tmp_path: Path) -> None:
    words = ("audit", "verify", "--ca", "x", "--profile", str(tmp_path))
    done = run(program("tokctl"), *words, check=False)
    assert done.returncode == USAGE
    assert "a gate checks by its own CA" in done.stderr
