"""Who it is and what it may: ids, capabilities, limits, secrets, descriptors."""

from tests.sandbox.payload import Payload

PAYLOADS = [
    Payload(
        name="environ_of_others",
        layers=("proc", "pid-namespace"),
        how="hidepid and subset=pid",
        without="proc",
        proof="the secret of the host's process is in none that can be read",
        code="""
found = []
for process in [*range(1, 3000), $PID, $EXECD]:
    try:
        if b"$WORD" in open(f"/proc/{process}/environ", "rb").read():
            found.append(process)
    except OSError:
        pass
print(f"LEAK {found}" if found else "held environ")
own = [p for p in os.listdir("/proc") if p.isdigit()]
print("held list" if own == [str(os.getpid())] else f"LEAK {own}")
""",
        held=("environ", "list"),
    ),
    Payload(
        name="secrets_in_own_memory",
        layers=("interpreter",),
        how="exec'd with an empty environment, as warded-slot is",
        without="empty_environment",
        proof="the executor's secret is nowhere in environment or memory",
        code="""
# in halves, so that the search does not find itself
first, second = b"$FIRST", b"$SECOND"
def holds(data):
    at = data.find(first)
    while at >= 0:
        if data[at + len(first) : at + len(first) + len(second)] == second:
            return True
        at = data.find(first, at + 1)
    return False
hits = int(holds(open("/proc/self/environ", "rb").read()))
memory = open("/proc/self/mem", "rb")
for line in open("/proc/self/maps"):
    bounds, flags = line.split()[:2]
    if not flags.startswith("rw"):
        continue
    start, end = (int(x, 16) for x in bounds.split("-"))
    try:
        memory.seek(start)
        hits += holds(memory.read(end - start))
    except (OSError, ValueError):
        pass
print("held memory" if hits == 0 else f"LEAK {hits}")
""",
        held=("memory",),
    ),
    Payload(
        name="become_someone",
        layers=("capabilities", "user-namespace"),
        without="capabilities",
        proof="refused",
        code="""
for name, attack, arguments in (
        ("setuid", os.setuid, (0,)), ("setgid", os.setgid, (0,)),
        ("setresuid", os.setresuid, (0, 0, 0)), ("seteuid", os.seteuid, (0,)),
        ("setgroups", os.setgroups, ([0],)), ("other", os.setuid, (1001,)),
        ("nice", os.setpriority, (0, 0, -20)),
        ("realtime", os.sched_setscheduler, (0, 1, os.sched_param(50)))):
    attempt(name, attack, *arguments)
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
attempt("capset", call, 126, header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))
""",
        held=(
            "setuid",
            "setgid",
            "setresuid",
            "seteuid",
            "setgroups",
            "other",
            "nice",
            "realtime",
            "capset",
        ),
    ),
    Payload(
        name="raise_limits",
        layers=("rlimits", "capabilities"),
        how="hard limits",
        without="rlimits",
        proof="refused",
        code="""
import resource
for name in ("NPROC", "NOFILE", "FSIZE", "CPU", "AS", "CORE", "MEMLOCK", "RTPRIO", "NICE",
             "SIGPENDING", "MSGQUEUE", "STACK"):
    number = getattr(resource, "RLIMIT_" + name)
    attempt(name, resource.setrlimit, number, (resource.RLIM_INFINITY,) * 2)
attempt("of init", resource.prlimit, 1, resource.RLIMIT_NOFILE, (1, 1))
""",
        held=(
            "NPROC",
            "NOFILE",
            "FSIZE",
            "CPU",
            "AS",
            "CORE",
            "MEMLOCK",
            "RTPRIO",
            "NICE",
            "SIGPENDING",
            "MSGQUEUE",
            "STACK",
            "of init",
        ),
    ),
    Payload(
        name="core_dump",
        layers=("rlimits",),
        how="RLIMIT_CORE 1: no file, no helper of the host",
        without="core",
        proof="SIGABRT without the core flag",
        code="""
import resource
attempt("raise core", resource.setrlimit, resource.RLIMIT_CORE, (1 << 20, 1 << 20))
sys.stdout.flush()
os.abort()
""",
        held=("raise core",),
        signal=6,
        check=lambda d: d.signal == 6 and not d.status & 128,
    ),
    Payload(
        name="exhaust_descriptors",
        layers=("rlimits",),
        without="rlimits",
        proof="an error at 256",
        code="""
descriptors = []
try:
    while True:
        descriptors.append(os.open("/dev/null", 0))
except OSError:
    print("held" if len(descriptors) < 256 else "LEAK", "descriptors")
""",
        held=("descriptors",),
    ),
    Payload(
        name="close_everything",
        layers=("descriptors",),
        how="the result is the kernel's wait status, not one of them",
        untried="no wall: the result takes no way that it could close",
        proof="the exit status arrives",
        code="os.closerange(0, 1024)\nos._exit(9)\n",
        exit=9,
    ),
    Payload(
        name="exit_at_once",
        layers=("descriptors",),
        how="the result is the kernel's wait status",
        untried="no wall: the result takes no way that it could close",
        proof="what was written before arrives",
        code='os.write(1, b"held partial\\n")\nos._exit(0)\n',
        held=("partial",),
    ),
    Payload(
        name="forge_the_result",
        layers=("descriptors",),
        how="only 0, 1 and 2 are open",
        without="descriptors",
        proof="no other descriptor to write to; the true status arrives",
        code="""
import struct
opened = []
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, struct.pack("i", 0) * 32)
        opened.append(descriptor)
    except OSError:
        pass
print("held none" if not opened else f"LEAK {opened}", flush=True)
os._exit(7)
""",
        held=("none",),
        exit=7,
    ),
    Payload(
        name="flags_of_descriptions",
        layers=("descriptors",),
        how="each action has its own",
        untried="no wall: the pipes of an action are new",
        proof="the next action's flags are clean",
        code="""
import fcntl
for descriptor in (0, 1, 2):
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
print("held set")
""",
        held=("set",),
        then="""
import fcntl, os
flags = [fcntl.fcntl(d, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND) for d in (0, 1, 2)]
print(flags if any(flags) else "clean")
""",
    ),
    Payload(
        name="shared_memory",
        layers=("descriptors",),
        how="no memory is shared with others",
        untried="no wall: nothing maps any",
        proof="none in the maps",
        code="""
shared = [m for m in open("/proc/self/maps") if m.split()[1][1::2] == "ws"]
print(f"LEAK {shared}" if shared else "held maps")
""",
        held=("maps",),
    ),
    Payload(
        name="see_the_host_in_mounts",
        layers=("mounts",),
        without="own_root+landlock",
        proof="no path of the host in mountinfo but the roots",
        code="""
points = sorted({line.split()[4] for line in open("/proc/self/mountinfo")})
odd = [p for p in points if p not in ("/", "/proc", "/work", "/tmp", "/dev/shm")
       and not p.startswith(("/usr", "/dev/", "/etc/"))]
print(f"LEAK {odd}" if odd else "held mounts")
text = open("/proc/self/mountinfo").read()
print("LEAK" if "$HOME_DIR" in text else "held home")
""",
        held=("mounts", "home"),
    ),
    Payload(
        name="import__two_spaces",
        layers=("capabilities",),
        how="no text filter: the sandbox holds",
        without="capabilities",
        proof="it runs, as 1000",
        code="""
import  subprocess
print("held", subprocess.run("id -u", shell=True, capture_output=True, text=True).stdout, end="")
""",
        held=("1000",),
        bare=True,
    ),
    Payload(
        name="import_by_string",
        layers=("capabilities",),
        without="capabilities",
        proof="it runs, as 1000",
        code="print('held', __import__('sub' + 'process').check_output(['id', '-u']).decode(), end='')",
        held=("1000",),
        bare=True,
    ),
    Payload(
        name="getattr_system",
        layers=("capabilities", "mounts"),
        without="capabilities",
        proof="it runs, as 1000; the shadow file is not there",
        code="""
import os
getattr(os, 'sys' + 'tem')('echo held $(id -u); cat /etc/shadow 2>/dev/null')
""",
        held=("1000",),
        bare=True,
    ),
    Payload(
        name="exec_of_a_memfd",
        layers=("capabilities",),
        without="capabilities",
        proof="it runs, as 1000",
        code="""
import subprocess
program = os.memfd_create("e")
os.write(program, open("/usr/bin/id", "rb").read())
done = subprocess.run([f"/proc/self/fd/{program}", "-u"], pass_fds=[program],
                      capture_output=True, text=True)
print("held", done.stdout.strip() or done.stderr)
""",
        held=("1000",),
    ),
    Payload(
        name="repeated_random",
        layers=("interpreter",),
        how="a fresh one for each action",
        untried="no wall: the interpreter is new",
        proof="the next action draws other numbers",
        code='import random\nopen("/tmp/x", "w").write("")\nprint("held", random.random())\n',
        held=None,
        check=lambda d: d.stdout.startswith(b"held 0."),
        then='import random, os\nprint("clean" if not os.listdir("/tmp") else "same")\n',
    ),
]
