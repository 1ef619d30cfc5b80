"""The token file: read again when it changes, torn writes survived."""

from __future__ import annotations

import re
import time
import zlib

from warded._files import Stamp, read_file, refuse_file, stamp_of, stat_secret
from warded.errors import Failure, RpcError, make_error
from warded.status import Phase, Reason, StatusCode

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(r"wd[ta]1_[0-9A-Za-z]{59}")
_CHECK_CHARS = 6
_MAX_BYTES = 4096
_SETTLED_NS = 100_000_000  # an older file has surely had its last write seen


class TokenSource:
    """A token file and the last good token that it held.

    Threads: any; the cache is replaced in one assignment.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._good: tuple[Stamp, str] = (None, "")

    def token(self) -> str:
        """The token of the file as it is now.

        Raises Unauthenticated: the file holds no token and never held one;
        ProfileError: it is not there, or others may read it.
        """
        stamp = stamp_of(stat_secret(self._path))
        cached_stamp, good = self._good
        if good and stamp == cached_stamp:
            return good
        text = _read(self._path)
        if not is_token(text):
            if good:
                return good  # empty or half written: the next call looks again
            raise _no_token(self._path, empty=not text)
        settled = stamp is not None and time.time_ns() - stamp[0] > _SETTLED_NS
        self._good = (stamp if settled else None, text)
        return text


def is_token(text: str) -> bool:
    """Shape, alphabet and check digits; says nothing of its being known."""
    if not _SHAPE.fullmatch(text):
        return False
    body, check = text[:-_CHECK_CHARS], text[-_CHECK_CHARS:]
    return check == _base62(zlib.crc32(body.encode()))


def _base62(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 62)
        digits = _ALPHABET[digit] + digits
    return digits.rjust(_CHECK_CHARS, "0")


def _read(path: str) -> str:
    try:
        data = read_file(path, _MAX_BYTES)
    except OSError as error:
        refuse_file(path, error)
    return data.decode("utf-8-sig", errors="replace").strip()


def _no_token(path: str, *, empty: bool) -> RpcError:
    what = "is empty" if empty else "holds no whole token"
    return make_error(
        Failure(
            StatusCode.UNAUTHENTICATED,
            Reason.TOKEN_MISSING if empty else Reason.TOKEN_MALFORMED,
            f"{path} {what}; write one there with `tokctl issue` or "
            "`warded profile new`; not sent",
            Phase.AUTH,
        )
    )
