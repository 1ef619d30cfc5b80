"""What others wrote, as errors may repeat it: short, never the secret of a token."""

from __future__ import annotations

import re

_SHOWN_CHARS = 40
_TOKEN = re.compile(r"(wd[a-z]1_)[0-9a-z_]{11,}", re.IGNORECASE)
"""What begins as a token and goes on behind its id of ten characters, which may be
told (docs/protocol.md section 6); with "_", so that a token right behind another goes
with it."""


def mask(text: str) -> str:
    """`text` where of each token, whole or cut, only the kind is left: wdt1_…"""
    return _TOKEN.sub("\\1\u2026", text)


def quote(text: str) -> str:
    """`text` in quotes, without tokens, 40 characters at most."""
    shown = mask(text)
    cut = len(shown) > _SHOWN_CHARS
    return repr(shown[:_SHOWN_CHARS]) + ("..." if cut else "")
