#!/bin/sh
# platform.sh CMD [ARG...] - run a command on the platform, which is Debian 13.
#
# On Debian >= 13 it installs what is missing of deploy/packages.txt and runs CMD.
# Elsewhere it makes a Debian 13 root once (debootstrap, about 700 MB) and runs CMD
# inside it: a mount namespace of its own and pivot_root, because the kernel refuses
# user namespaces, which the sandbox needs, to a process that was only chrooted.
# Inside, the checkout and its parent, /dev, /sys and /tmp are the host's.
#
# Settings (environment):
#   WARDED_PLATFORM_CACHE   where roots live                [/var/cache/warded]
#   WARDED_PLATFORM_MIRROR  Debian mirror of the root       [the host's own, if Debian]
#   WARDED_DEBOOTSTRAP      the program that makes the root [debootstrap]
#   WARDED_PLATFORM_RELEASE pretend the host is this Debian (for tests)
# Exit: CMD's own status; 69 when the platform can't be had, with the reason.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # `su` without `-` leaves them out
export PATH

here=$(cd "$(dirname "$0")/.." && pwd -P)
self=$here/deploy/platform.sh
list=$here/deploy/packages.txt
cache=${WARDED_PLATFORM_CACHE:-/var/cache/warded}
debootstrap=${WARDED_DEBOOTSTRAP:-debootstrap}
log=$cache/debootstrap.log

say() { printf 'platform: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 69
}

packages() { sed -e 's/#.*//' -e '/^\[/d' -e '/^[[:space:]]*$/d' "$list"; }

# os_release NAME: a value of this host's /etc/os-release, or nothing
os_release() { sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" /etc/os-release; }

release() { # the host's Debian release; 0 for any other system
    if [ -n "${WARDED_PLATFORM_RELEASE:-}" ]; then
        echo "$WARDED_PLATFORM_RELEASE"
    elif [ "$(os_release ID)" = debian ]; then
        os_release VERSION_ID | grep . || echo 0
    else
        echo 0
    fi
}

become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null 2>&1 ||
        die "needs root (packages, mount namespace): run as root, or install sudo"
    say "not root: asking sudo"
    settings=WARDED_PLATFORM_CACHE,WARDED_PLATFORM_MIRROR
    settings=$settings,WARDED_DEBOOTSTRAP,WARDED_PLATFORM_RELEASE
    exec sudo --preserve-env="$settings,CI" "$self" "$@"
}

make_user() { # make_user [CHROOT]: the account that the gate runs as
    ${1:+chroot "$1"} useradd --system --user-group --no-create-home \
        --home-dir /nonexistent --shell /usr/sbin/nologin warded
}

# --- Debian 13 and later: this host is the platform -------------------------------

missing_packages() {
    # shellcheck disable=SC2046 # a list of words
    have=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $(packages) 2>/dev/null |
        sed -n 's/^ii  *//p')
    for name in $(packages); do
        printf '%s\n' "$have" | grep -qxF "$name" || echo "$name"
    done
}

run_native() { # run_native CMD...
    missing=$(missing_packages)
    if [ -n "$missing" ]; then
        say "installing $(echo "$missing" | wc -l) packages"
        apt-get update -qq || die "apt-get update failed: is a mirror reachable?"
        # shellcheck disable=SC2086 # a list of words
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends $missing >/dev/null ||
            die "apt-get could not install: $(echo "$missing" | tr '\n' ' ')"
    fi
    getent passwd warded >/dev/null || make_user ||
        die "could not make the account 'warded'"
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
    [ -z "${WARDED_DEBOOTSTRAP:-}" ] || die "no program $WARDED_DEBOOTSTRAP"
    command -v apt-get >/dev/null 2>&1 ||
        die "needs debootstrap: install it with this system's package manager"
    say "installing debootstrap"
    { apt-get update -qq &&
        apt-get install -y -qq debootstrap debian-archive-keyring; } >/dev/null 2>&1 ||
        die "could not install debootstrap: is a mirror reachable?"
}

need_namespaces() {
    unshare --mount --propagation private true 2>/dev/null ||
        die "may not make a mount namespace: in a container, run it with" \
            "--privileged, or with --cap-add SYS_ADMIN and without its seccomp" \
            "and AppArmor profiles; or use a host that is Debian 13"
}

need_place() { # a root needs device files and programs
    options=$(findmnt -n -o OPTIONS -T "$cache" 2>/dev/null | tail -n 1)
    for bad in nodev noexec; do
        case ,$options, in *,$bad,*)
            die "$cache lies on a file system mounted '$bad', where no root can be:" \
                "set WARDED_PLATFORM_CACHE to a folder elsewhere"
            ;;
        esac
    done
}

