# The canary: attacks from inside a slot, and reads from the kernel what it is. Prints
# each surprise, or "canary held"; ends with status 7 and leaves a child behind.
# Standard input names the bait: TCP port, abstract socket, process, secret file; the
# executor's namespaces, none of which may be ours; the slots' ids: first, count.
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

PORT, ABSTRACT, PROCESS, SECRET, SPACES, IDS = sys.stdin.read().splitlines()
LIBC = ctypes.CDLL(None, use_errno=True)
X86_64 = platform.machine() == "x86_64"
ENVIRONMENT = ["HOME", "LANG", "OPENBLAS_NUM_THREADS", "PATH", "TMPDIR"]

MAPS = [[0, True, 1], [1000, True, 1]]
# resource.RLIMIT_*, and what canary.c asks for, or more for what has no such limit
LIMITS = {
    "NOFILE": 256, "CORE": 1, "MEMLOCK": 0, "MSGQUEUE": 0, "SIGPENDING": 256,
    "NICE": 0, "RTPRIO": 0, "NPROC": 24, "FSIZE": 1 << 20, "STACK": 64 << 20,
    "AS": 4 << 30, "CPU": 20,
}  # fmt: skip
PROCESSES = 16  # the cgroup's, below the limit of the user id
TOO_MUCH = 96 << 20  # bytes; the cgroup's limit is less, that of addresses more

surprises: list[str] = []


def call(number: int, *arguments: int) -> int:
    result: int = LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def denied(name: str, attack: Callable[[], object]) -> None:
    """The attack must fail."""
    with contextlib.suppress(OSError):
        surprises.append(f"{name}: {attack()!r:.60}")


def is_so(name: str, seen: object, expected: object) -> None:
    if seen != expected:
        surprises.append(f"{name}: {seen!r:.80}, not {expected!r:.80}")


def connect(family: int, address: object) -> str:
    with socket.socket(family) as peer:
        peer.settimeout(1)
        peer.connect(address)  # type: ignore[arg-type]  # of any family
        return "connected"


def write(path: str) -> int:
    with Path(path).open("ab") as file:
        return file.write(b"x")


def dies_of(number: int, action: Callable[[], object]) -> bool:
    """Run `action` in a child; it must be killed by a signal."""
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == number


def run_machine_code(code: bytes) -> object:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()


def status_of(path: str) -> dict[str, list[str]]:
    lines = [line.split(":", 1) for line in Path(path).read_text().splitlines()]
    return {key: value.split() for key, value in lines}


