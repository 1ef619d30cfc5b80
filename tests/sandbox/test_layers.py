"""Each layer taken away for real: the executor refuses, names it and tells the cure."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox import layers
from tests.sandbox.bait import Bait
from tests.sandbox.counts import leaves
from tests.support.execd_client import BUILD, UID_BASE, Execd, write_home
from tests.support.jobs import ROOT

DENY = str(ROOT / "tests" / "support" / "deny.py")
EPERM, ENOSYS, EOPNOTSUPP = 1, 38, 95


def deny(rule: str, error: int = EPERM) -> tuple[str, ...]:
    """Run under a filter that denies a system call."""
    return (sys.executable, DENY, rule, str(error))


def mounted(script: str) -> tuple[str, ...]:
    """Run in a mount namespace of its own, changed by a shell script first."""
    return (
        "unshare", "--mount", "--propagation", "private",
        "sh", "-ec", f'{script}\nexec "$@"', "sh",
    )  # fmt: skip


def piped(pattern: str) -> tuple[str, ...]:
    """Run where kernel.core_pattern is this."""
    return mounted(
        f"echo '{pattern}' >/run/c\n"
        "mount --bind /run/c /proc/sys/kernel/core_pattern\nrm /run/c"
    )


HIDDEN = mounted("mount -t tmpfs none /proc/sys/kernel")
# As sudo leaves it, and as root of a container has it: no way to raise it.
NO_CORE = ("setpriv", "--bounding-set=-sys_resource", "prlimit", "--core=0:0")


@dataclass(frozen=True, slots=True)
class Case:
    """A layer, how it is taken away, what the refusal says."""

    layer: str
    how: str
    cure: str
    wrap: tuple[str, ...] = ()
    more: str = ""  # of the configuration's sandbox section


FAKE_PASSWD = f"x:x:{UID_BASE}:{UID_BASE}::/:/bin/sh"
CASES = [
    Case(
        "user-namespace", "denied", "user.max_user_namespaces", deny("56 0&0x10000000")
    ),
    Case(
        "user-namespace", "clone_denied", "CLONE_NEW", deny("56 0&0x10000000", ENOSYS)
    ),
    Case("pid-namespace", "denied", "CLONE_NEW", deny("56 0&0x20000000")),
    Case("net-namespace", "denied", "CLONE_NEW", deny("56 0&0x40000000")),
    Case("ipc-namespace", "denied", "CLONE_NEW", deny("56 0&0x08000000")),
    Case("uts-namespace", "denied", "CLONE_NEW", deny("56 0&0x04000000")),
    Case("cgroup-namespace", "denied", "CLONE_NEW", deny("56 0&0x02000000")),
    Case("mounts", "mount_denied", "SYS_ADMIN", deny("165")),
    Case("mounts", "pivot_root_denied", "pivot_root", deny("155")),
    Case("mounts", "mount_setattr_absent", "mount_setattr", deny("442", ENOSYS)),
    Case(
        "proc",
        "masked",
        "systempaths=unconfined",
        mounted("mount -t tmpfs none /proc/irq"),
    ),
    Case(
        "cgroup-memory",
        "absent",
        "Delegate",
        mounted("umount -l /sys/fs/cgroup/memory"),
    ),
    Case("cgroup-pids", "absent", "Delegate", mounted("umount -l /sys/fs/cgroup/pids")),
    Case(
        "cgroup-pids",
        "read_only",
        "writable",
        mounted("mount -o remount,bind,ro /sys/fs/cgroup/pids"),
    ),
    Case("rlimits", "denied", "prlimit64", deny("302 1=12")),
    Case("rlimits", "core_dumps_piped", "ulimit -Hc", (*piped("|/bin/true"), *NO_CORE)),
    Case("rlimits", "core_dumps_sent", "core_pattern", (*piped("@/x"), *NO_CORE)),
    Case("rlimits", "core_pattern_hidden", "ulimit -Hc", (*HIDDEN, *NO_CORE)),
    Case("capabilities", "capset_denied", "capset", deny("126")),
    Case("capabilities", "bounding_set_denied", "PR_CAPBSET_DROP", deny("157 0=24")),
    Case("no-new-privs", "denied", "PR_SET_NO_NEW_PRIVS", deny("157 0=38")),
    Case("landlock", "absent", "CONFIG_SECURITY_LANDLOCK", deny("444", ENOSYS)),
    Case("landlock", "switched_off", "lsm=", deny("444", EOPNOTSUPP)),
    Case("landlock", "restrict_denied", "landlock", deny("446")),
    Case("seccomp", "denied", "CONFIG_SECCOMP_FILTER", deny("317", ENOSYS)),
    Case("descriptors", "no_memfd", "memfd_create", deny("319", ENOSYS)),
    Case("descriptors", "no_close_range", "close_range", deny("436", ENOSYS)),
    Case(
        "uid-range",
        "account",
        "sandbox.uid_base",
        mounted(
            f"echo '{FAKE_PASSWD}' | cat /etc/passwd - >/run/p\n"
            "mount --bind /run/p /etc/passwd\nrm /run/p"
        ),
    ),
    Case(
        "uid-range",
        "other_subuid",
        "/etc/subuid",
        mounted(
            f"echo 'other:{UID_BASE + 1}:1' >/run/s\n"
            "touch /etc/subuid; mount --bind /run/s /etc/subuid\nrm /run/s"
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{c.layer}-{c.how}" for c in CASES])
def test_claim_10_a_missing_layer_refuses_start_with_its_name_and_cure(
    case: Case, tmp_path: Path
) -> None:
    home = write_home(tmp_path / "home", slots=1, more=case.more)
    with Execd(home, wrap=case.wrap) as execd:
        text = execd.wait_refused()
    assert text.startswith(f"{case.layer}: "), text
    assert case.cure in text
    assert text.endswith(f"; {layers.cures()[case.layer]}"), text
    assert "execd.refused" in execd.log.read_text()
    assert list(leaves(execd.pid)) == []


@pytest.mark.parametrize("root", ["/dev", "/proc", "/proc/irq", "/sys", "/run"])
def test_claim_10_a_root_that_a_slot_makes_itself_is_the_settings_fault(
    root: str, tmp_path: Path
) -> None:
    home = write_home(tmp_path / "home", slots=1, more=f"  roots: [/usr, {root}]")
    with Execd(home) as execd:
        text = execd.wait_refused()
    assert text.startswith(f"mounts: sandbox.roots: {root} is a place that each slot")
    assert text.endswith("; name a folder elsewhere")


def test_claim_10_a_root_behind_a_shut_folder_names_it_and_its_cure(
    tmp_path: Path,
) -> None:
    with tempfile.TemporaryDirectory(dir="/opt") as shut:  # 0700
        (Path(shut) / "in").mkdir()
        more = f"  roots: [/usr, {shut}/in]"
        home = write_home(tmp_path / "home", slots=1, more=more)
        with Execd(home) as execd:
            text = execd.wait_refused()
        cure = f"chmod o+x {shut}, or name a folder elsewhere"
        assert text == f"mounts: sandbox.roots: {cure}"
        Path(shut).chmod(0o701)
        with Execd(home) as execd:
            execd.wait_ready()


def write_tool(home: Path, interpreter: str) -> Path:
    """A configuration whose tool has this interpreter."""
    write_home(home, slots=4)  # of which some run yet when one is refused
    config = home / "warded.yaml"
    config.write_text(f"{config.read_text()}    interpreter: {interpreter}\n")
    return home


def test_claim_10_a_missing_interpreter_refuses_start(tmp_path: Path) -> None:
    with Execd(write_tool(tmp_path / "home", "/usr/bin/no-such-python")) as execd:
        text = execd.wait_refused()
    assert text.startswith("interpreter: ")
    assert text.endswith(f"; {layers.cures()['interpreter']}")
    assert "tools[].interpreter" in text


@pytest.mark.parametrize("interpreter", ["/usr/bin/true", "/bin/sh"])
def test_claim_10_an_interpreter_that_does_not_interpret_fails_the_canary(
    interpreter: str,
    tmp_path: Path,
) -> None:
    with Execd(write_tool(tmp_path / "home", interpreter)) as execd:
        text = execd.wait_refused()
    assert text.startswith("canary: ")
    assert text.endswith(f"; {layers.cures()['canary']}")


def test_claim_10_mode_external_is_refused_and_says_that_it_is_not_built(
    tmp_path: Path,
) -> None:
    more = "  mode: external\n  reason: a microVM"
    with Execd(write_home(tmp_path / "home", more=more)) as execd:
        assert "external is not built" in execd.wait_refused()


def test_claim_10_an_optional_layer_that_is_absent_is_reported_not_required(
    tmp_path: Path,
) -> None:
    wrap = mounted("umount -l /sys/fs/cgroup/cpu")
    with Execd(write_home(tmp_path / "home", slots=1), wrap=wrap) as execd:
        execd.wait_ready()
        told = {layer.name: layer for layer in execd.connect().wait_ready().layers}
    assert not told["cgroup-cpu"].active
    assert told["cgroup-memory"].active
    assert told["canary"].active


def test_claim_10_the_canary_finds_every_hole_when_there_is_no_sandbox(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    bait = Bait(tmp_path_factory.mktemp("holes"))
    canary = (ROOT / "server/executor/canary.py").read_text()
    spaces = " ".join(
        Path(f"/proc/self/ns/{name}").readlink().name
        for name in ("user", "net", "ipc", "uts", "mnt", "cgroup")
    )
    where = (
        f"{bait.port}\n{bait.abstract}\n{bait.process.pid}\n/etc/hostname\n"
        f"{spaces}\n{UID_BASE} 2\n"
    )
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--kill-child", "setpriv", "--reuid=65534",
         "--regid=65534", "--clear-groups", "/usr/bin/python3", "-I", "-c", canary],
        input=where.encode(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    text = done.stdout.decode()
    assert "canary held" not in text
    for hole in ("CapBnd", "Uid", "NoNewPrivs", "Seccomp", "environment", "processes",
                 "interfaces", "host name", "tcp 127.0.0.1", "abstract socket",
                 "read /etc/hostname", "netlink", "unshare", "io_uring_setup", "keyctl",
                 "int 0x80", "own namespace user:", "own namespace cgroup:", "uid_map",
                 "gid_map", "limit NOFILE", "limit NPROC", "/var/landlocked",
                 "touch /dev/null", "flock", "inotify", "children at once",
                 "killed for memory"):  # fmt: skip
        assert hole in text, hole
    assert bait.touched() == ["accepted on _tcp", "accepted on _abstract"]
    bait.close()


def test_claim_10_warded_slot_by_hand_says_so_and_does_nothing() -> None:
    done = subprocess.run(
        [BUILD / "bin" / "warded-slot"], capture_output=True, check=False, timeout=10
    )
    assert done.returncode == 64
    assert b"not by hand" in done.stderr


def test_claim_10_execd_by_hand_says_so_and_does_nothing() -> None:
    done = subprocess.run(
        [BUILD / "bin" / "warded-execd"], capture_output=True, check=False, timeout=10
    )
    assert done.returncode == 64
    assert b"not by hand" in done.stderr


def test_claim_10_execd_tells_what_it_is_and_who_starts_it() -> None:
    done = subprocess.run(
        [BUILD / "bin" / "warded-execd", "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("`warded serve` starts it", "--home", "--canary-ms", "warded check"):
        assert word in done.stdout


def test_a_hard_core_limit_of_0_will_do_where_the_pattern_is_a_file(
    tmp_path: Path,
) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    with Execd(write_home(tmp_path / "home", slots=1), wrap=NO_CORE) as execd:
        if pattern.startswith(("|", "@")):  # of this host: then it is refused
            assert execd.wait_refused().startswith("rlimits: the hard limit of core")
            return
        execd.wait_ready()
        jobs = execd.connect()
        jobs.wait_ready()
        code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))"
        assert jobs.run(code).stdout == b"(0, 0)\n"
