"""tokctl audit verify --witness: what counts as heads that a client has seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.store import (
    FAILED,
    INTEGRITY,
    NOT_FOUND,
    USAGE,
    Store,
    new_store,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return new_store(tmp_path / "store")


def test_witness_of_another_history_is_a_fork(store: Store, tmp_path: Path) -> None:
    store.rows("fill", "5")
    witness = tmp_path / "witness"
    witness.write_text("3 " + "0" * 64 + "\n")
    done = store.tokctl("audit", "verify", "-w", str(witness), exit_status=INTEGRITY)
    assert "audit row 3 is not the row that a witness has seen" in done.stderr


HASH = "0" * 64


@pytest.mark.parametrize(
    "line",
    ["x", "3 00", f"-3 {HASH}", f"3  {HASH}", f"\0 3 {HASH}", f"3 {HASH}\0", "#\n\0"],
)
def test_claim_08_witness_that_is_none_is_refused_by_line(
    store: Store, tmp_path: Path, line: str
) -> None:
    witness = tmp_path / "witness"
    witness.write_text("# head\n" + line + "\n")
    done = store.tokctl("audit", "verify", "-w", str(witness), exit_status=USAGE)
    number = 2 + line.count("\n")
    assert f"{witness}:{number}:" in done.stderr


def test_claim_08_witness_that_is_not_there_is_not_found(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("absent", "empty"):
        words = ("audit", "verify", "-w", str(tmp_path / name))
        store.tokctl(*words, exit_status=NOT_FOUND)


@pytest.mark.parametrize("size", [127, 128, 129])
def test_claim_08_witness_line_longer_than_128_bytes_is_refused(
    store: Store, tmp_path: Path, size: int
) -> None:
    witness = tmp_path / "witness"
    witness.write_text("# head\n#" + "x" * (size - 1) + "\n")
    status = USAGE if size > 128 else 0
    done = store.tokctl("audit", "verify", "-w", str(witness), exit_status=status)
    assert (f"{witness}:2: not a head: longer" in done.stderr) == (size > 128)


def test_claim_08_witness_that_is_one_endless_line_is_refused(
    store: Store, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    with witness.open("wb") as file:
        file.truncate(1 << 40)  # of nothing: read whole, it would fill the memory
    done = store.tokctl("audit", "verify", "-w", str(witness), exit_status=USAGE)
    assert f"{witness}:1: not a head" in done.stderr


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "pipe"])
def test_claim_08_witness_that_is_neither_file_nor_folder_is_refused(
    store: Store, tmp_path: Path, name: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    witness = tmp_path / name
    done = store.tokctl("audit", "verify", "-w", str(witness), exit_status=USAGE)
    assert f"witness {witness}: neither a file nor a folder" in done.stderr


def test_claim_08_witness_that_can_not_be_read_does_not_count_as_seen(
    store: Store,
) -> None:
    words = ("audit", "verify", "-w", "/proc/self/mem")
    done = store.tokctl(*words, exit_status=FAILED)
    assert "could not read /proc/self/mem: Input/output error" in done.stderr
    assert done.stdout == ""
