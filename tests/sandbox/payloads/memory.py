"""Memory in all its forms. Held by the memory cgroup and resource limits."""

from tests.sandbox.payload import Payload
from tests.support.jobs import MEMORY, NONE, WALL

SMALL = {"memory_bytes": 128 << 20}

PAYLOADS = [
    Payload(
        name="one_process",
        layers=("cgroup-memory",),
        untried="it would take the machine's memory",
        proof="killed by the limit, and said so",
        code="""
blocks = []
while True:
    blocks.append(bytearray(16 << 20))
""",
        signal=9,
        cause=MEMORY,
        limits=SMALL,
    ),
    Payload(
        name="twenty_processes",
        layers=("cgroup-memory",),
        without="cgroup_memory",
        proof="together they get no more than one: some are killed",
        code="""
import time
for _ in range(20):
    if os.fork() == 0:
        block = bytearray(20 << 20)
        for i in range(0, len(block), 4096):
            block[i] = 1
        time.sleep(0.5)
        os._exit(0)
statuses = []
while True:
    try:
        statuses.append(os.wait()[1])
    except ChildProcessError:
        break
print("held some" if 9 in statuses else "LEAK none")
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY),
        limits=SMALL,
        check=lambda d: d.signal == 9 or d.stdout == b"held some\n",
    ),
    Payload(
        name="one_huge_block",
        layers=("rlimits",),
        how="RLIMIT_AS",
        untried="the kernel promises no such block to anybody",
        proof="MemoryError in the action",
        code="""
attempt("64 GB", bytearray, 64 << 30)
""",
        held=("64 GB",),
        limits=SMALL,
    ),
    Payload(
        name="memfds",
        layers=("cgroup-memory", "rlimits"),
        how="shared memory is charged",
        untried="it would take the machine's memory",
        proof="killed by the limit, or refused by FSIZE before",
        code="""
descriptors = []
try:
    while True:
        descriptors.append(os.memfd_create("x"))
        for _ in range(4):
            os.write(descriptors[-1], b"x" * (4 << 20))
except OSError:
    print("held", len(descriptors))
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY),
        limits=SMALL,
        check=lambda d: d.signal == 9 or d.stdout.startswith(b"held"),
    ),
    Payload(
        name="pipe_buffers",
        layers=("rlimits", "cgroup-memory"),
        how="RLIMIT_NOFILE",
        untried="it would take the machine's memory",
        proof="ends in an error of its own or is killed",
        code="""
import fcntl
ends = []
try:
    while True:
        ends.append(os.pipe())
        try:
            fcntl.fcntl(ends[-1][1], 1031, 1 << 20)
        except OSError:
            pass
        os.set_blocking(ends[-1][1], False)
        try:
            while True:
                os.write(ends[-1][1], b"x" * 65536)
        except BlockingIOError:
            pass
except OSError:
    print("held pipes")
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY),
        limits=SMALL,
        check=lambda d: d.signal == 9 or d.stdout == b"held pipes\n",
    ),
    Payload(
        name="descriptors_in_flight",
        layers=("rlimits",),
        how="RLIMIT_NOFILE counts them",
        untried="a socket's buffer is full before",
        proof="the flood ends in an error",
        code="""
import array, socket
a, b = socket.socketpair()
a.setblocking(False)
try:
    while True:
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                            array.array("i", [a.fileno()] * 50))])
except OSError:
    print("held flood")
""",
        held=("flood",),
        limits=SMALL,
    ),
    Payload(
        name="file_locks",
        layers=("cgroup-memory",),
        how="locks are charged",
        untried="it ends by itself",
        proof="ends by itself, at a limit, or killed; the neighbour never notices",
        code="""
import fcntl
file = open("/tmp/l", "w+")
try:
    for i in range(20000):
        fcntl.lockf(file, fcntl.LOCK_EX, 1, i * 2, 0)
    print("held bounded")
except OSError:
    print("held refused")
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY, WALL),
        limits={"memory_bytes": 64 << 20, "wall_ms": 1500},
        check=lambda d: d.signal == 9 or d.stdout.startswith(b"held"),
    ),
    Payload(
        name="extended_attributes",
        layers=("mounts", "cgroup-memory"),
        how="tmpfs limits",
        untried="an inode's own limit stands behind it",
        proof="ends in an error or is killed",
        code="""
open("/tmp/x", "w")
try:
    for i in range(100000):
        os.setxattr("/tmp/x", f"user.{i}", b"x" * 60000)
    print("LEAK")
except OSError:
    print("held attributes")
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY),
        limits=SMALL,
        check=lambda d: d.signal == 9 or d.stdout == b"held attributes\n",
    ),
    Payload(
        name="lock_all_memory",
        layers=("rlimits",),
        how="RLIMIT_MEMLOCK",
        untried="the kernel's own limit stands behind it",
        proof="refused",
        code='attempt("mlockall", call, 151, 3)',
        held=("mlockall",),
    ),
    Payload(
        name="huge_arguments",
        layers=("rlimits",),
        how="a part of RLIMIT_STACK; the kernel's own limits",
        untried="the kernel's own limits stand behind it",
        proof="E2BIG",
        code="""
import subprocess
attempt("one", subprocess.run, ["/bin/true", "x" * (3 << 20)])
attempt("many", subprocess.run, ["/bin/true"] + ["x" * 100000] * 100)
""",
        held=("one", "many"),
    ),
    Payload(
        name="endless_recursion",
        layers=("cgroup-memory", "rlimits"),
        untried="it would take the machine's memory",
        proof="only the action dies",
        code="""
sys.setrecursionlimit(10**8)
def f(n):
    return f(n + 1)
f(0)
""",
        held=None,
        exit=None,
        cause=(NONE, MEMORY, WALL),
        limits={**SMALL, "wall_ms": 2000},
        check=lambda d: d.signal in (9, 11) or b"Error" in d.stderr,
    ),
    Payload(
        name="recursion_in_c",
        layers=("interpreter",),
        how="its own limits; else only the action dies",
        untried="no wall: the interpreter's own limit",
        proof="errors of its own",
        code="""
import json
attempt("parentheses", eval, "(" * 50000)
attempt("json", json.loads, "[" * 10**6)
""",
        held=("parentheses", "json"),
    ),
]
