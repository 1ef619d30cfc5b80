"""What docs/ tell of the program is so: stages, threads, commands, reasons."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.support.gate import BUILD, LOOK_S, READY_S, ROOT, Gate, program, run

ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PROTOCOL = (ROOT / "docs/protocol.md").read_text()
SECURITY = (ROOT / "docs/security.md").read_text()
TESTING = (ROOT / "docs/testing.md").read_text()
STAGE = re.compile(r'^    \{"(\w+)", +\w+, +(true|false)\},', re.M)


def section(text: str, title: str) -> str:
    """What stands below a title, up to the next of its kind."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found is not None, f"no section is called {title}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of a section's tables, without their heads."""
    lines = [x for x in text.splitlines() if x.startswith("|")]
    cells = [[c.strip() for c in x.strip("|").split("|")] for x in lines]
    heads = {n - 1 for n, line in enumerate(lines) if set(line) <= set("|- ")}
    return [c for n, c in enumerate(cells) if n not in heads and n - 1 not in heads]


def test_claim_14_the_stages_are_told_in_their_order() -> None:
    code = STAGE.findall((ROOT / "server/pipeline.c").read_text())
    told = rows(section(ARCHITECTURE, "The stages of a call"))
    assert len(code) > 2
    assert [r[0] for r in told] == [name for name, _ in code]
    always = {"no": "false", "**yes**": "true"}
    assert [always[r[2]] for r in told] == [run_always for _, run_always in code]
    for _, files, *_ in told:
        assert (ROOT / "server" / files.strip("`")).is_file(), files


def threads(supervisor: int) -> Counter[str]:
    """How many threads of each name the gate has."""
    for children in Path(f"/proc/{supervisor}/task").glob("*/children"):
        for pid in children.read_text().split():
            if Path(f"/proc/{pid}/comm").read_text() == "warded-gate\n":
                tasks = Path(f"/proc/{pid}/task").glob("*/comm")
                return Counter(path.read_text().strip() for path in tasks)
    return Counter()


def test_claim_14_the_threads_of_a_gate_are_those_that_are_told(gate: Gate) -> None:
    table = rows(section(ARCHITECTURE, "Threads of the gate"))
    told = Counter({row[0].strip("`"): int(row[1]) for row in table})
    assert told.total() > 2
    until = time.monotonic() + READY_S
    while (live := threads(gate.pid)) != told and time.monotonic() < until:
        time.sleep(LOOK_S)  # a thread names itself when it first runs
    assert live == told


def test_claim_14_the_commands_for_another_schema_make_what_compiles(
    tmp_path: Path,
) -> None:
    text = section(ARCHITECTURE, "Adding a service")
    found = re.search(r"^    protoc (?:.*\\\n)*.*$", text, re.M)
    assert found is not None
    places = {"ROOT": "tests/support", "DIR": str(tmp_path)}
    command = re.sub(r"\b(ROOT|DIR)\b", lambda m: places[m[1]], found[0])
    run("env", "-C", ROOT, *shlex.split(command.replace("\\\n", " ")))
    sources = sorted(tmp_path.glob("**/*.c"))
    assert {"echo.pb-c.c", "echo.wd.c", "empty.pb-c.c"} == {p.name for p in sources}
    include = [f"-I{folder}" for folder in (tmp_path, ROOT, BUILD / "gen/c")]
    for source in sources:
        run("cc", "-fsyntax-only", *include, source)


def test_claim_14_the_readme_tells_how_long_a_token_lives() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert "an hour, with `--admin` 15 minutes, unless `--ttl`" in readme
    assert "`init` makes 24 hours, unless `--admin-ttl`" in readme
    profile = run(program("warded"), "profile", "new", "--help").stdout
    assert re.search(r"--ttl=.*\[1h; with --admin 15m\], at most\s+30d", profile)
    init = run(program("warded"), "init", "--help").stdout
    assert re.search(r"--admin-ttl=.*\[24h\], at most 30d", init)


