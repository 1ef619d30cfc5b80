#!/bin/sh
# fresh_host.sh ROOT CMD [ARG...] - run CMD as on a host of its own, whose system is ROOT.
#
# In mount and process namespaces of its own, by pivot_root as deploy/platform.sh does it:
# to a process that was only chrooted the kernel refuses user namespaces. Of this host it
# has the kernel, /dev, /sys and the network; /tmp, /var and all else are ROOT's.
# What CMD started and left behind ends with it.
set -eu

inside() { # inside ROOT CMD...
    root=$1
    shift
    mount --bind "$root" "$root"
    for path in /dev /sys; do mount --rbind "$path" "$root$path"; done
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs "$root/run"
    mkdir -p "$root/.old"
    cd "$root"
    pivot_root . .old
    # Not exec'd: process 1 takes in the orphans.
    # shellcheck disable=SC2016 # for the shell inside
    exec /bin/sh -c 'umount -l /.old && rmdir /.old && cd / || exit 70; "$@"; exit $?' \
        sh "$@"
}

if [ "$1" = --inside ]; then
    shift
    inside "$@"
fi
exec setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork \
    --kill-child=KILL "$0" --inside "$@"
