"""What each verb of tokctl prints, in each format: kept in golden/tokctl/VERB.golden.

See tests/support/golden.py for how the files are written anew.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import golden
from tests.support.ctl import verbs
from tests.support.gate import Done, Home, program, remove, run
from tests.support.store import TRAINER, Store, new_store
from tests.support.stub_gate import StubGate

FILES = Path(__file__).parent / "golden/tokctl"
FORMATS = ("table", "wide", "json", "jsonl", "csv", "name")
ISSUE = ("--scope", "observe:python_code", "--bind", TRAINER)
BOSS = "uri:spiffe://warded.local/ns/default/owner/root/client/boss"

Words = tuple[str, ...]


class Scene:
    """tokctl on a store or as the client of a gate, and what its output is called."""

    def __init__(self, who: Words, folder: Path, *, numbers: bool = True) -> None:
        self._who = who
        self._made = 0
        self.folder = folder
        self.normal = golden.Normal(numbers=numbers)
        self.normal.know_path(folder, "FOLDER")

    def run(self, *words: str, text: str = "") -> Done:
        """As it is; its exit status is part of it."""
        return run(program("tokctl"), *words, *self._who, check=False, text=text)

    def told(self, *words: str, text: str = "") -> str:
        """As it is kept."""
        done = self.run(*words, text=text)
        return self.normal.text(golden.told(("tokctl", *words), done))

    def new_path(self) -> str:
        """For --out: nothing is there."""
        self._made += 1
        return str(self.folder / f"new-{self._made}")

    def issue(self, *words: str) -> str:
        """A token's id."""
        done = self.run("issue", "t", *ISSUE, "--out", self.new_path(), *words)
        assert done.returncode == 0, done.stderr
        token_id = done.stderr.split()[1]
        self.normal.know_id(token_id)
        return token_id

    def wrap(self) -> str:
        """A wrap's file, and the wrap in it."""
        path = self.new_path()
        words = ("issue", "t", *ISSUE, "--bind", BOSS, "--wrap", "5m", "--out", path)
        assert self.run(*words).returncode == 0
        return path


def help_of(scene: Scene, verb: str) -> str:
    text = scene.told(*verb.split(), "--help")
    assert max(map(len, text.splitlines()[1:])) <= 80
    return text


# --- on a store ---------------------------------------------------------------------


def offline(tmp_path: Path, verb: str) -> Scene:
    """Three rows of calls, and one token."""
    store: Store = new_store(tmp_path / "store")
    store.rows("fill", "3")
    who = ("--db", str(store.path))
    scene = Scene(who, tmp_path, numbers=verb != "db backup")
    scene.issue("--owner", "ann", "--purpose", "tests")
    return scene


def leak(scene: Scene) -> str:
    """A folder with a token in a file."""
    tree = scene.folder / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "build.log").write_text(
        "first\nTOKEN=" + next(scene.folder.glob("new-*")).read_text()
    )
    return str(tree)


OFFLINE: dict[str, Callable[[Scene], list[Words]]] = {
    "issue": lambda s: [
        ("issue", "t", *ISSUE),
        ("issue", "t", *ISSUE, "--out", s.new_path()),
    ],
    "list": lambda s: [("list",), ("list", "--owner", "nobody")],
    "show": lambda s: [("show", s.issue("--owner", "bob"))],
    "revoke": lambda s: [("revoke", s.issue(), "--reason", "tidy")],
    "audit query": lambda s: [("audit", "query", "--limit", "2")],
    "audit tail": lambda s: [("audit", "tail", "--lines", "2")],
    "audit show": lambda s: [("audit", "show", "2")],
    "audit verify": lambda s: [("audit", "verify", "--to", "3")],
    "db backup": lambda s: [("db", "backup", s.new_path())],
    "scan": lambda s: [("scan", leak(s)), ("scan", "--live", leak(s))],
}


@pytest.mark.parametrize("verb", OFFLINE)
def test_claim_05_verb_prints_on_a_store_as_it_did(tmp_path: Path, verb: str) -> None:
    scene = offline(tmp_path, verb)
    parts = [help_of(scene, verb)]
    for form in FORMATS:
        for words in OFFLINE[verb](scene):
            parts.append(scene.told(*words, "-o", form))
    golden.compare(FILES / f"{verb.replace(' ', '-')}.golden", parts)


