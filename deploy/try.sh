#!/bin/sh
# try.sh [--keep | --stop | --help] - see Warded work, from nothing, in a few minutes.
#
# Gets the platform, builds (Release), makes CA, certificates, token and store under
# build/try, starts `warded serve` on a free port of loopback, runs as the trainer the 64
# actions of clients/python/examples/rollout.py, shows the audit trail, verified against
# the heads that the trainer kept, and stops.
#   --keep   leaves the gate up and prints how to call it; a later run replaces it
#   --stop   stops what --keep left
# Where the gate's account can't reach build/try, the state goes to a folder of /var/tmp,
# which is removed at the end; after --keep, by --stop.
# Settings (environment):
#   WARDED_TRY   where the state goes, with its .log, .kept and .lock beside it
#                [build/try]
#                A folder that holds anything but an earlier try's state is refused.
# Exit: the rollout's status; 64 wrong words or WARDED_TRY; 69 no platform; 70 a step
# failed, with its log's end; 75 another try has the state; 130 stopped by a signal,
# after the same cleaning up.
set -eu
cd "$(dirname "$0")/.."

release=build/release
state=${WARDED_TRY:-build/try}
while [ "${state%/}" != "$state" ] && [ "$state" != / ]; do state=${state%/}; done
case $state in /*) ;; *) state=$PWD/$state ;; esac
log=$state.log   # of the build and of the set-up
kept=$state.kept # process and home of the gate that runs, or that --keep left
lock=$state.lock # held by the try that works on it, with its process
trainer=trainer
elsewhere=/var/tmp/warded-try-
ready_s=60
start=$(date +%s)
gate=  # process, while it is ours to stop
stays= # not empty: the gate stays up

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
    home=$state
    if setpriv --reuid=warded --regid=warded --clear-groups test -x "${state%/*}"; then
        return 0
    fi
    home=$elsewhere$(printf %s "$state" | cksum | cut -d ' ' -f 1)
    echo "The account 'warded' can't reach ${state%/*}: the state goes to"
    echo "$home (of the platform) instead of $state."
}

check_state() { # what is not a try's state is not ours to remove
    if [ ! -e "$state" ] || [ "$state" = "$PWD/build/try" ]; then return 0; fi
    if [ -d "$state" ]; then
        case $(ls -A "$state") in
        "") return 0 ;;
        profile) # of --keep, with its state elsewhere
            [ "$(ls -A "$state/profile")" != "$trainer" ] || return 0
            ;;
        esac
        [ ! -f "$state/warded.yaml" ] || [ ! -d "$state/state" ] || return 0
    fi
    printf '%s\n' "try: WARDED_TRY: $state is not empty and no state of an earlier" \
        "try, which would be replaced: name a new folder, or remove it yourself" >&2
    exit 64
}

clean_up() { # clean_up HOME: a CA's key that lies outside the checkout is not left there
    case $1 in
    "$elsewhere"*/*) ;;
    "$elsewhere"*) rm -rf --one-file-system "$1" "$state/profile" ;;
    esac
}

give_back() { # what sudo made below build belongs to its caller; not a kept gate's state
    [ -n "${SUDO_UID:-}" ] || return 0
    owner=$SUDO_UID:${SUDO_GID:-}
    chown "$owner" build
    for path in build/*; do
        if [ ! -s "$kept" ] || [ "$PWD/$path" != "$home" ]; then
            chown -hR "$owner" "$path"
        fi
    done
}

be_alone() { # two tries of one state would stop and remove each other's gate
    exec 9<>"$lock"
    if ! flock -n 9; then
        read -r holder <&9 || holder=unknown
        printf '%s\n' "try: $state is in the hands of another try.sh, process $holder:" \
            "wait for its end, or stop it (kill $holder); or set WARDED_TRY to a folder" \
            "of your own" >&2
        exit 75
    fi
    echo $$ >"$lock"
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
    *warded*"--home $old serve"*) stop_gate "$pid" && clean_up "$old" ;;
    *) clean_up "$old" && return 1 ;;
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

own_uids() { # own_uids FILE: of this place; another's gate may run on this machine
    base=$((1880000000 + $(printf %s "$state" | cksum | cut -d ' ' -f 1) % 100000 * 64))
    sed -i "s/^#sandbox:/sandbox:/; s/^#  uid_base: .*/  uid_base: $base/" "$1"
}