def lines_of(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def rights() -> None:
    status = status_of("/proc/self/status")
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        is_so(name, int(status[name][0], 16), 0)
    for name in ("Uid", "Gid"):
        is_so(name, status[name], ["1000"] * 4)
    is_so("Groups", status["Groups"], [])
    is_so("NoNewPrivs", status["NoNewPrivs"], ["1"])
    is_so("Seccomp", status["Seccomp"], ["2"])


def identity() -> None:
    for theirs in SPACES.split():
        ours = Path("/proc/self/ns", theirs.split(":")[0]).readlink()
        if ours.name == theirs:
            surprises.append(f"the executor's own namespace {theirs}")
    first, count = map(int, IDS.split())
    slots = range(first, first + count)
    for name in ("uid_map", "gid_map"):
        maps = [[int(n) for n in m.split()] for m in lines_of(f"/proc/self/{name}")]
        is_so(name, [[m[0], m[1] in slots, m[2]] for m in maps], MAPS)
        is_so(f"{name} twice", len({m[1] for m in maps}), 2)


def limits() -> None:
    for name, most in LIMITS.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        if not 0 <= hard <= most:
            surprises.append(f"limit {name}: {hard}, not up to {most}")


def surroundings() -> None:
    is_so("environment", sorted(os.environ), ENVIRONMENT)
    # one more while the folder itself is read
    is_so("descriptors", len(list(Path("/proc/self/fd").iterdir())), 4)
    processes = [p.name for p in Path("/proc").iterdir() if p.name.isdigit()]
    is_so("processes", processes, [str(os.getpid())])
    devices = [line.split(":")[0].strip() for line in lines_of("/proc/self/net/dev")]
    is_so("interfaces", devices[2:], ["lo"])
    is_so("host name", os.uname().nodename, "slot")
    # memory that is shared with others would be a channel
    shared = [m for m in lines_of("/proc/self/maps") if m.split()[1][1::2] == "ws"]
    is_so("shared memory", shared, [])


def network() -> None:
    port = int(PORT)
    denied("tcp 127.0.0.1", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
    denied("tcp ::1", lambda: connect(socket.AF_INET6, ("::1", port)))
    denied("tcp metadata", lambda: connect(socket.AF_INET, ("169.254.169.254", 80)))
    denied("abstract socket", lambda: connect(socket.AF_UNIX, "\0" + ABSTRACT))
    denied("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
    denied("netlink", lambda: socket.socket(16, socket.SOCK_RAW))
    denied("packet", lambda: socket.socket(17, socket.SOCK_RAW))


def files() -> None:
    for path in (SECRET, "/etc/shadow", f"/proc/{PROCESS}/environ", "/proc/1/environ"):
        denied(f"read {path}", Path(path).read_bytes)
    denied(f"see {SECRET}", Path(SECRET).stat)
    for path in ("/usr/x", "/etc/passwd", "/x", "/dev/x", "/proc/self/oom_score_adj"):
        denied(f"write {path}", lambda path=path: write(path))  # type: ignore[misc]  # a lambda's default


def landlock() -> None:
    place = Path("/var/landlocked")  # there, and readable by mounts and mode
    mode = place.stat().st_mode & 0o444 if place.exists() else 0
    is_so(f"mode of {place}", mode, 0o444)
    denied("read what no rule of Landlock names", place.read_bytes)


def shared() -> None:
    for path in ("/dev/null", "/dev/zero"):
        denied(f"touch {path}", lambda path=path: os.utime(path))  # type: ignore[misc]  # a lambda's default
    with Path("/usr/bin/env").open("rb") as file:
        denied("flock", lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    denied("inotify", lambda: os.close(inotify()))


def inotify() -> int:
    descriptor: int = LIBC.inotify_init1(0)
    if descriptor < 0:
        raise OSError
    return descriptor


def fork_until_refused() -> int:
    reader, writer = os.pipe()
    count = 0
    with contextlib.suppress(BlockingIOError):
        while count < 2 * PROCESSES:
            if os.fork() == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            count += 1
    os.close(reader)
    os.close(writer)
    for _ in range(count):
        os.wait()
    return count


def cgroups() -> None:
    is_so("children at once", fork_until_refused(), PROCESSES - 1)
    dies = dies_of(signal.SIGKILL, lambda: b"x" * TOO_MUCH)
    is_so("killed for memory", dies, True)


def processes() -> None:
    denied("signal the executor", lambda: os.kill(int(PROCESS), 0))
    denied("signal process 1", lambda: os.kill(1, 0))


# x86_64 numbers; elsewhere the kernel's own list has other ones
ATTACKS: dict[str, tuple[int, ...]] = {
    "unshare": (272, 0x10000000), "setns": (308, 0, 0), "mount": (165, 0, 0, 0, 0, 0),
    "pivot_root": (155, 0, 0), "chroot": (161, 0), "fsopen": (430, 0, 0),
    "ptrace": (101, 0, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "keyctl": (250, 0, -3, 0, 0, 0), "add_key": (248, 0, 0, 0, 0, 0),
    "bpf": (321, 0, 0, 0), "io_uring_setup": (425, 4, 0), "userfaultfd": (323, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0), "clone3": (435, 0, 88),
    "clone new user": (56, 0x10000000 | 17, 0, 0, 0, 0), "seccomp": (317, 1, 0, 0),
    "clone parent": (56, 0x8000 | 17, 0, 0, 0, 0), "shmget": (29, 0, 4096, 0o1600),
    "reboot": (169, 0, 0, 0), "init_module": (175, 0, 0, 0), "swapon": (167, 0, 0),
}  # fmt: skip


def try_call(name: str, arguments: tuple[int, ...]) -> None:
    try:
        result = call(*arguments)
    except OSError as error:
        # refused by the filter, not by the kernel's look at the arguments
        if error.errno not in (errno.EPERM, errno.ENOSYS):
            surprises.append(f"{name}: {error}")
        return
    if result == 0 and name.startswith("clone"):
        os._exit(0)  # we are what it made
    surprises.append(f"{name}: {result}")


def calls() -> None:
    if not X86_64:
        return
    for name, arguments in ATTACKS.items():
        try_call(name, arguments)
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, getpid; int 0x80; ret
    is_so("int 0x80", dies_of(signal.SIGSYS, lambda: run_machine_code(code)), True)
    x32 = ctypes.c_long(0x40000027)
    is_so("x32", dies_of(signal.SIGSYS, lambda: LIBC.syscall(x32)), True)


def outlive() -> None:
    if os.fork() == 0:
        os.setsid()
        for descriptor in range(3):
            os.close(descriptor)
        time.sleep(600)
        os._exit(0)


for attack in (identity, rights, limits, surroundings, network, files, landlock, shared,
               processes, cgroups, calls, outlive):  # fmt: skip
    attack()
print("\n".join(surprises) or "canary held", flush=True)
os._exit(7)
