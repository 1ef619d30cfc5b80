#!/bin/sh
# stub_debootstrap.sh OPTION... SUITE ROOT [MIRROR] - a debootstrap of a tenth of a second.
#
# Makes a root of this system's own sh, cat, true, umount and unshare, with a useradd that
# notes its name. Settings (environment):
#   STUB_RUNS    a file that gets a line for each run
#   STUB_STOP    start, middle or end: say so on the FIFO STUB_FIFO, then wait for ever
#   STUB_FAIL    print an error as debootstrap does and end with status 1
set -eu

while case $1 in --*) ;; *) false ;; esac do shift; done
suite=$1 root=$2

stop_at() { # stop_at POINT: with `end` it is the root's useradd that stops
    [ "${STUB_STOP:-}" = "$1" ] || return 0
    echo "$1" >"$STUB_FIFO"
    exec tail -f /dev/null
}

copy() { # copy PROGRAM: with the libraries that it needs
    path=/usr/bin/$1
    # shellcheck disable=SC2046 # a list of words
    cp -L --parents "$path" $(ldd "$path" | grep -o '/[^ ]*') "$root"
}

echo "$suite" >>"$STUB_RUNS"
stop_at start
if [ -n "${STUB_FAIL:-}" ]; then
    printf 'I: Retrieving InRelease\nE: Failed getting release file http://x\n'
    exit 1
fi
mkdir -p "$root/leftover" # of a run that ended early
stop_at middle
for program in sh cat true umount unshare; do copy "$program"; done
mkdir -p "$root/proc" "$root/run" "$root/etc" "$root/usr/sbin" "$root/bin"
[ -x "$root/bin/sh" ] || cp "$root/usr/bin/sh" "$root/bin/sh"
cat >"$root/usr/sbin/useradd" <<'SH'
#!/bin/sh
[ ! -p /stop ] || { echo end >/stop; read -r _ </never; }
echo "$*" >>/etc/added
SH
chmod +x "$root/usr/sbin/useradd"
if [ "${STUB_STOP:-}" = end ]; then
    ln "$STUB_FIFO" "$root/stop"
    mkfifo "$root/never"
fi
rmdir "$root/leftover"
