#!/bin/sh
# platform.sh CMD [ARG...] - run a command on the platform, which is Debian 13.
#
# On Debian >= 13 it installs what is missing of deploy/packages.txt and runs CMD.
# Elsewhere it makes a Debian 13 root once (debootstrap, about 700 MB) and runs CMD
# inside it: a mount namespace of its own and pivot_root, because the kernel refuses
# user namespaces, which the sandbox needs, to a process that was only chrooted.
#
# Settings (environment):
#   WARDED_PLATFORM_CACHE   where roots live                [/var/cache/warded]
#   WARDED_PLATFORM_MIRROR  Debian mirror of the root       [the host's own, if Debian]
#   WARDED_DEBOOTSTRAP      the program that makes the root [debootstrap]
#   WARDED_PLATFORM_RELEASE pretend the host is this Debian (for tests)
# Exit: CMD's own status; 69 when the platform can't be had, with the reason.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd -P)
list=$here/deploy/packages.txt
cache=${WARDED_PLATFORM_CACHE:-/var/cache/warded}
debootstrap=${WARDED_DEBOOTSTRAP:-debootstrap}

say() { printf 'platform: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 69
}

packages() { sed -e 's/#.*//' -e '/^\[/d' -e '/^[[:space:]]*$/d' "$list"; }

release() {
    if [ -n "${WARDED_PLATFORM_RELEASE:-}" ]; then
        echo "$WARDED_PLATFORM_RELEASE"
    elif [ "$(. /etc/os-release && echo "${ID:-}")" = debian ]; then
        . /etc/os-release && echo "${VERSION_ID:-0}"
    else
        echo 0
    fi
}

become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null 2>&1 ||
        die "needs root (packages, mount namespace): run as root, or install sudo"
    say "not root: asking sudo"
    exec sudo --preserve-env=WARDED_PLATFORM_CACHE,WARDED_PLATFORM_MIRROR,CI \
        "$0" "$@"
}

ensure_user() { # the account that the gate runs as
    getent passwd warded >/dev/null ||
        useradd --system --user-group --no-create-home --home-dir /nonexistent \
            --shell /usr/sbin/nologin warded
}

# --- Debian 13 and later: this host is the platform -------------------------------

missing_packages() {
    for name in $(packages); do
        case $(dpkg-query -W -f '${Status}' "$name" 2>/dev/null) in
        "install ok installed") ;;
        *) echo "$name" ;;
        esac
    done
}

run_native() {
    missing=$(missing_packages)
    if [ -n "$missing" ]; then
        say "installing $(echo "$missing" | wc -l) packages"
        apt-get update -qq || die "apt-get update failed: is a mirror reachable?"
        # shellcheck disable=SC2086 # a list of words
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends $missing >/dev/null ||
            die "apt-get could not install: $(echo "$missing" | tr '\n' ' ')"
    fi
    ensure_user
    exec "$@"
}

# --- any other host: a root of Debian 13 -------------------------------------------

host_mirror() { # the first Debian mirror that this host's apt uses, or nothing
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
        /etc/apt/sources.list.d/*.list 2>/dev/null |
        grep -v '^[[:space:]]*#' |
        grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' '
}

need_debootstrap() {
    command -v "$debootstrap" >/dev/null 2>&1 && return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "needs debootstrap: install it with this system's package manager"
    say "installing debootstrap"
    { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null 2>&1 ||
        die "could not install debootstrap: is a mirror reachable?"
}

make_root() { # make_root ROOT: whole or not at all; the caller holds the lock
    rm -rf "$cache"/platform-*.partial # what a killed run left
    part=$1.partial
    mirror=${WARDED_PLATFORM_MIRROR:-$(host_mirror)}
    log=$cache/debootstrap.log
    say "making a Debian 13 root in $1: a few minutes, once; log in $log"
    include=$(packages | tr '\n' ',' | sed 's/,$//')
    # shellcheck disable=SC2086 # an empty mirror is no argument
    "$debootstrap" --variant=minbase --include="$include" trixie "$part" $mirror \
        >"$log" 2>&1 &
    show_progress $! "$log"
    wait $! || die "debootstrap failed: $(tail -n 3 "$log" | tr '\n' ' ')"
    chroot "$part" useradd --system --user-group --no-create-home \
        --home-dir /nonexistent --shell /usr/sbin/nologin warded ||
        die "could not make the account 'warded' in the root"
    rm -rf "$part"/var/cache/apt/archives/*.deb
    sync -f "$part"
    mv "$part" "$1"
}

show_progress() { # show_progress PID LOG: a line that moves while PID lives
    while kill -0 "$1" 2>/dev/null; do
        if [ -t 2 ]; then
            printf '\rplatform: %6s lines done \033[K' \
                "$(wc -l <"$2" 2>/dev/null || echo 0)" >&2
        fi
        sleep 1
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

ensure_root() { # ensure_root ROOT
    [ ! -d "$1" ] || return 0
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9
    [ -d "$1" ] || {
        need_debootstrap
        make_root "$1"
    }
    exec 9>&-
}

# Inside the new mount namespace: bind what the command may see, then pivot.
enter='
bind() { # bind PATH: the same path inside, if the host has it
    [ -e "$1" ] || return 0
    if [ -d "$1" ]; then mkdir -p "$ROOT$1"
    else mkdir -p "$ROOT${1%/*}"; [ -e "$ROOT$1" ] || : >"$ROOT$1"; fi
    mount --rbind "$1" "$ROOT$1"
}
mount --bind "$ROOT" "$ROOT"
bind /dev; bind /sys; bind /tmp
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs "$ROOT/run"
for p in /etc/ssl/certs /etc/resolv.conf /etc/pip.conf /etc/xdg/pip \
    "$HOME/.config/pip" "$PARENT"; do bind "$p"; done
case $PWD/ in "$PARENT"/*) ;; *) bind "$PWD" ;; esac
mkdir -p "$ROOT/.old"
pwd=$PWD
cd "$ROOT"
pivot_root . .old
exec chroot . /bin/sh -ec "umount -l /.old; cd \"\$1\"; shift; exec \"\$@\"" \
    sh "$pwd" "$@"'

run_in_root() {
    sum=$(sha256sum "$list" | cut -c 1-16)
    root=$cache/platform-$sum
    ensure_root "$root"
    ROOT=$root PARENT=$(dirname "$here") LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    export ROOT PARENT LANG PATH
    exec unshare --mount --propagation private sh -ec "$enter" sh "$@"
}

[ $# -gt 0 ] || {
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 64
}
become_root "$@"
case $(release) in
[0-9] | 1[0-2] | [0-9].* | 1[0-2].*) run_in_root "$@" ;;
*) run_native "$@" ;;
esac