# --- of a gate ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def boss() -> Iterator[Path]:
    """A profile of a gate over a stub executor."""
    folder = Path(tempfile.mkdtemp(prefix="warded-test-", dir="/tmp"))
    folder.chmod(0o755)  # for the gate's account
    home = Home.make(folder / "home")
    scopes = ("token:**", "observe:**", "audit:*", "health:*")
    home.profile("boss", *scopes, ttl="2h")
    with StubGate(home):
        yield home.path / "profile/boss"
    remove(folder)


METHOD = ("--method", "/warded.v1.Observation/GetObservation")


def rotated(scene: Scene) -> str:
    """A token whose overlap is open."""
    token_id = scene.issue()
    words = ("rotate", token_id, "--out", scene.new_path())
    assert scene.run(*words).returncode == 0
    return token_id


GATE: dict[str, Callable[[Scene], list[Words]]] = {
    "check": lambda s: [
        ("check", token := s.issue(), *METHOD, "--object", "python_code"),
        ("check", token, *METHOD, "--object", "bash", "--explain"),
    ],
    "renew": lambda s: [("renew", s.issue(), "--ttl", "90m")],
    "rotate": lambda s: [
        ("rotate", s.issue()),
        ("rotate", s.issue(), "--out", s.new_path()),
        ("rotate", "--all-owner", "nobody", "--out-dir", "new", "--dry-run"),
    ],
    "retire": lambda s: [("retire", rotated(s))],
    "unwrap": lambda s: [
        ("unwrap", s.wrap()),
        ("unwrap", s.wrap(), "--out", s.new_path()),
    ],
    "whoami": lambda s: [("whoami",)],
    "health": lambda s: [("health",)],
    "connections": lambda s: [("connections",)],
    "audit stats": lambda s: [("audit", "stats", "--segments")],
    "audit export": lambda s: [
        ("audit", "export", "--to", "1", "--out", s.new_path()),
    ],
    "audit prune": lambda s: [("audit", "prune", "--to", "1")],
    "audit checkpoint": lambda s: [("audit", "checkpoint", "--at", "1")],
    "call": lambda s: [("call", "Health/Check")],
}


# What these count depends on what ran before.
COUNTING = ("audit stats", "audit export", "audit checkpoint", "connections")


@pytest.mark.parametrize("verb", GATE)
def test_claim_05_verb_prints_of_a_gate_as_it_did(
    boss: Path, tmp_path: Path, verb: str
) -> None:
    scene = Scene(("--profile", str(boss)), tmp_path, numbers=verb not in COUNTING)
    scene.normal.know_id((boss / "token").read_text()[5:15])
    parts = [help_of(scene, verb)]
    for form in FORMATS:
        for words in GATE[verb](scene):
            parts.append(scene.told(*words, "-o", form))
    if verb == "audit stats":
        parts += [scene.told("audit", "stats", "-o", form) for form in ("table", "csv")]
    golden.compare(FILES / f"{verb.replace(' ', '-')}.golden", parts)


# --- alone --------------------------------------------------------------------------

# What a shell or a man reader takes has no formats: test_tokctl_shells.py, _told.py.
ALONE: dict[str, list[Words]] = {
    "describe": [("describe", "Health"), ("describe", "Token/Retire")],
    "version": [("version",)],
    "help exit-codes": [("help", "exit-codes")],
    "completion": [],
    "man": [],
}


@pytest.mark.parametrize("verb", ALONE)
def test_claim_05_verb_prints_of_itself_as_it_did(tmp_path: Path, verb: str) -> None:
    scene = Scene((), tmp_path)
    parts = [help_of(scene, verb)]
    parts += [scene.told(*w, "-o", form) for form in FORMATS for w in ALONE[verb]]
    golden.compare(FILES / f"{verb.replace(' ', '-')}.golden", parts)


def test_claim_05_tokctl_tells_of_its_verbs_as_it_did(tmp_path: Path) -> None:
    scene = Scene((), tmp_path)
    words = (("--help",), (), ("audit",), ("audit", "--help"), ("frob",))
    golden.compare(FILES / "tokctl.golden", (scene.told(*w) for w in words))


def test_claim_05_every_verb_has_its_file() -> None:
    assert {*verbs()} == {*OFFLINE, *GATE, *ALONE}
    assert {p.stem for p in FILES.iterdir()} == {
        re.sub(" ", "-", v) for v in (*OFFLINE, *GATE, *ALONE, "tokctl")
    }
