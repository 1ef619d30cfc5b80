"""tokctl's completions, in the shells themselves: what the table of verbs has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.ctl import options, verbs
from tests.support.shells import TAB, Fish, Terminal, open_shell

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal | Fish]:
    """It has tokctl's script, and a file and a folder to complete."""
    home = tmp_path_factory.mktemp(request.param)
    (home / "a file").touch()
    opened = open_shell(request.param, home)
    yield opened
    opened.close()


def test_claim_05_shell_offers_every_verb(shell: Terminal | Fish) -> None:
    groups: dict[str, set[str]] = {}
    for verb in verbs():
        first, _, second = verb.partition(" ")
        groups.setdefault(first, set()).add(second)
    assert shell.words("tokctl ") == set(groups)
    for group, seconds in groups.items():
        if seconds != {""}:
            assert shell.words(f"tokctl {group} ") == seconds


def test_claim_05_shell_offers_every_option_of_every_verb(
    shell: Terminal | Fish,
) -> None:
    for verb in verbs():
        offered = shell.words(f"tokctl {verb} --")
        assert offered == {f"--{name}" for name in options(verb)}, verb


CASES = (
    ("au", "audit"),
    ("iss", "issue"),
    ("frob", ""),
    ("audit qu", "query"),
    ("audit frob", ""),
    ("audit query --ou", "--outcome --output"),
    ("audit query --outcome re", "refused"),
    ("list --state act", "active"),
    ("list --unused 3d --state act", "active"),
    ("list -o js", "json jsonl"),
    ("list --output js", "json jsonl"),
    ("ls --fam", "--family"),
    ("create t --wr", "--wrap"),
    ("list --sort na", "name"),
    ("issue t --scope a:b --scop", "--scope"),
    ("issue t --ttl ", ""),
    ("show ", ""),
    ("completion z", "zsh"),
    ("completion --pro", ""),
    ("renew --db", ""),
    ("rotate --dry", "--dry-run"),
    ("issue --dry", ""),
    # the options that all share may stand before the verb
    ("--home audit li", "list"),
    ("--home=audit li", "list"),
    ("-H audit li", "list"),
    ("-q li", "list"),
    ("-q audit qu", "query"),
    ("--prof", "--profile"),
    ("--output cs", "csv"),
    ("--timeout audit list --fam", "--family"),
)


@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_claim_05_shell_completes(
    shell: Terminal | Fish, line: str, wanted: str
) -> None:
    assert shell.words(f"tokctl {line}") == set(wanted.split())


@pytest.mark.parametrize("line", ["scan ", "list --db ", "--token-file "])
def test_claim_05_shell_completes_files_where_they_go(
    shell: Terminal | Fish, line: str
) -> None:
    assert any("file" in word for word in shell.words(f"tokctl {line}a"))
    assert not shell.words("tokctl list a")


def test_claim_05_tab_key_completes(shell: Terminal | Fish) -> None:
    if isinstance(shell, Terminal):
        assert shell.type(f"tokctl au{TAB}") == "tokctl audit "
        assert shell.type(f"tokctl audit ver{TAB}") == "tokctl audit verify "
        assert shell.type(f"tokctl list --sort -na{TAB}").endswith(" -name ")
    else:
        assert shell.words("tokctl audit ver") == {"verify"}
