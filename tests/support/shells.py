"""Shells that complete tokctl's command line, each on the script made for it.

bash and zsh run on a terminal, where the keys that ask are real; fish is asked by its
own `complete -C`, which does what its Tab key does.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Protocol

from tests.support.ctl import CLEAN, told
from tests.support.gate import READY_S, GateError

FISH = "tokctl.fish"
ALL, TELL, TAB = "\x0f", "\x14", "\t"  # keys: insert all that fit, tell the line

BASH = r"""
source "$HOME/tokctl"
PS1=
told() { printf '<<%s>>' "$READLINE_LINE"; READLINE_LINE= READLINE_POINT=0; }
bind -x '"\C-t": told'
bind '"\C-o": insert-completions'
bind 'set bell-style none'
"""
# What a completion function offers goes through compadd, which says what of it fits.
ZSH = r"""
fpath=($HOME $fpath)
autoload -Uz compinit
compinit -u -d $HOME/dump
PS1=
setopt extendedglob
all=no
hits=()
compadd() {
    local -a fit
    if [[ $all == yes && " $* " != *' -'[OAD]' '* ]]; then
        builtin compadd -A fit "$@"
        hits+=($fit)
        return 0
    fi
    builtin compadd "$@"
}
zle -C offer complete-word _main_complete
all() { all=yes; zle offer; all=no; BUFFER="${BUFFER%%[^ ]#}${(j: :)hits}"; hits=() }
told() { print -rn -- "<<$BUFFER>>" >$TTY; BUFFER= }
zle -N all
zle -N told
bindkey '^T' told '^O' all
"""


class Shell(Protocol):
    """A shell that has tokctl's completions."""

    def words(self, line: str) -> set[str]:
        """All that may stand where the line ends."""


class Terminal:
    """A shell on a terminal of its own, in a folder with its start-up file."""

    def __init__(self, *command: str, home: Path) -> None:
        path = shutil.which(command[0])
        assert path is not None, f"no {command[0]}: see deploy/packages.txt"
        env = {"PATH": os.environ["PATH"], "TERM": "vt100", "HOME": str(home)}
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(home)
            os.execve(path, command, env)

    def close(self) -> None:
        """It ends with its terminal."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)

    def type(self, keys: str) -> str:
        """What the line has become after these keys."""
        os.write(self._fd, (keys + TELL).encode())
        seen = b""
        while (line := re.search(rb"<<(.*?)>>", seen, re.S)) is None:
            if not select.select([self._fd], [], [], READY_S)[0]:
                raise GateError(f"it never told its line: {seen!r}")
            seen += os.read(self._fd, 65536)
        return line[1].decode()

    def words(self, line: str) -> set[str]:
        """All that may stand where the line ends."""
        kept, _, last = line.rpartition(" ")
        shown = self.type(line + ALL).removeprefix(kept).strip()
        return set() if shown == last else set(shown.split())


class Fish:
    """Asked by a program: `complete -C LINE`.

    It also tells what has the last word's letters somewhere: that is left out.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def close(self) -> None:
        """Nothing runs."""

    def words(self, line: str) -> set[str]:
        """All that may stand where the line ends."""
        done = subprocess.run(
            [
                "fish",
                "--no-config",
                "-c",
                f"source {FISH}; complete -C $argv",
                line,
            ],
            cwd=self._home,
            env={**CLEAN, "HOME": str(self._home)},
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=True,
        )
        assert done.stderr == ""
        found = {shown.split("\t")[0] for shown in done.stdout.splitlines()}
        return {word for word in found if word.startswith(line.rpartition(" ")[2])}


def open_shell(name: str, home: Path) -> Terminal | Fish:
    """bash, zsh or fish, in an empty folder."""
    script = {"bash": "tokctl", "zsh": "_tokctl", "fish": FISH}[name]
    (home / script).write_text(told("completion", name))
    if name == "bash":
        (home / ".bashrc").write_text(BASH)
        return Terminal("bash", "-i", home=home)
    if name == "zsh":
        (home / ".zshrc").write_text(ZSH)
        return Terminal("zsh", "-d", "-i", home=home)
    return Fish(home)
