"""`warded check` tries the address, and says what only a start tries."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.conftest import NewHome
from tests.support.facts import facts, failed
from tests.support.gate import Done, Home

CONFIG = 78  # EX_CONFIG


@pytest.fixture
def home(new_home: NewHome) -> Path:
    """A home that was initialised; its slots' ids are no other gate's."""
    made = new_home()
    made.take_uids()
    return made.path


def warded(home: Path, *words: str) -> Done:
    """A command that may fail."""
    return Home(home).warded(*words, check=False)


def set_listen(home: Path, url: str) -> None:
    """The configuration's listen.url."""
    config = home / "warded.yaml"
    text, changes = re.subn(
        r"(?m)^(  url:).*", rf"\1 '{url}'", config.read_text(), count=1
    )
    assert changes == 1
    config.write_text(text)


@pytest.mark.parametrize("where", ["256.1.1.1:7443", "[:::::]:7443"])
@pytest.mark.parametrize("verb", ["check", "serve"])
def test_what_is_no_address_is_refused_with_the_settings(
    home: Path, verb: str, where: str
) -> None:
    set_listen(home, f"tls+tcp://{where}")
    done = warded(home, verb)
    assert (done.returncode, done.stdout) == (CONFIG, "")
    assert re.search(r'warded\.yaml:\d+: listen\.url: "tls\+tcp://', done.stderr)


def test_check_and_start_refuse_an_address_of_another_host(home: Path) -> None:
    set_listen(home, "tls+tcp://192.0.2.1:7443")
    done = warded(home, "check")
    assert failed(done) == ["listen.url"]
    says = "Cannot assign requested address; name an address of this host"
    assert says in facts(done)["listen.url"]
    assert done.returncode == 1
    assert warded(home, "serve").returncode != 0


def test_check_and_start_refuse_a_port_that_another_has(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        set_listen(home, f"tls+tcp://127.0.0.1:{other.getsockname()[1]}")
        done = warded(home, "check")
        start = warded(home, "serve")
    assert failed(done) == ["listen.url"]
    assert "Address already in use; choose another port" in facts(done)["listen.url"]
    assert failed(warded(home, "check")) == []
    assert start.returncode != 0
    assert re.search(r"listen\.url: .* in use; choose another port", start.stderr)


def test_check_leaves_no_trace_of_what_it_listened_on(home: Path) -> None:
    for url in ("tls+tcp://127.0.0.1:0", "tls+tcp://[::1]:0", "tls+tcp://*:0"):
        set_listen(home, url)
        assert facts(warded(home, "check"))["listen.url"] == f"ok {url}"


def test_check_says_that_a_start_alone_runs_the_canary(home: Path) -> None:
    told = facts(warded(home, "check"))["sandbox: canary"]
    assert told.startswith("- not tried: a start alone runs it")
