"""Ways out. Held by an own network namespace without links, seccomp and Landlock."""

from tests.sandbox.payload import Payload

PAYLOADS = [
    Payload(
        name="tcp_of_the_host",
        layers=("net-namespace", "landlock"),
        without="net_ns+landlock",
        proof="the listener on the host accepted nothing",
        code="""
import socket
for host in ("127.0.0.1", "::1", "0.0.0.0", "localhost", "169.254.169.254", "10.0.0.1"):
    def connect():
        peer = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        peer.settimeout(0.1)
        peer.connect((host, $PORT))
        return peer.recv(10)
    attempt(host, connect)
""",
        held=(
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "localhost",
            "169.254.169.254",
            "10.0.0.1",
        ),
    ),
    Payload(
        name="unix_socket_by_path",
        layers=("mounts", "landlock"),
        without="own_root+landlock",
        proof="the listener on the host accepted nothing",
        code="""
import socket
attempt("path", lambda: socket.socket(socket.AF_UNIX).connect("$SOCKET"))
attempt("by init", lambda: socket.socket(socket.AF_UNIX).connect("/proc/1/root$SOCKET"))
""",
        held=("path", "by init"),
    ),
    Payload(
        name="abstract_socket",
        layers=("net-namespace", "landlock-scopes"),
        without="net_ns+scopes",
        proof="the listener on the host accepted nothing",
        code="""
import socket
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0$ABSTRACT"))
""",
        held=("abstract",),
    ),
    Payload(
        name="names",
        layers=("net-namespace", "mounts"),
        how="no route; no resolver",
        without="net_ns",
        proof="nothing resolves but localhost, which is nobody",
        code="""
import socket
attempt("dns", socket.create_connection, ("localtest.example", $PORT), 1)
attempt("hosts", socket.create_connection, ("localhost", $PORT), 1)
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
    b"x", ("8.8.8.8", 53)))
""",
        held=("dns", "hosts", "udp"),
    ),
    Payload(
        name="pip",
        layers=("net-namespace", "mounts"),
        how="no route; no resolver",
        untried="where the tests run there need be no Internet",
        proof="pip, or the request it would make, fails",
        code="""
import urllib.request
attempt("https", lambda: urllib.request.urlopen("https://pypi.org/", timeout=2))
""",
        held=("https",),
    ),
    Payload(
        name="other_families",
        layers=("seccomp", "net-namespace"),
        how="AF_UNIX, AF_INET and AF_INET6 only (VSOCK knows no net namespace)",
        without="seccomp",
        proof="refused with EAFNOSUPPORT or EPERM",
        code="""
import socket
for name, family, kind in (
        ("VSOCK", 40, 1), ("NETLINK", 16, 3), ("PACKET", 17, 3), ("ALG", 38, 5),
        ("KEY", 15, 3), ("BLUETOOTH", 31, 3), ("CAN", 29, 3), ("TIPC", 30, 1),
        ("RDS", 21, 5), ("XDP", 44, 3), ("NFC", 39, 1), ("QIPCRTR", 42, 2),
        ("SMC", 43, 1)):
    def make():
        try:
            return socket.socket(family, kind)
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                return error  # refused, but not by us
            raise
    attempt(name, make)
attempt("RAW", socket.socket, socket.AF_INET, socket.SOCK_RAW)
""",
        held=(
            "VSOCK",
            "NETLINK",
            "PACKET",
            "ALG",
            "KEY",
            "BLUETOOTH",
            "CAN",
            "TIPC",
            "RDS",
            "XDP",
            "NFC",
            "QIPCRTR",
            "SMC",
            "RAW",
        ),
    ),
    Payload(
        name="raise_loopback",
        layers=("seccomp", "capabilities"),
        how="its ioctl list; no CAP_NET_ADMIN",
        without="seccomp",
        proof="lo stays down",
        code="""
import fcntl, socket, struct
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("lo up", fcntl.ioctl, peer, 0x8914, struct.pack("16sh22x", b"lo", 65))
attempt("lo flags", fcntl.ioctl, peer, 0x8913, struct.pack("16sh22x", b"lo", 0))
""",
        held=("lo up", "lo flags"),
    ),
]
