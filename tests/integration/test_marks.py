"""The count of what ran, which other tests rely on, counts."""

from __future__ import annotations

import subprocess
import sys

from tests.support.marks import Marks

READERS = 3
ROUNDS = 100
READ = """
import os, sys
print(flush=True)
sys.stdin.readline()
for path in sys.argv[1:]:
    os.read(os.open(path, os.O_RDONLY), 1)
"""


def test_claim_04_each_of_three_readings_at_once_is_counted() -> None:
    with Marks() as marks:
        names = [marks.action("")[0] for _ in range(ROUNDS)]
        paths = [str(marks.folder / name) for name in names]
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", READ, *paths],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(READERS)
        ]
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.readline()  # it is there
        for reader in readers:
            assert reader.stdin is not None
            reader.stdin.write(b"\n")
            reader.stdin.flush()
        for reader in readers:
            reader.communicate()
            assert reader.returncode == 0
        assert marks.counts() == dict.fromkeys(names, READERS)


def test_claim_04_an_action_that_is_read_once_counts_once() -> None:
    with Marks() as marks:
        name, action = marks.action("print(1)")
        marks.action("")  # never run
        assert subprocess.run([sys.executable, "-c", action], check=True)
        assert marks.counts() == {name: 1}
