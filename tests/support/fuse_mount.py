"""A FUSE mount of one empty folder: a file system that lives elsewhere, for real.

It speaks the kernel's protocol itself (linux/fuse.h, 7.31); nothing is installed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

DEVICE = Path("/dev/fuse")
MNT_DETACH = 2
NO_ANSWER = frozenset({2, 36, 42})  # FORGET, INTERRUPT, BATCH_FORGET
IN = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, -
OUT = struct.Struct("<IiQ")  # length, error, unique
INIT = struct.Struct("<IIIIHHIIHHI28x")
ATTRIBUTES = struct.Struct("<QII QQQQQQ IIIIIIIIII")
STATFS = struct.Struct("<QQQQQIIII24x")

_libc = ctypes.CDLL(None, use_errno=True)


class Folder:
    """What the kernel is told of the one folder."""

    def __init__(self, uid: int, gid: int) -> None:
        self._uid, self._gid = uid, gid

    def answer(self, opcode: int) -> bytes | None:
        """The body of an answer; None: there is no such call."""
        known: dict[int, Callable[[], bytes]] = {
            3: self._attributes,
            17: lambda: STATFS.pack(1, 1, 1, 1, 1, 4096, 255, 4096, 0),
            26: lambda: INIT.pack(7, 31, 4096, 0, 1, 1, 4096, 1, 1, 0, 0),
            34: bytes,  # ACCESS: as the modes say
            38: bytes,  # DESTROY
        }
        body = known.get(opcode)
        return None if body is None else body()

    def _attributes(self) -> bytes:
        mode, size = stat.S_IFDIR | 0o700, 4096
        owner = (mode, 2, self._uid, self._gid)
        return ATTRIBUTES.pack(
            1, 0, 0, 1, size, 8, 0, 0, 0, 0, 0, 0, *owner, 0, size, 0
        )


def _serve(fd: int, folder: Folder) -> None:
    """Until it is unmounted."""
    while True:
        try:
            ask = os.read(fd, 1 << 18)
        except OSError:
            return
        _, opcode, unique, *_ = IN.unpack_from(ask)
        if opcode in NO_ANSWER:
            continue
        body = folder.answer(opcode)
        missing = errno.ENOENT if opcode == 1 else errno.ENOSYS
        error = -missing if body is None else 0
        with contextlib.suppress(OSError):  # who asked has gone
            os.write(
                fd, OUT.pack(OUT.size + len(body or b""), error, unique) + (body or b"")
            )


def _check(result: int, what: Path) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(what))


@contextlib.contextmanager
def fuse_mount(place: Path, uid: int, gid: int) -> Iterator[None]:
    """An empty folder of this owner, 0700, over the folder `place`."""
    fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    where = os.fsencode(place)
    server = threading.Thread(target=_serve, args=(fd, Folder(uid, gid)), daemon=True)
    try:
        _check(_libc.mount(b"warded-test", where, b"fuse", 0, options.encode()), place)
        server.start()
        try:
            yield
        finally:
            _check(_libc.umount2(where, MNT_DETACH), place)
            server.join(10)
    finally:
        os.close(fd)
