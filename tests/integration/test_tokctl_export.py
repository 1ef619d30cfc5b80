"""`tokctl audit export`: what other programs read, and whose word it is."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from warded.v1 import AuditFilter, ExportRequest

from tests.support.calls import OBSERVE, batch, reason
from tests.support.ctl import Ctl
from tests.support.raw_client import RawClient
from tests.support.store import CONFLICT, DENIED, NOT_FOUND, USAGE

HOSTILE = "a|b=c\\d suser=root \"e\" 'f' cs1=no caf\u00e9"
EXPORT = "/warded.v1.Audit/Export"


# --- formats ------------------------------------------------------------------------


def unescape(text: str, marks: str) -> str:
    """CEF's own: nothing else may stand behind a backslash."""
    lines = {"n": "\n", "r": "\r"} if "=" in marks else {}
    known = {mark: mark for mark in marks} | lines
    return re.sub(r"\\(.)", lambda found: known[found[1]], text)


def read_cef(line: str) -> tuple[list[str], dict[str, str]]:
    """Header and extension, by the rules of ArcSight's guide."""
    *header, rest = re.split(r"(?<!\\)(?:\\\\)*\|", line, maxsplit=7)
    assert len(header) == 7, line
    keys = [*re.finditer(r"(?:^| )(\w+)=", mask(rest))]
    ends = [found.start() for found in keys[1:]] + [len(rest)]
    values = {
        found[1]: unescape(rest[found.end() : end], "\\=")
        for found, end in zip(keys, ends, strict=True)
    }
    assert len(values) == len(keys), "no key twice"
    return [unescape(part, "\\|") for part in header], values


def mask(text: str) -> str:
    """Escaped characters stand for none."""
    return re.sub(r"\\.", "..", text)


@pytest.fixture
def asked_for(boss: Ctl) -> Iterator[list[dict[str, object]]]:
    """Rows with a hostile purpose and trajectory, as JSONL has them."""
    words = ("--scope", "observe:x", "--unbound", "-o", "json")
    token = boss.json(
        "issue", "t", *words[:3], "--purpose", HOSTILE, "--owner", "o|=\\"
    )
    with RawClient(boss.profile) as raw:
        raw.call(OBSERVE, batch("1", same=HOSTILE))
        raw.call(OBSERVE, batch("2"), token="wdt1_" + "0" * 59)
    boss("revoke", str(token["id"]), "--reason", HOSTILE)
    text = boss("audit", "export", "--to", newest(boss)).stdout
    yield [json.loads(line) for line in text.splitlines()]


def newest(boss: Ctl) -> str:
    return str(boss.json("audit", "query", "--newest-first", "-n", "1")[0]["seq"])


def lines_of(boss: Ctl, form: str, rows: list[dict[str, object]]) -> list[str]:
    words = ("audit", "export", "--format", form, "--to", str(rows[-1]["seq"]))
    return boss(*words).stdout.splitlines()


def test_claim_05_cef_is_read_back_by_its_own_rules(
    boss: Ctl, asked_for: list[dict[str, object]]
) -> None:
    told = {
        "externalId": "seq",
        "rt": "wall_ms",
        "suid": "principal",
        "suser": "owner",
        "cs1": "token_id",
        "cs3": "trajectory_id",
        "cs5": "hash",
        "cs6": "detail",
        "reason": "reason",
        "destinationServiceName": "method",
        "WardedTool": "tool",
    }
    lines = lines_of(boss, "cef", asked_for)
    assert len(lines) == len(asked_for)
    for line, row in zip(lines, asked_for, strict=True):
        header, values = read_cef(line)
        assert header[:3] == ["CEF:0", "Warded", "Warded"]
        assert header[4] == row["event"]
        assert 0 <= int(header[6]) <= 10
        for key, column in told.items():
            assert values.get(key, "") == str(row.get(column, "")), (line, key)
        labels = {key for key in values if re.fullmatch(r"c[sn]\d", key)}
        assert {f"{key}Label" for key in labels} <= values.keys()
    assert any(row.get("trajectory_id") == HOSTILE for row in asked_for)
    assert any(row.get("owner") == "o|=\\" for row in asked_for)


def test_claim_05_ecs_is_a_document_a_row(
    boss: Ctl, asked_for: list[dict[str, object]]
) -> None:
    lines = lines_of(boss, "ecs", asked_for)
    assert len(lines) == len(asked_for)
    for line, row in zip(lines, asked_for, strict=True):
        document = json.loads(line)
        assert document["warded"] == row
        assert document["event"]["sequence"] == row["seq"]
        assert document["event"]["outcome"] in ("success", "failure", "unknown")
        assert document.get("user", {}).get("id") == row.get("principal")
        assert re.fullmatch(r"20.{21}Z", document["@timestamp"])


@pytest.mark.parametrize("number", [5, 6, 2**31 - 1, -1])
def test_claim_07_format_that_there_is_not_is_refused(boss: Ctl, number: int) -> None:
    request = ExportRequest(format=number, filter=AuditFilter(event="none"))
    with RawClient(boss.profile) as raw:
        reply = raw.call(EXPORT, request.SerializeToString())
    assert reason(reply) in ("FIELD_INVALID", "MESSAGE_INVALID")
    assert reply.payload == b""


@pytest.mark.parametrize("form", ["ECS", "cef ", "leef", "json", "5"])
def test_claim_05_format_is_one_of_those_that_are_told(boss: Ctl, form: str) -> None:
    done = boss("audit", "export", "--format", form, status=USAGE)
    assert "jsonl, csv, ocsf, ecs or cef" in done.stderr


