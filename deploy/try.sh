#!/bin/sh
# try.sh [--keep | --stop] - see Warded work, from nothing, in a few minutes.
#
# Gets the platform, builds (Release), makes CA, certificates, token and store under
# build/try, starts `warded serve` on a free port of loopback, runs as the trainer the 64
# actions of clients/python/examples/rollout.py, shows the audit trail, and stops.
#   --keep   leaves the gate up and prints how to call it; a later run replaces it
#   --stop   stops what --keep left
# Exit: the rollout's status; 69 no platform; 70 a step failed, with its log's end.
set -eu
cd "$(dirname "$0")/.."

release=build/release
log=build/try.log   # of the build and of the set-up
kept=build/try.kept # home of the gate that --keep left
trainer=trainer
ready_s=60
start=$(date +%s)
gate=

step() { # step NUMBER WORDS...
    number=$1
    shift
    printf '\n[%s/6 %3d s] %s\n' "$number" $(($(date +%s) - start)) "$*"
}

die() { # die LOG WORDS...: what failed, and the end of its log
    shown=$1
    shift
    printf '\ntry: %s\n' "$*" >&2
    if [ -s "$shown" ]; then
        printf '%s\n' "--- the end of $shown:" >&2
        tail -n 25 "$shown" >&2
    fi
    exit 70
}

quietly() { # quietly COMMAND...: output to the log
    "$@" >>"$log" 2>&1
}

pick_home() { # where the state goes: where the gate's account can reach it
    home=$PWD/build/try
    if setpriv --reuid=warded --regid=warded --clear-groups test -x "$PWD/build"; then
        return 0
    fi
    home=/var/tmp/warded-try-$(printf %s "$PWD" | cksum | cut -d ' ' -f 1)
    echo "The account 'warded' can't reach $PWD/build: the state goes to"
    echo "$home (of the platform) instead of build/try."
}

stop_gate() { # stop_gate PID: as systemd would
    kill -TERM "$1" 2>/dev/null || return 0
    timeout 30 tail --pid="$1" -f /dev/null || kill -KILL "$1"
}

stop_kept() { # what an earlier --keep left, if it still runs; says whether it did
    [ -s "$kept" ] || return 1
    read -r pid old <"$kept"
    rm -f "$kept"
    case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
    *warded*"--home $old serve"*) stop_gate "$pid" ;;
    *) return 1 ;;
    esac
}

build() {
    : >"$log"
    quietly cmake -S . -B "$release" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_COMPILER=gcc -DBUILD_TESTING=OFF || die "$log" "cmake failed"
    if [ -t 1 ]; then
        ninja -C "$release" || die "" "the build failed"
    else
        quietly ninja -C "$release" || die "$log" "the build failed"
    fi
}

free_port() {
    python3 -c 'import socket
with socket.create_server(("127.0.0.1", 0)) as s: print(s.getsockname()[1])'
}

make_home() {
    rm -rf --one-file-system "$home"
    warded init --listen "tls+tcp://127.0.0.1:$(free_port)"
    warded profile new "$trainer" --scope observe:python_code --ttl 1d
}

warded() { # warded WORDS...: of this home; a failure ends the script
    quietly "$release/bin/warded" --home "$home" "$@" || die "$log" "warded $1 failed"
}

tokctl() { "$release/bin/tokctl" --home "$home" "$@"; }

serve() {
    setsid "$release/bin/warded" --home "$home" serve \
        >"$home/serve.log" 2>&1 </dev/null &
    gate=$!
    tries=$((ready_s * 10))
    until [ -s "$home/run/address" ]; do
        kill -0 "$gate" 2>/dev/null || die "$home/serve.log" "warded serve ended"
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || die "$home/serve.log" "no gate after $ready_s s"
        sleep 0.1
    done
    echo "listening on $(cat "$home/run/address"), process $gate"
}

rollout() {
    PYTHONPATH=$release/python WARDED_PROFILE=$home/profile/$trainer \
        XDG_STATE_HOME=$home/client python3 clients/python/examples/rollout.py
}

show_trail() {
    tokctl audit tail --lines 20 || die "" "tokctl audit tail failed"
    tokctl audit verify || die "" "the audit trail does not verify"
}

print_how() {
    echo "$gate $home" >"$kept"
    place=$home
    [ "$home" != "$PWD/build/try" ] || place=build/try
    cat <<TXT

The gate stays up. Call it again:
    deploy/platform.sh env PYTHONPATH=$release/python \\
        WARDED_PROFILE=$place/profile/$trainer \\
        python3 clients/python/examples/rollout.py
See what it recorded:
    deploy/platform.sh $release/bin/tokctl --home $place audit query
Stop it:
    deploy/try.sh --stop
TXT
}

main() { # main MODE: on the platform
    step 1 "The platform is here: Debian $(cat /etc/debian_version)"
    pick_home
    if stop_kept; then
        echo "Stopped the gate that an earlier --keep left."
    elif [ "$1" = --stop ]; then
        echo "No gate of an earlier --keep runs."
    fi
    [ "$1" != --stop ] || exit 0
    step 2 "Building into $release"
    build
    step 3 "Making CA, certificates, token and store in $home"
    make_home
    step 4 "Starting the gate"
    trap '[ -z "$gate" ] || stop_gate "$gate"' EXIT
    serve
    step 5 "Running 64 actions as the trainer"
    status=0
    rollout || status=$?
    step 6 "What the audit trail tells"
    show_trail
    if [ "$1" = --keep ]; then
        print_how
        gate=
    fi
    printf '\nDone in %d s, status %d\n' $(($(date +%s) - start)) "$status"
    exit "$status"
}

case ${1:-} in
"" | --keep | --stop)
    mkdir -p build
    exec deploy/platform.sh deploy/try.sh --inside "${1:-}"
    ;;
--inside) main "${2:-}" ;;
*)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 64
    ;;
esac
