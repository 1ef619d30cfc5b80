"""A race is found by what judges the race tests, and its flags are what finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.runner import races
from tests.runner.model import Outcome

PROGRAM = """
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counted;
static void *count(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        if (LOCKED)
            pthread_mutex_lock(&lock);
        counted++;
        if (LOCKED)
            pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, count, 0);
    count(0);
    pthread_join(other, 0);
    return 0;
}
"""


@pytest.mark.parametrize("locked", [0, 1])
def test_claim_05_a_sown_race_is_found(tmp_path: Path, locked: int) -> None:
    source, program = tmp_path / "race.c", tmp_path / "race"
    source.write_text(PROGRAM)
    kind = next(o for o in races.OPTIONS if "SANITIZE" in o).partition("=")[2]
    flags = [f"-DLOCKED={locked}", f"-fsanitize={kind}", "-O2", "-o", str(program)]
    subprocess.run([races.TSAN.compiler, *flags, source], check=True)
    judged = races.judge("race.sown", races.under_tsan(60, str(program)))
    assert judged.outcome is (Outcome.PASSED if locked else Outcome.FAILED)
