#!/usr/bin/env python3
"""A rollout: 64 actions, as a maths-training model writes them, in one batch.

    WARDED_PROFILE=build/try/profile/trainer clients/python/examples/rollout.py

Each actions/NN_name.py has beside it what must come back (NN_name.expect.json): status,
output, exit code, and the stdin and limits that the action is sent with. A mismatch is
named, and the exit status is then 1; 2 when the call itself failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import warded
from warded import v1

ACTIONS = Path(__file__).parent / "actions"
PATIENT = {"wall_ms": 60_000, "cpu_ms": 60_000}  # a busy machine is no mismatch
OUTPUT_WIDTH = 44


@dataclass(frozen=True)
class Expect:
    """What an action is sent with, and what must come back. None: anything."""

    status: str
    stdin: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    stdout: str | None = None
    stdout_starts: str = ""
    stdout_ends: str = ""
    stderr_has: str = ""
    exit_code: int | None = None
    cause: str = "NONE"
    original_bytes: int | None = None
    truncated: bool = False


@dataclass(frozen=True)
class Action:
    """One file, read."""

    name: str
    text: str
    expect: Expect


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    action: Action
    outcome: warded.Outcome
    mismatches: Sequence[str]


def read_actions(folder: Path) -> list[Action]:
    """The folder's actions, in the order of their numbers."""
    return [
        Action(path.stem, path.read_text(), read_expect(path))
        for path in sorted(folder.glob("*.py"))
    ]


def read_expect(path: Path) -> Expect:
    """What stands beside an action; an unknown key is an error."""
    told: dict[str, Any] = json.loads(path.with_suffix(".expect.json").read_text())
    unknown = told.keys() - {f.name for f in fields(Expect)}
    if unknown:
        raise SystemExit(f"{path.stem}.expect.json: unknown keys {sorted(unknown)}")
    return Expect(**told)


def make_request(actions: Sequence[Action], profile: Path) -> Any:
    """One batch; each action is a trajectory of its own, so they run side by side."""
    places = {
        "{profile}": str(profile),
        "{server}": (profile / "server").read_text().split()[0],
    }
    request = v1.GetObservationRequest()
    for action in actions:
        stdin = action.expect.stdin
        for word, value in places.items():
            stdin = stdin.replace(word, value)
        request.items.add(
            trajectory_id=f"rollout-{action.name}",
            tool="python_code",
            action=action.text,
            stdin=stdin.encode(),
            limits=v1.Limits(**{**PATIENT, **action.expect.limits}),
        )
    return request


def call(channel: warded.Channel, request: Any, timeout: float) -> Any:
    """Send the batch and wait, showing that time passes."""
    stub = v1.ObservationStub(channel)
    began = time.monotonic()
    future = stub.GetObservation.future(request, timeout=timeout, wait_for_ready=True)
    moving = sys.stderr.isatty()
    while True:
        try:
            return future.result(timeout=0.2)
        except TimeoutError:
            if moving:
                passed = time.monotonic() - began
                line = f"\r{len(request.items)} actions sent, {passed:.1f} s "
                print(line, end="", file=sys.stderr, flush=True)
        finally:
            if moving and future.done():
                print("\r\033[K", end="", file=sys.stderr)


def find_mismatches(expect: Expect, outcome: warded.Outcome) -> Iterator[str]:
    """What came back otherwise than expected."""
    pairs: list[tuple[str, Any, Any]] = [
        ("status", expect.status, str(outcome.status)),
        ("cause", expect.cause, outcome.exit.cause),
        ("truncated", expect.truncated, outcome.truncated),
        ("exit code", expect.exit_code, outcome.exit.code),
        ("stdout", expect.stdout, outcome.stdout),
        ("original bytes", expect.original_bytes, outcome.original_bytes),
    ]
    for what, wanted, seen in pairs:
        if wanted is not None and wanted != seen:
            yield f"{what}: expected {wanted!r:.200}, seen {seen!r:.200}"
    if not outcome.stdout.startswith(expect.stdout_starts):
        yield f"stdout starts with {outcome.stdout[:60]!r}"
    if not outcome.stdout.endswith(expect.stdout_ends):
        yield f"stdout ends with {outcome.stdout[-60:]!r}"
    if expect.stderr_has not in outcome.stderr:
        yield f"stderr lacks {expect.stderr_has!r}: {outcome.stderr[-300:]!r}"


