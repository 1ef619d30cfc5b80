"""A Debian host that has nothing of ours: minbase, our checkout, the site's settings.

Example:
    host = FreshHost(Path("/tmp/host"))
    host.make("bookworm")
    assert host.run("cat /etc/debian_version").stdout.startswith("12.")
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
PLACE = "root/warded"  # of the checkout there
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
PEM = re.compile(
    r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL
)
# What a site needs to reach its mirrors and indexes; nothing else goes inside.
SITE = re.compile(r"(https?|no|ftp)_proxy|PIP_\w+", re.IGNORECASE)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def mirror() -> list[str]:
    """The mirror by which this root was made, or the one that is set."""
    set_one = os.environ.get("WARDED_PLATFORM_MIRROR")
    if set_one:
        return [set_one]
    sources = [Path("/etc/apt/sources.list")]
    sources += sorted(Path("/etc/apt/sources.list.d").glob("*.sources"))
    text = "".join(path.read_text() for path in sources if path.exists())
    return re.findall(r"https?://\S+/debian/?(?=\s)", text)[:1]


def _tracked(*options: str) -> list[str]:
    command = ["git", "-C", str(CHECKOUT), "ls-files", "-z", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name]


@dataclass(frozen=True, slots=True)
class FreshHost:
    """One, below `root`."""

    root: Path

    def make(self, release: str) -> None:
        """Install the release, and put there what its administrator would."""
        self.root.chmod(0o755)  # it is `/` to accounts there
        command = [
            "debootstrap",
            "--variant=minbase",
            release,
            str(self.root),
            *mirror(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        if Path("/etc/pip.conf").exists():
            shutil.copy("/etc/pip.conf", self.root / "etc/pip.conf")
        self._trust()
        self._clone()

    def _trust(self) -> None:
        """The authorities that this site trusts, as ca-certificates takes them in."""
        text = (Path("/") / BUNDLE).read_text()
        local = self.root / "usr/local/share/ca-certificates"
        local.mkdir(parents=True, exist_ok=True)
        for number, pem in enumerate(PEM.findall(text)):
            (local / f"site-{number}.crt").write_text(pem)
        bundle = self.root / BUNDLE
        bundle.parent.mkdir(parents=True, exist_ok=True)
        bundle.write_text(text)

    def _clone(self) -> None:
        """The checkout, with what has not been committed yet."""
        place = self.root / PLACE
        clone = ["git", "clone", "--quiet", "--no-hardlinks", str(CHECKOUT), str(place)]
        subprocess.run(clone, check=True, capture_output=True)
        for name in _tracked("--modified", "--others", "--exclude-standard"):
            target = place / name
            if (CHECKOUT / name).exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(CHECKOUT / name, target)
            else:
                target.unlink()

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A shell's line, typed in the checkout by a newcomer who is root."""
        env = {name: said for name, said in os.environ.items() if SITE.fullmatch(name)}
        env |= {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
        return subprocess.run(
            [
                str(HERE / "fresh_host.sh"),
                str(self.root),
                "sh",
                "-c",
                f"cd /{PLACE} && {line}",
            ],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def remove(self) -> None:
        """It and all below; nothing is mounted there once a run has ended."""
        command = ["rm", "-rf", "--one-file-system", str(self.root)]
        subprocess.run(command, check=True)
