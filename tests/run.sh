#!/bin/sh
# run.sh [PATTERN...] [--list] [--long] - every test of Warded, or those whose name matches.
#
#   PATTERN   a part of a name, * and ? allowed: `lint.`, `claim_05`, `unit.token*revoked`
#   --list    print the names and run nothing (builds what the names come from)
#   --long    the long forms too: the same tests with larger counts
#
# Gets the platform, builds with ASan and UBSan into build/asan, runs lint, unit,
# platform, client, sandbox, integration, race and fuzz tests side by side, tells how
# long each kind took (build/times.txt: each test), and closes with one line
#     N passed, N failed, N skipped
# Exit: 0 when none failed, 1 otherwise, 2 when a PATTERN means no test, 69 when the
# platform can't be had, 130 when it was interrupted.
set -eu
cd "$(dirname "$0")/.."

case ${1:-} in
-h | --help | help)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' tests/run.sh
    exit 0
    ;;
esac

# What sudo makes below build belongs to its caller, but for a gate that try.sh keeps.
# shellcheck disable=SC2016 # for the shell on the platform
exec deploy/platform.sh env PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 sh -c '
    python3 -m tests.runner "$@"
    status=$?
    [ -z "${SUDO_UID:-}" ] ||
        find build -path build/try -prune -o -exec chown -h "$SUDO_UID:${SUDO_GID:-}" {} +
    exit $status' sh "$@"
