"""What NNG 1.10 itself may lose, and nothing else."""

from __future__ import annotations

import re

# One kind of leak in LeakSanitizer's report: bytes, objects, its stack.
LEAK = re.compile(
    r"leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:\n((?: +#.*\n)+)"
)
NNG_MSG_BYTES = 112
HEADROOM_BYTES = 64  # in a message's body, before and after what was received


def only_replies_on_their_way(report: str, *, request: bytes, most: int) -> None:
    """At most `most` echoes of `request` are lost in `report`, and nothing else.

    NNG may lose the reply that was being sent to a peer that left: it submits a message
    in three parts (tlstran_pipe_send_cb). When the pipe is closed between two of them,
    the next submission returns silently (nni_aio_begin on a closed aio), rep0's send is
    aborted without its callback, and rep0_pipe_fini frees the message of aio_recv only.
    So it is one message for one connection at most, and nothing of the engine's: no
    connection's state, no stream, no pipe.
    """
    expected = {NNG_MSG_BYTES, len(request) + 4 + HEADROOM_BYTES}
    found = LEAK.findall(report)
    assert len(found) == report.count(" leak of "), report
    assert report.count("ERROR: ") == (1 if found else 0), report
    objects = 0
    for size, many, stack in found:
        frames = [line for line in stack.splitlines() if "libsanitizer" not in line]
        assert all("libnng.so" in line for line in frames), report
        assert int(size) // int(many) in expected, report
        objects += int(many)
    assert objects % 2 == 0, report
    assert objects // 2 <= most, report