# --- signatures ---------------------------------------------------------------------


def openssl(*words: str | Path, status: int = 0) -> str:
    done = subprocess.run(
        ["openssl", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (status == 0), done.stdout + done.stderr
    return done.stdout


def new_key(path: Path, *words: str) -> Path:
    openssl("genpkey", *words, "-out", path)
    path.chmod(0o600)
    return path


P256 = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "auditor.key", *P256)


def verify(file: Path, key: Path, *, status: int = 0) -> None:
    public = file.parent / "public.pem"
    openssl("pkey", "-in", key, "-pubout", "-out", public)
    signature = Path(f"{file}.sig")
    words = ("-verify", public, "-signature", signature, file)
    openssl("dgst", "-sha256", *words, status=status)


@pytest.mark.parametrize("form", ["jsonl", "cef"])
def test_claim_05_signed_export_is_verified_by_openssl_alone(
    boss: Ctl, tmp_path: Path, key: Path, form: str
) -> None:
    out = tmp_path / "rows"
    words = ("audit", "export", "--format", form, "--out", str(out))
    told = boss.json(*words, "--sign", str(key))
    assert told["signature"] == f"{out}.sig"
    assert re.fullmatch(r"[0-9a-f]{16}", told["key_id"])
    assert Path(told["signature"]).stat().st_mode & 0o777 == 0o600
    verify(out, key)
    verify(out, new_key(tmp_path / "other.key", *P256), status=1)
    data = bytearray(out.read_bytes())
    data[len(data) // 2] ^= 1
    out.write_bytes(data)
    verify(out, key, status=1)


def test_claim_05_export_is_signed_with_a_clients_own_key(
    boss: Ctl, tmp_path: Path
) -> None:
    out = tmp_path / "rows"
    profile = boss.profile
    boss("audit", "export", "--out", str(out), "--sign", str(profile / "key.pem"))
    public = tmp_path / "signer.pub"
    words = ("x509", "-in", profile / "cert.pem", "-noout", "-pubkey", "-out", public)
    openssl(*words)
    openssl("dgst", "-sha256", "-verify", public, "-signature", f"{out}.sig", out)


def test_claim_05_unsigned_export_has_no_signature(boss: Ctl, tmp_path: Path) -> None:
    out = tmp_path / "rows"
    told = boss.json("audit", "export", "--out", str(out))
    assert (told["signature"], told["key_id"]) == ("", "")
    assert [*tmp_path.iterdir()] == [out]


def odd_key(kind: str, path: Path) -> None:
    match kind:
        case "rsa":
            new_key(path, "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        case "p384":
            new_key(path, "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
        case "ed25519":
            new_key(path, "-algorithm", "ED25519")
        case "passphrase":
            new_key(path, *P256, "-aes256", "-pass", "pass:x")
        case "public":
            new_key(path, *P256)
            text = openssl("pkey", "-in", path, "-pubout")
            path.write_text(text)
        case "text":
            path.write_text("no key\n")
        case "empty":
            path.write_text("")
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("rsa", "P-256"),
        ("p384", "P-256"),
        ("ed25519", "no private key"),
        ("passphrase", "passphrase"),
        ("public", "no private key"),
        ("text", "no private key"),
        ("empty", "no private key"),
    ],
)
def test_claim_05_what_can_not_sign_is_refused_before_a_row_is_read(
    boss: Ctl, tmp_path: Path, kind: str, says: str
) -> None:
    path, out = tmp_path / "key", tmp_path / "rows"
    odd_key(kind, path)
    words = ("audit", "export", "--out", str(out), "--sign", str(path))
    done = boss(*words, status=USAGE)
    assert says in done.stderr
    assert str(path) in done.stderr
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666])
def test_claim_05_key_that_others_can_read_signs_nothing(
    boss: Ctl, tmp_path: Path, key: Path, mode: int
) -> None:
    key.chmod(mode)
    out = str(tmp_path / "rows")
    done = boss("audit", "export", "--out", out, "--sign", str(key), status=DENIED)
    assert "--sign" in done.stderr
    assert [*tmp_path.iterdir()] == [key]


def test_claim_05_signature_goes_to_a_new_file_beside_a_new_one(
    boss: Ctl, tmp_path: Path, key: Path
) -> None:
    out = tmp_path / "rows"
    words = ("audit", "export", "--out", str(out), "--sign")
    boss("audit", "export", "--sign", str(key), status=USAGE)
    boss(*words, str(tmp_path / "none"), status=NOT_FOUND)
    assert not out.exists()
    Path(f"{out}.sig").symlink_to(tmp_path / "elsewhere")
    done = boss(*words, str(key), status=CONFLICT)
    assert "rows.sig exists" in done.stderr
    assert not out.exists()
    assert not (tmp_path / "elsewhere").exists()
    Path(f"{out}.sig").unlink()
    out.write_text("mine")
    boss(*words, str(key), status=CONFLICT)
    assert out.read_text() == "mine"
    assert not Path(f"{out}.sig").exists()


def test_claim_05_export_that_fails_leaves_neither_file(
    boss: Ctl, tmp_path: Path, key: Path
) -> None:
    out = tmp_path / "rows"
    words = ("audit", "export", "--out", str(out), "--sign", str(key))
    boss(*words, "--outcome", "maybe", status=USAGE)
    assert [*tmp_path.iterdir()] == [key]
    boss(*words, "--server", "127.0.0.1:1", status=6)
    assert [*tmp_path.iterdir()] == [key]