def make_rows(actions: Sequence[Action], reply: Any) -> list[Row]:
    """Results beside their actions, compared."""
    if len(reply.results) != len(actions):
        raise SystemExit(f"{len(reply.results)} results for {len(actions)} actions")
    rows = []
    for action, result in zip(actions, reply.results, strict=True):
        outcome = warded.read_outcome(result)
        wrong = list(find_mismatches(action.expect, outcome))
        if wrong and outcome.message:
            wrong.append(f"the gate says: {outcome.message}")
        rows.append(Row(action, outcome, wrong))
    return rows


def first_line(outcome: warded.Outcome) -> str:
    """What to show of an outcome: an error's last line, else the output's first."""
    errors = outcome.stderr.strip().splitlines()
    lines = outcome.stdout.strip().splitlines()
    if errors and not outcome.is_ok:
        text = errors[-1]
    else:
        text = lines[0] if lines else outcome.message
    text = "".join(c if c.isprintable() else "." for c in text)
    return text if len(text) <= OUTPUT_WIDTH else text[: OUTPUT_WIDTH - 3] + "..."


def print_table(rows: Sequence[Row]) -> None:
    """For people."""
    wide = max(len(row.action.name) for row in rows)
    head = f"{'action':{wide}}  {'status':10}  {'output':{OUTPUT_WIDTH}}"
    print(f"  {head}  {'queue ms':>8}  {'run ms':>8}")
    for row in rows:
        mark = "!" if row.mismatches else " "
        outcome = row.outcome
        print(
            f"{mark} {row.action.name:{wide}}  {outcome.status:10}  "
            f"{first_line(outcome):{OUTPUT_WIDTH}}  "
            f"{outcome.queue_us / 1000:8.1f}  {outcome.run_us / 1000:8.1f}"
        )


def print_json(rows: Sequence[Row]) -> None:
    """For programs: an object a line."""
    for row in rows:
        outcome = row.outcome
        record = {
            "action": row.action.name,
            "status": str(outcome.status),
            "reason": str(outcome.reason) if outcome.reason else "",
            "stdout": outcome.stdout,
            "stderr": outcome.stderr,
            "exit_code": outcome.exit.code,
            "signal": outcome.exit.signal,
            "cause": outcome.exit.cause,
            "original_bytes": outcome.original_bytes,
            "queue_us": outcome.queue_us,
            "run_us": outcome.run_us,
            "mismatches": list(row.mismatches),
        }
        print(json.dumps(record, ensure_ascii=False))


def print_end(rows: Sequence[Row], seconds: float) -> int:
    """The mismatches by name, and the sum; the exit status."""
    wrong = [row for row in rows if row.mismatches]
    for row in wrong:
        for mismatch in row.mismatches:
            print(f"MISMATCH {row.action.name}: {mismatch}", file=sys.stderr)
    right = len(rows) - len(wrong)
    print(f"{right} of {len(rows)} as expected, {seconds:.1f} s", file=sys.stderr)
    return 1 if wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rollout; the exit status."""
    parser = argparse.ArgumentParser(description="Send 64 actions as one batch.")
    parser.add_argument("--profile", help="profile folder [$WARDED_PROFILE]")
    parser.add_argument("--actions", type=Path, default=ACTIONS, help="their folder")
    parser.add_argument("--timeout", type=float, default=180, help="seconds [180]")
    parser.add_argument("--json", action="store_true", help="an object a line")
    options = parser.parse_args(arguments)
    actions = read_actions(options.actions)
    began = time.monotonic()
    try:
        channel = warded.connect(options.profile)
        request = make_request(actions, Path(channel.profile))
        reply = call(channel, request, options.timeout)
    except warded.RpcError as error:
        print(f"rollout: {error}", file=sys.stderr)
        return 2
    rows = make_rows(actions, reply)
    (print_json if options.json else print_table)(rows)
    return print_end(rows, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
