"""System calls that lead elsewhere. Held by the seccomp filter, by lack of rights."""

from tests.sandbox.payload import Payload

REFUSED = """
def refused(name, number, *arguments):
    def attack():
        try:
            return call(number, *arguments)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                return error  # refused by luck: the kernel looked at the arguments
            raise
    attempt(name, attack)
"""


def refused(name: str, proof: str, calls: dict[str, str]) -> Payload:
    """A payload of calls that the filter itself has to refuse."""
    lines = "\n".join(f"refused({n!r}, {a})" for n, a in calls.items())
    return Payload(
        name=name,
        layers=("seccomp",),
        without="seccomp",
        proof=proof,
        code=f"{REFUSED}\nb = (ctypes.c_char * 208)()\n{lines}\n",
        held=tuple(calls),
    )


PAYLOADS = [
    refused(
        "debug_others",
        "EPERM or ENOSYS",
        {
            "traceme": "101, 0, 0, 0, 0",
            "attach": "101, 16, 1, 0, 0",
            "seize": "101, 0x4206, 1, 0, 0",
            "vm_readv": "310, 1, 0, 0, 0, 0, 0",
            "vm_writev": "311, 1, 0, 0, 0, 0, 0",
            "kcmp": "312, 1, 1, 0, 0, 0",
            "pidfd_getfd": "438, 0, 0, 0",
            "process_madvise": "440, 0, 0, 0, 0, 0",
        },
    ),
    refused(
        "mounts",
        "EPERM or ENOSYS",
        {
            "mount": "165, 0, 0, 0, 0, 0",
            "umount": "166, 0, 0",
            "pivot_root": "155, 0, 0",
            "chroot": "161, b'/tmp'",
            "fsopen": "430, 0, 0",
            "open_tree": "428, -100, 0, 1",
            "move_mount": "429, 0, 0, 0, 0, 0",
            "mount_setattr": "442, 0, 0, 0, 0, 0",
            "fspick": "433, 0, 0, 0",
        },
    ),
    refused(
        "namespaces",
        "EPERM or ENOSYS",
        {
            "unshare user": "272, 0x10000000",
            "unshare net": "272, 0x40000000",
            "setns": "308, 0, 0",
            "clone user": "56, 0x10000000 | 17, 0, 0, 0, 0",
            "clone time": "56, 0x80 | 17, 0, 0, 0, 0",
            "clone3": "435, 0, 88",
        },
    ),
    refused(
        "sibling_by_clone_parent",
        "ENOSYS",
        {
            "clone parent": "56, 0x8000 | 17, 0, 0, 0, 0",
        },
    ),
    refused(
        "keyrings",
        "EPERM",
        {
            "add_key": "248, b'user', b'a', b'b', 1, -4",
            "keyctl": "250, 0, -3, 0, 0, 0",
            "request_key": "249, 0, 0, 0, 0",
        },
    ),
    refused(
        "io_uring",
        "EPERM",
        {
            "setup": "425, 4, b",
            "enter": "426, 0, 0, 0, 0, 0, 0",
            "register": "427, 0, 0, 0, 0",
        },
    ),
    refused(
        "administration",
        "EPERM or ENOSYS",
        {
            "bpf": "321, 0, b, 0",
            "perf": "298, b, 0, -1, -1, 0",
            "userfaultfd": "323, 0",
            "fanotify": "300, 0, 0",
            "quotactl": "179, 0, 0, 0, 0",
            "kexec": "246, 0, 0, 0, 0",
            "init_module": "175, b, 0, b",
            "finit_module": "313, 0, b, 0",
            "reboot": "169, 0, 0, 0",
            "swapon": "167, b, 0",
            "acct": "163, 0",
            "iopl": "172, 3",
            "ioperm": "173, 0, 1, 1",
            "modify_ldt": "154, 0, b, 0",
            "lookup_dcookie": "212, 0, b, 0",
            "nfsservctl": "180, 0, b, b",
            "handle_at": "303, 0, b, b, b, 0",
            "open_handle": "304, 0, b, 0",
            "memfd_secret": "447, 0",
            "seccomp": "317, 1, 0, b",
            "vhangup": "153",
            "sethostname": "170, b, 1",
            "move_pages": "279, 0, 0, 0, 0, 0, 0",
            "remap_file_pages": "216, 0, 0, 0, 0, 0",
            "map_shadow_stack": "453, 0, 0, 0",
            "uselib": "134, b",
            "create_module": "174, b, 0",
            "syslog": "103, 3, 0, 0",
            "sync": "162",
        },
    ),
    refused(
        "ipc_that_outlives",
        "EPERM",
        {
            "shmget": "29, 1, 4096, 0o1600",
            "semget": "64, 1, 1, 0o1600",
            "msgget": "68, 1, 0o1600",
            "mq_open": "240, b'x', 0o102, 0o600, 0",
        },
    ),
    refused(
        "clocks",
        "EPERM",
        {
            "clock_settime": "227, 0, b",
            "settimeofday": "164, b, 0",
            "adjtimex": "159, b",
            "clock_adjtime": "305, 0, b",
        },
    ),
    Payload(
        name="other_architectures",
        layers=("seccomp",),
        how="another architecture kills",
        without="seccomp",
        proof="each child dies of SIGSYS",
        code="""
import mmap
def run(code):
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()
for name, attack in (
        ("int 0x80", lambda: run(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")),
        ("x32", lambda: LIBC.syscall(ctypes.c_long(0x40000000 + 39)))):
    child = os.fork()
    if child == 0:
        attack()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print("held" if status & 127 == 31 else f"LEAK {status}", name)
""",
        held=("int 0x80", "x32"),
    ),
    Payload(
        name="terminal_injection",
        layers=("seccomp",),
        how="no terminal; 32 bits of a request are compared (CVE-2019-10063)",
        untried="there is no terminal behind the filter",
        proof="refused",
        code="""
import fcntl
attempt("tiocsti", fcntl.ioctl, 0, 0x5412, b"x")
attempt("tiocsti high", call, 16, 0, 0x100005412, b"x")
attempt("tiocsctty", fcntl.ioctl, 0, 0x540E, 1)
attempt("tioclinux", fcntl.ioctl, 0, 0x541C, b"\\x02")
""",
        held=("tiocsti", "tiocsti high", "tiocsctty", "tioclinux"),
    ),
    Payload(
        name="proc_and_sys_files",
        layers=("proc", "landlock", "mounts"),
        how="read-only, own processes only; no sysfs",
        without="proc_limits+landlock",
        proof="nothing can be written or read",
        code="""
for path in ("/proc/1/mem", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
             "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/1/oom_score_adj",
             "/proc/self/mem"):
    attempt("write " + path, lambda: open(path, "r+b").write(b"x"))
for path in ("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys",
             "/proc/timer_list", "/proc/cmdline", "/proc/config.gz", "/sys/kernel",
             "/proc/modules", "/proc/1/environ"):
    attempt("read " + path, lambda: open(path, "rb").read(10))
attempt("read host", lambda: open("/proc/$PID/environ", "rb").read(10))
""",
        held=(
            "write /proc/1/mem",
            "write /proc/sys/kernel/core_pattern",
            "write /proc/sysrq-trigger",
            "write /proc/self/oom_score_adj",
            "write /proc/self/uid_map",
            "write /proc/1/oom_score_adj",
            "write /proc/self/mem",
            "read /proc/kcore",
            "read /proc/kallsyms",
            "read /proc/kmsg",
            "read /proc/keys",
            "read /proc/timer_list",
            "read /proc/cmdline",
            "read /proc/config.gz",
            "read /sys/kernel",
            "read /proc/modules",
            "read /proc/1/environ",
            "read host",
        ),
    ),
    Payload(
        name="cgroup_escape",
        layers=("cgroup-namespace", "mounts"),
        how="no cgroup file system inside",
        without="cgroup_ns",
        proof="it sees no path and can write nowhere",
        code="""
seen = {line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")}
print("held path" if not any("warded" in path for path in seen) else f"LEAK {seen}")
attempt("list", os.listdir, "/sys/fs/cgroup")
attempt("procs", lambda: open("/sys/fs/cgroup/cgroup.procs", "w").write("0"))
attempt("release_agent", lambda: open("/sys/fs/cgroup/release_agent", "w"))
""",
        held=("path", "list", "procs", "release_agent"),
    ),
]
