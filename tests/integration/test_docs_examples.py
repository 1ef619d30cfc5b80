"""The worked examples of docs/ do what they say, run as they stand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ctl import CLEAN, Ctl, open_gate
from tests.support.gate import BUILD, READY_S, ROOT
from tests.support.stub_gate import StubGate

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def stub() -> Iterator[StubGate]:
    with open_gate() as running:
        yield running


def blocks(name: str) -> list[str]:
    """The shell of a document's worked examples, piece by piece."""
    text = (ROOT / "docs" / name).read_text()
    found = BLOCK.findall(text.partition("\n## Worked examples\n")[2])
    assert found, f"docs/{name} has no worked examples"
    return found


def run(stub: StubGate, folder: Path, script: str) -> str:
    """What a piece prints; it must not fail."""
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env={
            **CLEAN,
            "PATH": f"{BUILD}/bin:/usr/bin:/bin",
            "WARDED_PROFILE": str(stub.home.path / "profile/boss"),
            "STORE": str(stub.home.store),
        },
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_claim_12_the_examples_of_tokens_do_what_they_say(
    stub: StubGate, tmp_path: Path
) -> None:
    issue, rotate, usage, retire, revoke, leaked, connected, after = (
        run(stub, tmp_path, script) for script in blocks("tokens.md")
    )
    assert len(re.findall(r"\bactive\b", issue)) == 3
    assert len(list((tmp_path / "new").iterdir())) == 3
    assert len(re.findall(r"^\w{10}$", rotate, re.MULTILINE)) == 3
    assert len(re.findall(r"\bretiring\b", usage)) == 3
    assert len(re.findall(r"\bactive\b", retire)) == 3
    assert re.findall(r"^revoked +(\d)$", revoke + leaked, re.MULTILINE) == [
        "3",
        "3",
        "0",
    ]
    assert re.findall(r"^already +(\d)$", leaked, re.MULTILINE) == ["3"]
    assert len(re.findall(r" data (?:revoked|retired)$", leaked, re.MULTILINE)) == 6
    assert connected == "", "none of hers"
    assert "laptop stolen" in after
    assert re.search(r"^verifies +yes$", after, re.MULTILINE)
    gone = Ctl(stub.home.path / "profile/boss").json("list", "--state", "revoked")
    assert [token["revoked_reason"] for token in gone] == ["laptop stolen"] * 3


def test_claim_12_the_examples_of_audit_do_what_they_say(
    stub: StubGate, tmp_path: Path
) -> None:
    act, rows, token, sql, handed, whose, proof, check, signed = (
        run(stub, tmp_path, script) for script in blocks("audit.md")
    )
    boss = "/client/boss"
    assert "OK" in act
    assert len(re.findall(r"\bcall\.(?:begin|end)\b", rows)) == 4, "a query and a show"
    assert boss in rows
    assert re.search(r"^state +active$", token, re.MULTILINE)
    assert re.search(r"^principal +calls refused$", sql, re.MULTILINE)
    assert re.search(rf"{boss} +[1-9]\d* +\d+$", sql, re.MULTILINE)
    assert re.search(r"^signature +tokens.ndjson.sig$", handed, re.MULTILINE)
    assert boss in whose
    assert whose.endswith("Verified OK\n")
    assert re.search(r"^sha256 +[0-9a-f]{64}$", proof, re.MULTILINE)
    assert "up to the one that was signed" in check
    assert re.search(rf"{boss} \w{{10}} python_code run-17$", check, re.MULTILINE)
    assert "proof/signer.pem: OK" in signed
    assert "/gate/" in signed
    assert signed.endswith("Verified OK\n")


def test_claim_12_a_proof_that_was_tampered_with_proves_nothing(
    stub: StubGate, tmp_path: Path
) -> None:
    *made, check, signed = blocks("audit.md")
    for script in made:
        run(stub, tmp_path, script)
    proof = tmp_path / "proof"
    good = {path: path.read_bytes() for path in proof.iterdir()}
    lines = good[proof / "rows.jsonl"].splitlines(keepends=True)
    faults = {
        "another who": (check, "rows.jsonl", [b"/client/boss", b"/client/ross"]),
        "a row less": (check, "rows.jsonl", [lines[1], b""]),
        "its end cut": (check, "rows.jsonl", [lines[-1], b""]),
        "another head": (check, "checkpoint", [b"=\n2", b"A=\n2"]),
        "another time": (signed, "checkpoint", [b"\n20", b"\n19"]),
    }
    run(stub, tmp_path, check)
    for name, (script, file, (old, new)) in faults.items():
        text = good[proof / file]
        assert old in text, name
        (proof / file).chmod(0o600)
        (proof / file).write_bytes(text.replace(old, new, 1))
        with pytest.raises(AssertionError, match=r"Traceback|Verification failure"):
            run(stub, tmp_path, script)
        (proof / file).write_bytes(text)
    run(stub, tmp_path, signed)
