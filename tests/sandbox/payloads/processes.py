"""Processes: bombs, daemons, signals. Held by pid namespace, pids cgroup, init."""

from tests.sandbox.payload import Payload
from tests.support.jobs import WALL

QUICK = {"wall_ms": 1200}

PAYLOADS = [
    Payload(
        name="fork_bomb",
        layers=("cgroup-pids", "process-tree"),
        untried="without the walls behind it, it would take the machine",
        proof="ends at the wall limit, every process of it dead",
        code="""
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
        signal=9,
        cause=WALL,
        leftovers=1,
        within_ms=6000,
        limits=QUICK,
    ),
    Payload(
        name="fork_bomb_that_ignores_signals",
        layers=("cgroup-pids", "process-tree"),
        how="SIGKILL by init",
        untried="without the walls behind it, it would take the machine",
        proof="ends at the wall limit, every process of it dead",
        code="""
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
""",
        signal=9,
        cause=WALL,
        leftovers=1,
        within_ms=6000,
        limits=QUICK,
    ),
    Payload(
        name="thread_bomb",
        layers=("cgroup-pids",),
        without="cgroup_pids",
        proof="a thread below the limit can't be started",
        code="""
import threading, time
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        count += 1
except RuntimeError:
    print("held threads" if count < 64 else f"LEAK {count}", flush=True)
os._exit(0)
""",
        held=("threads",),
    ),
    Payload(
        name="double_fork_daemon",
        layers=("process-tree",),
        how="init kills all before it reports",
        without="process_tree",
        proof="one leftover counted, none alive",
        code="""
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        time.sleep(60)
    os._exit(0)
os.wait()
print("held parent")
""",
        held=("parent",),
        leftovers=1,
        within_ms=9000,
    ),
    Payload(
        name="daemon_holds_stdout",
        layers=("process-tree",),
        how="all are killed before the pipes are read to their end",
        without="process_tree",
        proof="the answer does not wait for the daemon",
        code="""
import time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
print("held parent", flush=True)
os._exit(0)
""",
        held=("parent",),
        leftovers=1,
        within_ms=9000,
    ),
    Payload(
        name="background_burners",
        layers=("process-tree",),
        without="process_tree",
        proof="eight leftovers counted, none alive",
        code="""
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
print("held started", flush=True)
""",
        held=("started",),
        leftovers=8,
        within_ms=9000,
    ),
    Payload(
        name="subreaper_survivor",
        layers=("process-tree",),
        without="process_tree",
        proof="leftovers counted, none alive",
        code="""
import time
LIBC.prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    LIBC.prctl(1, 0, 0, 0, 0)
    os.setsid()
    LIBC.prctl(36, 1, 0, 0, 0)
    os.fork()
    time.sleep(60)
print("held parent", flush=True)
os._exit(0)
""",
        held=("parent",),
        leftovers=1,
        within_ms=9000,
    ),
    Payload(
        name="signals_to_others",
        layers=("capabilities", "landlock-scopes", "pid-namespace"),
        without="capabilities+scopes",
        proof="refused; the host's process is alive afterwards",
        code="""
attempt("host", os.kill, $PID, 9)
attempt("executor", os.kill, $EXECD, 9)
attempt("init KILL", os.kill, 1, 9)
attempt("init TERM", os.kill, 1, 15)
attempt("init thread", call, 234, 1, 1, 9)
attempt("host by pidfd", os.pidfd_open, $PID)
""",
        held=(
            "host",
            "executor",
            "init KILL",
            "init TERM",
            "init thread",
            "host by pidfd",
        ),
    ),
    Payload(
        name="kill_own_group",
        layers=("capabilities", "process-tree"),
        how="others of its group are of other ids; setsid in the worker",
        untried="others of its group are of ids that it may not signal",
        proof="only itself dies, by that signal",
        code="os.kill(0, 9)",
        signal=9,
    ),
    Payload(
        name="kill_everything_it_sees",
        layers=("pid-namespace",),
        untried="others of the host are of ids that it may not signal",
        proof="its own child dies; the slot's init reports all the same",
        code="""
import time
if os.fork() == 0:
    time.sleep(30)
os.kill(-1, 9)
print("held alive")
""",
        held=None,
        exit=None,
        leftovers=0,  # or its child, which may still be dying
        within_ms=9000,
        check=lambda d: d.signal == 9 or d.stdout == b"held alive\n",
    ),
    Payload(
        name="stopped_children_hold_the_pipe",
        layers=("process-tree",),
        without="process_tree",
        proof="the answer does not wait for them",
        code="""
import signal, time
children = [os.fork() for _ in range(5)]
if 0 in children:
    os.kill(os.getpid(), signal.SIGSTOP)
for child in children:
    os.waitpid(child, os.WUNTRACED)
print("held stopped", flush=True)
os._exit(0)
""",
        held=None,
        exit=None,
        leftovers=1,
        within_ms=9000,
        check=lambda d: b"held stopped" in d.stdout or d.signal == 0,
    ),
    Payload(
        name="shoot_process_one",
        layers=("capabilities", "landlock-scopes", "pid-namespace"),
        how="process 1 is another uid, outside of its domain, and shielded by the kernel",
        without="capabilities+scopes",
        proof="it still reports",
        code="""
for _ in range(200):
    try:
        os.kill(1, 9)
        print("LEAK")
    except OSError:
        pass
print("held init")
""",
        held=("init",),
    ),
    Payload(
        name="stop_itself",
        layers=("limit wall",),
        wider={"wall_ms": 1300},
        proof="killed at the limit",
        code="import signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
        signal=9,
        cause=WALL,
        within_ms=6000,
        limits=QUICK,
    ),
    Payload(
        name="endless_loop",
        layers=("limit wall",),
        wider={"wall_ms": 1300},
        proof="killed at the limit; what it printed before is kept",
        code="print('held before', flush=True)\nwhile True: pass\n",
        held=("before",),
        signal=9,
        cause=WALL,
        within_ms=6000,
        limits=QUICK,
    ),
    Payload(
        name="ignores_term_and_sleeps",
        layers=("limit wall",),
        how="SIGKILL by init",
        wider={"wall_ms": 1300},
        proof="killed at the limit",
        code="""
import signal, time
signal.signal(15, signal.SIG_IGN)
signal.signal(2, signal.SIG_IGN)
while True:
    time.sleep(1)
""",
        signal=9,
        cause=WALL,
        within_ms=6000,
        limits=QUICK,
    ),
]
