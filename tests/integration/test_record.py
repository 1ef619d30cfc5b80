"""What was acknowledged is on record, whatever happens to the gate."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
import time
from pathlib import Path

import warded
from warded.v1 import token_wd

from tests.conftest import NewGate, NewHome
from tests.integration.items import item, send
from tests.support.gate import Gate, Home
from tests.support.ports import free_port

KILLS = 400 if os.environ.get("WARDED_LONG") else 40
READY = re.compile(r"event=child\.ready child=gate pid=(\d+)")
PATIENCE_S = 60.0


def wait_for_gate(gate: Gate, starts: int) -> int:
    """The pid of the gate's process of start number `starts`."""
    end = time.monotonic() + PATIENCE_S
    while len(pids := READY.findall(gate.log)) < starts:
        assert time.monotonic() < end, f"no gate number {starts}:\n{gate.log[-4000:]}"
        time.sleep(0.02)
    return int(pids[starts - 1])


class Load(threading.Thread):
    """A trainer that goes on whatever happens, and keeps what it was told."""

    def __init__(self, profile: Path, stop: threading.Event, *, runs: bool) -> None:
        super().__init__(daemon=True)
        self.profile, self.stop, self.runs = profile, stop, runs
        self.calls: list[str] = []  # ids of the acknowledged
        self.heads: list[tuple[int, str]] = []
        self.refused: set[str] = set()

    def run(self) -> None:
        """Call until told to stop."""
        stub = token_wd.TokenStub(warded.connect(self.profile))
        while not self.stop.is_set():
            try:
                if self.runs:
                    send(self.profile, item("print(1)"), timeout=10)
                    continue
                _, call = stub.WhoAmI.with_call(token_wd.WhoAmIRequest(), timeout=5)
            except warded.RpcError as error:
                self.refused.add(type(error).__name__)
                continue
            self.calls.append(call.call_id)
            self.heads.append((call.reply.head_seq, call.reply.head_hash.hex()))


def events_of_calls(home: Home) -> dict[str, set[str]]:
    """By call id, what the trail has of it."""
    rows = home.tokctl(
        "audit", "query", "--event", "call.*", "--limit", "0", "-o", "jsonl"
    )
    events: dict[str, set[str]] = {}
    for line in rows.stdout.splitlines():
        row = json.loads(line)
        events.setdefault(row["call_id"], set()).add(row["event"])
    return events


def test_claim_08_kills_of_the_gate_lose_no_acknowledged_row(
    new_home: NewHome, new_gate: NewGate, tmp_path: Path
) -> None:
    home = new_home("--listen", f"tls+tcp://127.0.0.1:{free_port()}")
    trainer = home.profile("trainer", "observe:python_code", ttl="24h")
    gate = new_gate(home)
    stop = threading.Event()
    load = [Load(trainer, stop, runs=i == 0) for i in range(5)]
    for thread in load:
        thread.start()
    dice = random.Random(8)
    for number in range(1, KILLS + 1):
        pid = wait_for_gate(gate, number)
        time.sleep(dice.uniform(0.02, 0.3))  # the random point
        os.kill(pid, signal.SIGKILL)
    wait_for_gate(gate, KILLS + 1)
    time.sleep(0.5)
    stop.set()
    for thread in load:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "a call never ended"
    gate.stop()

    acknowledged = [c for t in load for c in t.calls]
    assert len(acknowledged) >= KILLS, f"too little load: {len(acknowledged)}"
    witness = tmp_path / "witness"
    heads = sorted({h for t in load for h in t.heads})
    witness.write_text("".join(f"{seq} {digest}\n" for seq, digest in heads))
    verified = home.tokctl("audit", "verify", "--witness", str(witness), check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr

    events = events_of_calls(home)
    lost = [c for c in acknowledged if events.get(c) != {"call.begin", "call.end"}]
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged calls lack a row"
    starts = home.tokctl(
        "audit", "query", "--event", "gate.start", "--limit", "0", "-o", "jsonl"
    )
    assert len(starts.stdout.splitlines()) == KILLS + 1
