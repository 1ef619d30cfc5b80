"""The links of this process, one for each channel spec; a forked child starts anew."""

from __future__ import annotations

import atexit
import threading

from warded import _fork
from warded._link import Link
from warded.profile import Profile

Spec = tuple[str, str | None]  # profile folder, token instead of its file's


class Links:
    """Threads: any."""

    def __init__(self) -> None:
        self._reset()
        _fork.registry.in_child(self._reset)
        atexit.register(self.close_all)

    def find(self, spec: Spec) -> Link:
        """The link of `spec`, made when there is none.

        Raises ProfileError: the folder is not there.
        """
        link = self._links.get(spec)
        if link is not None:
            return link
        with self._lock:
            link = self._links.get(spec)
            if link is None:
                link = self._links[spec] = Link(Profile(spec[0]), spec[1])
            return link

    def close(self, spec: Spec) -> None:
        """End the connection of `spec`, if there is one, once nothing is in flight."""
        with self._lock:
            link = self._links.pop(spec, None)
        if link is not None:
            link.close()

    def close_all(self) -> None:
        """At the interpreter's exit: threads see their connections end."""
        for link in list(self._links.values()):
            link.close(at_once=True)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[Spec, Link] = {}


links = Links()
