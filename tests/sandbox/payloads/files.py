"""Files: filling, escaping, leaving. Held by tmpfs limits, mounts and Landlock."""

from tests.sandbox.payload import Payload
from tests.support.jobs import NONE, WALL

SMALL = {"files_bytes": 8 << 20}

PAYLOADS = [
    Payload(
        name="fill_every_folder",
        layers=("mounts",),
        how="tmpfs size: one for all writable folders",
        without="file_limits",
        proof="an error in each; together no more than the limit",
        code="""
total = 0
for folder in ("/tmp", "/work", "/dev/shm"):
    try:
        for i in range(10000):
            with open(f"{folder}/f{i}", "wb") as file:
                total += file.write(b"x" * (1 << 20))
    except OSError:
        print("held", folder)
print("held size" if total <= 8 << 20 else f"LEAK {total}")
""",
        held=("/tmp", "/work", "/dev/shm", "size"),
        limits=SMALL,
    ),
    Payload(
        name="sparse_file",
        layers=("rlimits",),
        how="RLIMIT_FSIZE",
        without="rlimits",
        proof="refused in each way",
        code="""
file = open("/work/s", "wb")
attempt("truncate", os.ftruncate, file.fileno(), 4 << 30)
attempt("write far", os.pwrite, file.fileno(), b"x", 4 << 30)
attempt("allocate", os.posix_fallocate, file.fileno(), 0, 4 << 30)
""",
        held=("truncate", "write far", "allocate"),
        limits=SMALL,
    ),
    Payload(
        name="sparse_file_with_the_signal",
        layers=("rlimits",),
        without="rlimits",
        proof="dies of SIGXFSZ; no file reached the limit, so none is the cause",
        code="""
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.pwrite(os.open("/work/s", os.O_CREAT | os.O_WRONLY), b"x", 4 << 30)
""",
        signal=25,
        limits=SMALL,
    ),
    Payload(
        name="thousands_of_inodes",
        layers=("mounts",),
        how="tmpfs nr_inodes",
        without="file_limits",
        proof="an error before 20,000",
        code="""
count = 0
try:
    while count < 20000:
        os.mkdir(f"/tmp/d{count}")
        count += 1
    print("LEAK", count)
except OSError:
    print("held inodes")
""",
        held=("inodes",),
        limits=SMALL,
    ),
    Payload(
        name="zip_bomb",
        layers=("mounts",),
        how="tmpfs size",
        without="file_limits",
        proof="unpacking ends in an error",
        code="""
import io, zipfile
data = io.BytesIO()
with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
    for i in range(4):
        archive.writestr(f"f{i}", bytes(4 << 20))
attempt("unzip", zipfile.ZipFile(data).extractall, "/tmp")
""",
        held=("unzip",),
        limits=SMALL,
        cause=(NONE, WALL),
    ),
    Payload(
        name="read_secrets",
        layers=("mounts", "landlock"),
        how="they are not in the namespace",
        without="own_root+landlock",
        proof="no such file; the secret's name can't even be seen",
        code="""
attempt("secret", lambda: open("$SECRET").read())
attempt("by init's root", lambda: open("/proc/1/root$SECRET").read())
attempt("by init's cwd", lambda: os.listdir("/proc/1/cwd/"))
attempt("stat", os.stat, "$SECRET")
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("root", os.listdir, "/root")
attempt("home", os.listdir, "/home")
attempt("var lib", os.listdir, "/var/lib")
attempt("run", os.listdir, "/run")
""",
        held=(
            "secret",
            "by init's root",
            "by init's cwd",
            "stat",
            "shadow",
            "root",
            "home",
            "var lib",
            "run",
        ),
    ),
    Payload(
        name="write_a_host_file",
        layers=("mounts",),
        untried="nobody of the host, it may not write there in any case",
        proof="the file is absent on the host",
        code="""
attempt("beside the secret", lambda: open("$SECRET.new", "w").write("x"))
attempt("tmp of the host", lambda: open("/proc/1/root/tmp/x", "w").write("x"))
""",
        held=("beside the secret", "tmp of the host"),
    ),
    Payload(
        name="links_out",
        layers=("mounts", "landlock"),
        untried="nobody of the host, it may not read or link these in any case",
        proof="nothing can be read or linked through them",
        code="""
os.symlink("/etc/shadow", "/work/s")
attempt("read by symlink", lambda: open("/work/s").read())
attempt("hard link to su", os.link, "/usr/bin/su", "/work/su")
attempt("hard link to exe", os.link, "/proc/self/exe", "/work/x")
os.symlink("/proc/1/root", "/tmp/r")
attempt("list by symlink", os.listdir, "/tmp/r/")
""",
        held=(
            "read by symlink",
            "hard link to su",
            "hard link to exe",
            "list by symlink",
        ),
    ),
    Payload(
        name="write_the_base_system",
        layers=("mounts", "landlock", "capabilities"),
        how="read-only, and not its files",
        untried="it would spoil the system that the tests run on",
        proof="refused; the host's file is as it was",
        code="""
import sysconfig
for path in ("/usr/bin/x", "/etc/passwd", "/x", "/dev/x", "/proc/x", "/usr/x",
             sysconfig.get_path("stdlib") + "/os.py"):
    attempt(os.path.basename(path) + " in " + os.path.dirname(path)[:5],
            lambda: open(path, "w").write("x"))
attempt("chmod", os.chmod, "/usr/bin/env", 0o777)
attempt("unlink", os.unlink, "/usr/bin/env")
attempt("rename", os.rename, "/usr/bin/env", "/work/env")
""",
        held=(
            "x in /usr/",
            "passwd in /etc",
            "x in /",
            "x in /dev",
            "x in /proc",
            "x in /usr",
            "os.py in /usr/",
            "chmod",
            "unlink",
            "rename",
        ),
    ),
    Payload(
        name="set_user_id_files",
        layers=("capabilities", "mounts", "no-new-privs"),
        how="nosuid; nobody of the host",
        without="capabilities",
        proof="no program of it runs as root",
        code="""
import shutil, subprocess
shutil.copyfile("/usr/bin/id", "/work/x")
os.chmod("/work/x", 0o6755)
seen = subprocess.run(["/work/x", "-u"], capture_output=True, text=True).stdout
print("held own file" if seen == "1000\\n" else f"LEAK {seen}")
for name in ("su", "mount", "umount", "passwd", "newgrp"):
    def use():
        done = subprocess.run([name, "/"], capture_output=True, input=b"", timeout=5)
        if done.returncode:
            raise OSError(done.stderr)
        return done.stdout
    attempt(name, use)
""",
        held=("own file", "su", "mount", "umount", "passwd", "newgrp"),
    ),
    Payload(
        name="device_nodes",
        layers=("mounts", "seccomp", "landlock"),
        how="minimal /dev, nodev",
        without="own_root+landlock",
        proof="none can be made or opened",
        code="""
import stat
devices = sorted(os.listdir("/dev"))
wanted = ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom",
          "zero"]
print("held list" if devices == wanted else f"LEAK {devices}")
attempt("block", os.mknod, "/work/b", stat.S_IFBLK | 0o600, os.makedev(254, 0))
attempt("char", os.mknod, "/work/c", stat.S_IFCHR | 0o600, os.makedev(1, 1))
for name in ("mem", "kmsg", "vda", "fuse", "kvm", "tty", "ptmx", "vsock", "net/tun",
             "console", "userfaultfd"):
    attempt(name, os.open, "/dev/" + name, os.O_RDWR)
""",
        held=(
            "list",
            "block",
            "char",
            "mem",
            "kmsg",
            "vda",
            "fuse",
            "kvm",
            "tty",
            "ptmx",
            "vsock",
            "net/tun",
            "console",
            "userfaultfd",
        ),
    ),
    Payload(
        name="leave_traces",
        layers=("process-tree", "mounts"),
        how="a fresh tmpfs and interpreter for each action",
        without="process_tree",
        proof="the next action finds nothing of it",
        code="""
import math, socket, time
math.pi = 3
os.environ["X"] = "1"
for folder in ("/tmp", "/work", "/dev/shm", "/var/tmp"):
    open(folder + "/left", "w").write("x")
os.chmod("/work", 0o777)
os.utime("/work", (1, 1))
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0leftname")
listener.listen()
if os.fork() == 0:
    time.sleep(60)
print("held done", flush=True)
os._exit(0)
""",
        held=("done",),
        leftovers=1,
        then="""
import math, os, socket
found = []
if math.pi == 3: found.append("module")
if "X" in os.environ: found.append("environment")
for folder in ("/tmp", "/work", "/dev/shm", "/var/tmp"):
    if os.listdir(folder): found.append(folder)
status = os.stat("/work")
if status.st_mode & 0o777 != 0o700 or status.st_mtime == 1: found.append("mode")
try:
    socket.socket(socket.AF_UNIX).connect("\\0leftname")
    found.append("socket")
except OSError:
    pass
if len([p for p in os.listdir("/proc") if p.isdigit()]) != 1: found.append("process")
print(found or "clean")
""",
    ),
    Payload(
        name="read_what_only_landlock_denies",
        layers=("landlock",),
        how="mounts and modes would let it be read",
        without="landlock",
        proof="it is there, readable by its mode, and not readable",
        code="""
place = "/var/landlocked"
print("held there" if os.stat(place).st_mode & 0o444 == 0o444 else "LEAK mode")
attempt("read", lambda: open(place).read())
attempt("execute", os.execv, place, [place])
""",
        held=("there", "read", "execute"),
    ),
]