# make_root ROOT: whole or not at all; the caller holds the lock. What makes it lives
# in namespaces of its own, so that with us die its processes and its mounts.
make_root() {
    need_debootstrap
    rm -rf --one-file-system "$cache"/platform-*.partial # what a killed run left
    say "making a Debian 13 root in $1: a few minutes, once; log in $log"
    : >"$log"
    setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork \
        --kill-child=KILL "$self" --make "$1.partial" >"$log" 2>&1 &
    show_progress $!
    wait $! || die "could not make the root: $(why); the whole log is $log"
    sync -f "$1.partial"
    mv "$1.partial" "$1"
    say "made the root"
}

make_partial() { # make_partial PART: runs alone in its namespaces, writes to the log
    umask 022
    include=$(packages | tr '\n' ',' | sed 's/,$//')
    mirror=${WARDED_PLATFORM_MIRROR:-$(host_mirror || :)}
    # shellcheck disable=SC2086 # an empty mirror is no argument
    "$debootstrap" --variant=minbase --include="$include" trixie "$1" $mirror
    make_user "$1"
    rm -rf "$1"/var/cache/apt/archives/*.deb
}

why() { # the last error of the log, else its last lines
    grep -E '^E:|[Ee]rror' "$log" | tail -n 1 | grep . ||
        tail -n 3 "$log" | tr '\n' ' '
}

show_progress() { # show_progress PID: signs of life while it lives
    seconds=0
    while kill -0 "$1" 2>/dev/null; do
        doing=$(tail -n 1 "$log" | cut -c 1-60)
        if [ -t 2 ]; then
            printf '\rplatform: %3d s  %s\033[K' "$seconds" "$doing" >&2
        elif [ $((seconds % 15)) -eq 14 ]; then
            say "$seconds s: $doing"
        fi
        sleep 1
        seconds=$((seconds + 1))
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

ensure_root() { # ensure_root ROOT
    [ ! -d "$1" ] || return 0
    mkdir -p "$cache" || die "can't make $cache: set WARDED_PLATFORM_CACHE"
    need_place
    exec 9>"$cache/lock"
    flock -n 9 || {
        say "waiting for another run, which makes the root"
        flock 9
    }
    [ -d "$1" ] || make_root "$1"
    exec 9>&-
}

bind() { # bind ROOT PATH: the same path inside, if the host has it
    [ -e "$2" ] || return 0
    if [ -d "$2" ]; then
        mkdir -p "$1$2"
    else
        mkdir -p "$1${2%/*}"
        [ -e "$1$2" ] || : >"$1$2"
    fi
    mount --rbind "$2" "$1$2"
}

workplace() { # the checkout's parent; the checkout alone where that is the system's
    case ${here%/*} in
    "" | /bin | /etc | /lib* | /run | /sbin | /usr | /var) echo "$here" ;;
    *) echo "${here%/*}" ;;
    esac
}

enter() { # enter ROOT CMD...: in a mount namespace of its own
    root=$1 place=$(workplace) from=$(pwd -P)
    shift
    mount --bind "$root" "$root"
    for path in /dev /sys /tmp; do bind "$root" "$path"; done
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs "$root/run"
    for path in /etc/ssl/certs /etc/resolv.conf /etc/pip.conf /etc/xdg/pip \
        "${HOME:-/root}/.config/pip" "$place"; do bind "$root" "$path"; done
    case $from/ in
    "$place"/* | /tmp/*) ;;
    *) bind "$root" "$from" ;;
    esac
    mkdir -p "$root/.old"
    cd "$root"
    pivot_root . .old
    # shellcheck disable=SC2016 # for the shell inside
    exec /bin/sh -ec 'umount -l /.old; cd "$1"; shift; exec "$@"' \
        sh "$from" "$@"
}

run_in_root() { # run_in_root CMD...
    root=$cache/platform-$(sha256sum "$list" | cut -c 1-16)
    need_namespaces
    ensure_root "$root"
    LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    export LANG PATH
    unset LC_ALL
    case ${TMPDIR:-/tmp} in /tmp | /tmp/*) ;; *) unset TMPDIR ;; esac
    exec unshare --mount --propagation private "$self" --enter "$root" "$@"
}

manual() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$self"; }

misused() { # misused WHY...
    say "$*"
    printf '\n' >&2
    manual >&2
    exit 64
}

case ${1:-} in
-h | --help | help)
    manual
    exit 0
    ;;
"")
    misused "which command?"
    ;;
--make)
    [ $# -eq 2 ] || misused "--make takes a folder, and is for this script itself"
    make_partial "$2"
    exit 0
    ;;
--enter)
    [ $# -ge 3 ] || misused "--enter takes a root and a command, as this script says it"
    shift
    enter "$@"
    ;;
esac
become_root "$@"
case $(release) in
[0-9] | 1[0-2] | [0-9].* | 1[0-2].*) run_in_root "$@" ;;
*) run_native "$@" ;;
esac
