"""rpc: Health.Check under mutual TLS, beside gRPC with the same certificates."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench import place
from tests.bench.report import Goal, Report
from tests.bench.rounds import Contender, PeerError, Turn, compete
from tests.support.gate import Gate

PADDING = 256
DEPTHS = (1, 64)
PEER = place.MADE / "grpc_peer"
PACKAGES = ("g++", "libgrpc++-dev", "protobuf-compiler-grpc", "libprotobuf-dev")
AIO = "grpc.aio"


@dataclass(frozen=True, slots=True)
class Scene:
    """Where everyone's server is. `peer_port`: 0: there is no gRPC server."""

    gate: Gate
    profile: Path
    seconds: float
    peer_pid: int = 0
    peer_port: int = 0

    def ours(self, kind: str, depth: int) -> Turn:
        """Our Python client."""
        return place.take_turn(self._python(kind, depth), self.gate.pid)

    def ours_c(self, depth: int) -> Turn:
        """Stock NNG over our engine, from C."""
        words = [
            f"tls+tcp://{self.gate.address}",
            self.profile,
            depth,
            self.seconds,
            PADDING,
        ]
        program = place.RELEASE / "bin/bench_rpc_client"
        return place.take_turn([program, *map(str, words)], self.gate.pid)

    def python(self, kind: str, depth: int) -> Turn:
        """A Python client of gRPC."""
        command = [*self._python(kind, depth), str(self.peer_port)]
        return place.take_turn(command, self.peer_pid)

    def cxx(self, depth: int) -> Turn:
        """gRPC's C++ client."""
        words = [self.profile, self.peer_port, depth, self.seconds, PADDING]
        return place.take_turn([PEER, "client", *map(str, words)], self.peer_pid)

    def _python(self, kind: str, depth: int) -> list[str | Path]:
        python = place.PYTHON if place.PYTHON.exists() else "python3"
        words = [kind, depth, self.seconds, PADDING, self.profile]
        return [python, "-m", "tests.bench.rpc_worker", *map(str, words)]


def run(*, quick: bool) -> Report:
    """Measure everyone."""
    no_python = place.need_grpcio()
    no_cxx = place.need_packages(*PACKAGES) or make_peer()
    seconds = 1.5 if quick else 4.0
    with (
        place.a_gate("observe:python_code") as (gate, profile),
        a_peer(gate, no_cxx) as (pid, port),
    ):
        scene = Scene(gate, profile, seconds, pid, port)
        outcomes = compete(contenders(scene, no_python or no_cxx, no_cxx))
    notes = [
        f"{PADDING} B each way, mutual TLS 1.3, the same P-256 certificates for all; "
        "every gRPC client calls the same C++ callback server",
        f"Python clients: protobuf of build/bench-venv; {versions()}",
    ]
    return Report("rpc", outcomes, [Goal(case(64, "Python"), AIO, 3.0)], notes)


def contenders(scene: Scene, no_python: str, no_cxx: str) -> list[Contender]:
    """Who takes part; `no_...`: why others do not."""
    found = []
    for depth in DEPTHS:
        python, threads, c = (case(depth, n) for n in ("Python", "threads", "C"))

        def ours(kind: str, depth: int = depth) -> Take:
            return lambda: scene.ours(kind, depth)

        def peer(kind: str, depth: int = depth) -> Take:
            return lambda: scene.python(kind, depth)

        how = "call" if depth == 1 else "futures"
        found += [
            Contender(python, f"Warded, {how}", ours("warded.future"), ours=True),
            Contender(
                python, f"grpcio, {how}", peer("grpcio.future"), missing=no_python
            ),
            Contender(python, AIO, peer("aio"), missing=no_python),
        ]
        if depth > 1:
            found += [
                Contender(
                    threads, "Warded, threads", ours("warded.threads"), ours=True
                ),
                Contender(
                    threads,
                    "grpcio, threads",
                    peer("grpcio.threads"),
                    missing=no_python,
                ),
            ]
        found += [
            Contender(c, "Warded, NNG REQ", bind(scene.ours_c, depth), ours=True),
            Contender(c, "gRPC C++", bind(scene.cxx, depth), missing=no_cxx),
        ]
    return found


Take = Callable[[], Turn]


def bind(turn: Callable[[int], Turn], depth: int) -> Take:
    """The turn at this depth."""
    return lambda: turn(depth)


def case(depth: int, who: str) -> str:
    """Its name."""
    return f"{who} {depth}"


def make_peer() -> str:
    """Compile grpc_peer once; nothing, or why it can't be."""
    source = place.HERE / "grpc_peer.cc"
    if PEER.exists() and PEER.stat().st_mtime > source.stat().st_mtime:
        return ""
    print("compiling grpc_peer", flush=True)
    place.MADE.mkdir(parents=True, exist_ok=True)
    protos = [f"warded/v1/{name}.proto" for name in ("options", "health")]
    protoc = ["protoc", "-Iproto", f"--cpp_out={place.MADE}", *protos]
    stubs = [f"--grpc_out={place.MADE}", "--plugin=protoc-gen-grpc=" + plugin()]
    made = [f"{place.MADE}/{name.removesuffix('.proto')}.pb.cc" for name in protos]
    made.append(f"{place.MADE}/warded/v1/health.grpc.pb.cc")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "grpc++", "protobuf"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    compile_all = ["g++", "-O2", f"-I{place.MADE}", str(source), *made, *flags]
    try:
        place.quietly([*protoc, *stubs])
        place.quietly([*compile_all, "-o", PEER])
    except PeerError as error:
        return str(error).splitlines()[-1]
    return ""


def plugin() -> str:
    """Where Debian puts it."""
    return "/usr/bin/grpc_cpp_plugin"


@contextlib.contextmanager
def a_peer(gate: Gate, missing: str) -> Iterator[tuple[int, int]]:
    """The gRPC server with the gate's own certificate: process and port, or 0, 0."""
    if missing:
        yield 0, 0
        return
    state = gate.home.path / "state/gate"
    with subprocess.Popen(
        [PEER, "server", state], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            if not port:
                raise PeerError("grpc_peer: the server did not start")
            yield server.pid, int(port)
        finally:
            server.kill()


def versions() -> str:
    """Whose gRPC it was."""
    words = "import grpc; print('grpcio', grpc.__version__)"
    python = subprocess.run(
        [place.PYTHON, "-c", words], capture_output=True, text=True, check=False
    ).stdout.strip()
    cxx = subprocess.run(
        ["pkg-config", "--modversion", "grpc++"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return f"{python or 'no grpcio'}, gRPC C++ {cxx or 'missing'}"
