"""Files of a profile: what changes with them, and who may read a secret."""

from __future__ import annotations

import errno
import os
import stat as stat_module
from pathlib import Path
from typing import NoReturn

from warded.errors import profile_error

HOW_TO_MAKE = "make a profile with `warded profile new NAME --scope ... --out DIR`"

Stamp = tuple[int, int, int, int] | None
"""What changes when a file does; None: there is nothing of that name."""


def stamp(path: str) -> Stamp:
    """The stamp of a file as it is now; of a link that leads nowhere, its own."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116  # a call's hot path
    except OSError:
        return _stamp_of_unseen(path)


def _stamp_of_unseen(path: str) -> Stamp:
    try:
        return stamp_of(os.lstat(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        return 0, -(error.errno or 1), 0, 0


def stamp_of(s: os.stat_result) -> Stamp:
    """The stamp that a stat told."""
    return s.st_mtime_ns, s.st_size, s.st_ino, s.st_dev


def read_file(path: str, most: int) -> bytes:
    """Up to `most` bytes of a regular file. Never waits, as for a pipe.

    Raises OSError.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:  # noqa: PTH123  # a descriptor
        if not stat_module.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "no regular file", path)
        return file.read(most)


def stat_secret(path: str) -> os.stat_result:
    """The stat of a secret that nobody but its owner may read or write.

    A group may read it where root owns it: Kubernetes mounts Secrets so (0440).
    Raises ProfileError.
    """
    try:
        s = os.stat(path)  # noqa: PTH116  # a call's hot path
    except OSError as error:
        refuse_file(path, error)
    if not stat_module.S_ISREG(s.st_mode):
        refuse_file(path, OSError(errno.EINVAL, "no regular file"))
    mode = s.st_mode & 0o777
    if mode & 0o027 or (mode & 0o070 and s.st_uid != 0):
        raise profile_error(
            f"{path}: mode {mode:04o} lets others at a secret (a group may read it "
            f"where root owns it); chmod 600 {path}"
        )
    return s


def refuse_file(path: str, error: OSError) -> NoReturn:
    """Raise the ProfileError for a file that can't be read."""
    raise profile_error(
        f"{path}: {error.strerror or error}; {_cure(path, error)}"
    ) from error


def _cure(path: str, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "check its owner and its mode"
    if Path(path).is_symlink():
        return "this symbolic link leads to no file: point it at one or remove it"
    if isinstance(error, FileNotFoundError):
        return HOW_TO_MAKE
    return "put a regular file there"
