#!/bin/sh
# run.sh [PATTERN...] [--list] [--long] - every test of Warded, or those whose name matches.
#
#   PATTERN   a part of a name, * and ? allowed: `lint.`, `claim_05`, `unit.token*revoked`
#   --list    print the names and run nothing (builds what the names come from)
#   --long    the long forms too: the same tests with larger counts
#
# Gets the platform, builds with ASan and UBSan into build/asan, runs lint, unit,
# platform, client, sandbox and integration tests, and closes with one line
#     N passed, N failed, N skipped
# Exit: 0 when none failed, 1 otherwise, 69 when the platform can't be had.
set -eu
cd "$(dirname "$0")/.."
exec deploy/platform.sh env PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 \
    python3 -m tests.runner "$@"
