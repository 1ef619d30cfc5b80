"""What actions share of the host. Held by read-only mounts and the seccomp filter."""

from tests.sandbox.payload import Payload

PAYLOADS = [
    Payload(
        name="lock_a_shared_file",
        layers=("seccomp", "mounts"),
        how="no flock, no leases; a read-only file takes no write lock",
        without="seccomp",
        proof="refused; test_sharing.py tries it from two slots at once",
        code="""
import fcntl
file = open("/usr/bin/env", "rb")
attempt("flock", fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
attempt("shared flock", fcntl.flock, file, fcntl.LOCK_SH | fcntl.LOCK_NB)
attempt("write lock", fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
attempt("lease", fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
attempt("lease, high bits", call, 72, file.fileno(), 1024 + (1 << 32), 0)
attempt("write hint", fcntl.fcntl, file, 1036, bytes(8))
attempt("locks of all", lambda: open("/proc/locks").read())
""",
        held=(
            "flock",
            "shared flock",
            "write lock",
            "lease",
            "lease, high bits",
            "write hint",
            "locks of all",
        ),
    ),
    Payload(
        name="watch_shared_files",
        layers=("seccomp",),
        how="no inotify, fanotify, dnotify",
        without="seccomp",
        proof="refused; test_sharing.py tries it from two slots at once",
        code="""
import fcntl
attempt("inotify_init", call, 253)
attempt("inotify_init1", call, 294, 0)
attempt("inotify_add_watch", call, 254, 0, b"/usr/bin", 0xfff)
attempt("fanotify", call, 300, 0, 0)
folder = os.open("/usr/bin", os.O_RDONLY)
attempt("dnotify", fcntl.fcntl, folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
""",
        held=(
            "inotify_init",
            "inotify_init1",
            "inotify_add_watch",
            "fanotify",
            "dnotify",
        ),
    ),
    Payload(
        name="mark_the_hosts_inodes",
        layers=("mounts",),
        how="read-only, those of device nodes too",
        without="read_only",
        proof="EROFS or no right; the times of the host's nodes are as before",
        code="""
import sys
PLACES = ["/dev/" + n for n in ("null", "zero", "full", "random", "urandom")]
PLACES += ["/", "/usr", "/usr/bin/env", "/etc/ld.so.cache", "/etc/alternatives", "/dev",
           os.path.realpath(sys.executable), "/proc", "/proc/self/status",
           "/proc/self/ns/time", "/proc/self/ns/user"]
MARKS = {
    "touch": lambda p: os.utime(p),
    "set times": lambda p: os.utime(p, (1, 1)),
    "set times by descriptor": lambda p: os.utime(os.open(p, os.O_RDONLY), (1, 1)),
    "chmod": lambda p: os.chmod(p, 0o777),
    "chmod by descriptor": lambda p: os.fchmod(os.open(p, os.O_RDONLY), 0o777),
    "chown": lambda p: os.chown(p, 1000, 1000),
    "attribute": lambda p: os.setxattr(p, "user.x", b"1"),
    "attribute away": lambda p: os.removexattr(p, "user.x"),
}
for name, mark in MARKS.items():
    for place in PLACES:
        try:
            mark(place)
        except OSError:
            continue
        print("LEAK", name, place)
    print("held", name)
for device in ("/dev/null", "/dev/zero", "/dev/full"):
    with open(device, "r+b", buffering=0) as file:
        file.read(1)
        try:
            file.write(b"x")
        except OSError as error:
            print("held full" if error.errno == errno.ENOSPC else error)
open("/dev/null", "w").write("x")
print("LEAK" if os.system("echo x >/dev/null; cat /dev/null") else "held device")
""",
        held=(
            "touch",
            "set times",
            "set times by descriptor",
            "chmod",
            "chmod by descriptor",
            "chown",
            "attribute",
            "attribute away",
            "full",
            "device",
        ),
    ),
]
