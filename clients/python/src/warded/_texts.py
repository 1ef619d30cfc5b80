"""What protobuf sends but no gate takes: a NUL within a text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def find_nul(message: Any, path: str = "") -> str | None:
    """Where the first text of a protobuf message that holds a NUL is:
    "items[3].action"; None: there is none."""
    if not _has_text(message.DESCRIPTOR):
        return None
    for field, value in message.ListFields():
        found = _find(value, f"{path}.{field.name}" if path else field.name)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=1024)
def _has_text(kind: Any) -> bool:
    """Whether a message of this descriptor may have texts: its own, or a message's."""
    return any(
        field.message_type is not None or field.type == field.TYPE_STRING
        for field in kind.fields
    )


def _find(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if "\0" in value else None
    if isinstance(value, (bytes, int, float)):
        return None
    if hasattr(value, "ListFields"):
        return find_nul(value, path)
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, one in pairs:
        found = _find(key, f"{path}'s keys") or _find(one, f"{path}[{key}]")
        if found is not None:
            return found
    return None