make_home() {
    rm -rf --one-file-system "$home"
    warded init --listen "tls+tcp://127.0.0.1:$(free_port)"
    own_uids "$home/warded.yaml"
    warded profile new "$trainer" --scope observe:python_code --ttl 1d
}

warded() { # warded WORDS...: of this home; a failure ends the script
    quietly "$release/bin/warded" --home "$home" "$@" || die "$log" "warded $1 failed"
}

tokctl() { "$release/bin/tokctl" --home "$home" "$@"; }

serve() {
    setsid "$release/bin/warded" --home "$home" serve \
        >"$home/serve.log" 2>&1 </dev/null 9>&- &
    gate=$!
    echo "$gate $home" >"$kept" # --stop finds it, even after we were killed
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
    tokctl audit verify --witness "$home"/client/warded/heads/* ||
        die "" "the audit trail does not verify against the heads that the client kept"
}

print_how() {
    place=${home#"$PWD"/}
    if [ "$home" != "$state" ]; then # the profile is where the README says, too
        mkdir -p "$state/profile"
        cp -a "$home/profile/$trainer" "$state/profile/"
    fi
    cat <<TXT

The gate stays up. Call it again:
    deploy/platform.sh env PYTHONPATH=$release/python \\
        WARDED_PROFILE=${state#"$PWD"/}/profile/$trainer \\
        python3 clients/python/examples/hello.py
See what it recorded:
    deploy/platform.sh $release/bin/tokctl --home $place audit query
Stop it:
    deploy/try.sh --stop
TXT
}

end() { # whatever happened
    trap : INT TERM HUP # one was enough
    if [ -z "$stays" ]; then
        [ -z "$gate" ] || stop_gate "$gate"
        rm -f "$kept"
        clean_up "$home"
    fi
    give_back
}

main() { # main MODE: on the platform
    step 1 "The platform is here: Debian $(cat /etc/debian_version)"
    check_state
    be_alone
    pick_home
    if stop_kept; then
        echo "Stopped the gate that an earlier --keep left."
    elif [ "$1" = --stop ]; then
        echo "No gate of an earlier --keep runs."
    fi
    trap 'end' EXIT
    trap 'exit 130' INT TERM HUP # or sh dies of it, without its EXIT
    [ "$1" != --stop ] || exit 0
    step 2 "Building into $release"
    build
    step 3 "Making CA, certificates, token and store in $home"
    make_home
    step 4 "Starting the gate"
    serve
    step 5 "Running 64 actions as the trainer"
    status=0
    rollout || status=$?
    step 6 "What the audit trail tells"
    show_trail
    if [ "$1" = --keep ]; then
        stays=yes
        print_how
    fi
    printf '\nDone in %d s, status %d\n' $(($(date +%s) - start)) "$status"
    exit "$status"
}

manual() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; }

# By way of platform.sh, as below; by hand it would build and run on no platform.
if [ "${1:-}" = --inside ] && [ -n "${WARDED_TRY_INSIDE:-}" ]; then
    main "${2:-}"
fi
case $# in
0) ;;
1) [ -n "$1" ] || set -- "an empty word" ;;
*) set -- "more than one word" ;;
esac
case ${1:-} in
"" | --keep | --stop)
    mkdir -p "${state%/*}" build
    exec deploy/platform.sh env WARDED_TRY="$state" WARDED_TRY_INSIDE=yes \
        deploy/try.sh --inside "${1:-}"
    ;;
-h | --help | help) manual ;;
*)
    printf 'try: not understood: %s\n\n' "$1" >&2
    manual >&2
    exit 64
    ;;
esac