def test_claim_14_every_reason_is_told_with_its_code() -> None:
    schema = (ROOT / "proto/warded/v1/rpc.proto").read_text()
    enum = schema.partition("enum Reason {")[2].partition("\n}")[0]
    code, reasons = "", set()
    for line in enum.splitlines():
        if (group := re.match(r"  // (\w+) \(\d+\)$", line)) is not None:
            code = group[1]
        elif code and (value := re.match(r"  (\w+) = \d+;", line)) is not None:
            reasons.add((code, value[1]))
    told = rows(section(PROTOCOL, "8. Reasons"))
    pairs = [(code, r) for code, text in told for r in re.findall(r"`(\w+)`", text)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == reasons
    assert len(reasons) > 2


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        ("protocol", "1. Connection", ["TLS 1.3", "alert", "SPIFFE"]),
        ("protocol", "2. Frames", ["big-endian", "request id", "16 MiB"]),
        ("protocol", "3. Calls", ["`call_id`", "Deadlines", "Cancel"]),
        ("protocol", "4. At most once", ["CALL_ID_REUSED", "CLOCK_SKEW", "floor"]),
        ("protocol", "5. The record", ["SHA-256", "`call.begin`", "`gate.recovered`"]),
        ("protocol", "6. Tokens", ["CRC-32", "wdt1_", "constant time"]),
        ("protocol", "7. Stock peers", ["nngcat", "pynng"]),
        ("security", "Who attacks", ["stranger", "impostor"]),
        ("security", "What is a boundary, and what is not", ["The kernel", "Not"]),
        ("security", "Refuse, never degrade", ["does not start"]),
        ("security", "Failure is not an observation", ["INFRA"]),
    ],
)
def test_claim_14_a_section_that_readers_need_is_there(
    name: str, title: str, words: list[str]
) -> None:
    found = section({"protocol": PROTOCOL, "security": SECURITY}[name], title)
    assert [word for word in words if word not in found] == []


@pytest.mark.parametrize(
    ("title", "least"),
    [
        ("The door: attack, wall, test", 15),
        ("The record: manipulation, how it is found, test", 8),
        ("The slot: attack, wall, test", 20),
    ],
)
def test_claim_14_each_attack_has_a_wall_and_a_test(title: str, least: int) -> None:
    """That the tests exist is for lint.docs, which goes by the table's head."""
    found = section(SECURITY, title)
    assert re.search(r"^\| .* \| test \|$", found, re.M)
    table = rows(found)
    assert len(table) >= least
    assert all(len(row) == 3 and all(row) and "`" in row[2] for row in table)


@pytest.mark.parametrize(
    "file", ["tests/integration/test_crashes.py", "tests/client/test_wire.py"]
)
def test_claim_10_the_pytest_command_by_hand_collects_any_file(file: str) -> None:
    """One whose tests have a mark of the runner's, and the one that is told there."""
    found = re.search(
        r"^deploy/platform\.sh (env WARDED_BUILD=.*\\\n.* )(tests/\S+\.py)$",
        TESTING,
        re.M,
    )
    assert found is not None
    words = shlex.split(found[1].replace("\\\n", " "))
    done = run("env", "-C", ROOT, *words, "--collect-only", file)
    assert re.search(r"^\d+ tests? collected", done.stdout, re.M), done.stdout


HOSTILE = (
    "integration/test_strangers.py",
    "integration/test_hostile_*.py",
    "integration/test_crashes.py",
    "integration/test_gate_crowd.py",
    "integration/test_gate_guesses.py",
    "integration/test_half_read.py",
    "sandbox/test_payloads.py",
    "sandbox/test_without.py",
)


@pytest.mark.parametrize("files", HOSTILE)
def test_claim_10_each_hostile_test_is_named_beside_its_attack(files: str) -> None:
    tables = [
        row[2]
        for text in re.findall(r"^## .*?(?=^## |\Z)", SECURITY, re.M | re.S)
        if re.search(r"^\| .* \| test \|$", text, re.M)
        for row in rows(text)
    ]
    named = re.findall(r"`([\w*]+)`", " ".join(tables))
    found = [
        name
        for path in (ROOT / "tests").glob(files)
        for name in re.findall(r"^def test_(\w+)", path.read_text(), re.M)
    ]
    assert found
    assert [n for n in found if not any(fnmatchcase(n, g) for g in named)] == []


REPORTED = """
PeculiarVentures/x509#73 charmbracelet/crush#3461 curl/curl#959
eclipse-mosquitto/mosquitto#1826 everruns/bashkit#2369 kubernetes/kubernetes#127538
mumble-voip/mumble#5031 nanomsg/nng#1588 nanomsg/nng#1666 nanomsg/nng#857
openssl/openssl#18708 pgbouncer/pgbouncer#796 postmanlabs/postman-app-support#14275
protobuf-c/protobuf-c#199 protobuf-c/protobuf-c#375 protobuf-c/protobuf-c#726
protocolbuffers/protobuf#2679 protocolbuffers/protobuf#29512 scylladb/seastar#335
spiffe/spire#7160 strongloop/strong-pm#368 superseriousbusiness/gotosocial#2808
vjt/grappa-irc#524
"""


def test_each_failure_that_was_reported_elsewhere_has_one_row() -> None:
    """That the tests exist is for lint.docs, which goes by the table's head."""
    found = section(TESTING, "Failures that were reported elsewhere")
    told = [row[0] for row in rows(found)]
    assert [case for case in REPORTED.split() if told.count(case) != 1] == []
