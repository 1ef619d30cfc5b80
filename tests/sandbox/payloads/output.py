"""Floods and odd bytes. Held by the output limit; bytes stay bytes."""

from tests.sandbox.payload import Payload
from tests.support.jobs import OUTPUT

PAYLOADS = [
    Payload(
        name="flood_stdout",
        layers=("limit output",),
        wider={"output_bytes": 131072},
        proof="killed, cause OUTPUT; no more than the limit is kept",
        code='block = b"x" * (1 << 20)\nfor _ in range(1024): os.write(1, block)\n',
        held=None,
        signal=9,
        cause=OUTPUT,
        check=lambda d: (
            d.signal == 9 and len(d.stdout) == 65536 and d.out.original < 64 << 20
        ),
    ),
    Payload(
        name="flood_stderr",
        layers=("limit output",),
        wider={"output_bytes": 131072},
        proof="killed, cause OUTPUT",
        code='block = b"y" * (1 << 20)\nfor _ in range(1024): os.write(2, block)\n',
        signal=9,
        cause=OUTPUT,
        check=lambda d: d.signal == 9 and len(d.stderr) == 65536,
    ),
    Payload(
        name="escapes_and_invalid_text",
        layers=("descriptors",),
        how="pipes, no terminal: output is bytes to the executor",
        untried="no wall: nothing reads them",
        proof="the very bytes arrive",
        code='os.write(1, b"\\x1b]0;x\\x07\\x1b[2J\\xff\\xfe\\x00\\x80ok\\xe2\\x80")\n',
        held=None,
        check=lambda d: d.stdout == b"\x1b]0;x\x07\x1b[2J\xff\xfe\x00\x80ok\xe2\x80",
    ),
]
