"""What a forked child must drop: sockets and pipes that belong to its parent.

The child closes its copies of the descriptors and says nothing on them: a TLS
close_notify would end the parent's connection. No lock is taken here, because a thread
that held it does not exist in the child.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol


class Inherited(Protocol):
    """Something that owns descriptors."""

    def abandon(self) -> None:
        """Close them without a word; the object is dead afterwards."""


class Registry:
    """Everything of this process that its children must drop."""

    def __init__(self) -> None:
        self._owners: dict[int, Inherited] = {}
        self._then: list[Callable[[], None]] = []
        self.generation = 0
        """Another number in each child: cheaper than to ask for the process id."""
        os.register_at_fork(after_in_child=self._in_child)

    def add(self, owner: Inherited) -> None:
        """From now until `discard`, a child abandons `owner`."""
        self._owners[id(owner)] = owner

    def discard(self, owner: Inherited) -> None:
        """Its descriptors are closed."""
        self._owners.pop(id(owner), None)

    def in_child(self, action: Callable[[], None]) -> None:
        """Run `action` in each child, once the descriptors are closed."""
        self._then.append(action)

    def _in_child(self) -> None:
        self.generation += 1
        owners, self._owners = self._owners, {}
        for owner in list(owners.values()):
            owner.abandon()
        for action in self._then:
            action()


registry = Registry()
