#!/bin/sh
# guest.sh: the first process of a virtual machine with another kernel (portability.sh kernel).
# Static programs pack a folder, mount the pack in several ways, or have it without a mount, and
# what is seen is compared. The console says how it ended.
#
# guest.sh content FOLDER: everything about a tree that a pack keeps.
# guest.sh short: a job that takes nearly all memory of its group.
set -eu
export PATH=/bin

content() {
    cd "$1"
    find . ! -type l -exec stat -c '%n %a %Y %F' {} + | sort
    find . -type l -exec stat -c '%N' {} + | sort
    find . -type f -exec sha1sum {} + | sort
    cd /
}

sums='cd /disk/mnt && find . -type f -exec sha1sum {} + | sort'

pool() {
    foldstat --json /disk/mnt | tr -d ' \n' | grep -o '"limit":[0-9]*' | head -n 1 | tr -dc 0-9
}

read_all() {
    sh -c "$sums" | cmp /tmp/sums -
}

short() {
    read_all
    before=$(pool)
    i=0
    while [ $i -lt 17 ]; do
        head -c 10000000 /dev/zero >>/tmp/taken
        sleep 0.3
        i=$((i + 1))
    done
    after=$(pool)
    echo "guest: the pool has $before bytes, then $after"
    read_all
    [ "$after" -lt "$before" ]
}

case ${1:-} in
content)
    content "$2"
    exit
    ;;
short)
    short
    exit
    ;;
esac
/bin/busybox --install -s /bin

end() {
    status=$?
    [ $status = 0 ] && echo 'guest: all good' || echo "guest: failed ($status)"
    sync
    poweroff -f
}
trap end EXIT

say() {
    echo "guest: $*"
}

make_disk() {
    mkdir -p /dev /proc /sys /tmp /disk /etc
    mount -t devtmpfs dev /dev || :
    [ ! -e /fuse.ko ] || insmod /fuse.ko
    chmod 666 /dev/fuse /dev/null
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t tmpfs tmp /tmp
    if [ -e /dev/sda ]; then
        mke2fs -F /dev/sda >/dev/null
        mount -t ext4 /dev/sda /disk
    else # Debian's drivers are modules
        mount -t tmpfs disk /disk
    fi
    chmod 1777 /disk
    echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
    echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
}

# Files of all sizes around a page, a block and an extent; links, an empty folder, odd names.
make_tree() {
    for folder in a b 'with space'; do
        mkdir -p "/disk/tree/$folder/empty"
        for size in 0 1 4095 4096 4097 131072 1048575 1048576 1048577 3000000; do
            head -c $size /dev/urandom >"/disk/tree/$folder/$size"
        done
        i=0
        while [ $i -lt 300 ]; do
            echo "$folder $i" >"/disk/tree/$folder/file $i"
            i=$((i + 1))
        done
        ln -s ../a/4097 "/disk/tree/$folder/link"
    done
    ln /disk/tree/a/4096 /disk/tree/b/hard
    chmod 640 /disk/tree/a/1
    touch -d '2001-02-03 04:05:06' /disk/tree/a/4095
}

# Until the kernel has random numbers, which it gets from what devices do, foldpack waits.
stir() {
    while [ ! -e /disk/pack ]; do
        echo >/disk/stirred
        sync
    done
}

compare() {
    content "$1" >/tmp/seen
    cmp /tmp/want /tmp/seen
}

mounted() { # OPTION ...
    say "mounts: $*"
    foldfs "$@" /disk/pack /disk/mnt
    compare /disk/mnt
    echo 3 >/proc/sys/vm/drop_caches
    compare /disk/mnt
    foldstat /disk/mnt >/tmp/stats
    umount /disk/mnt
}

without_mount() { # USER
    say "without a mount, for $1"
    su "$1" -c 'foldfs --no-fuse -q /disk/pack /disk/mnt -- sh /init content /disk/mnt' >/tmp/seen
    cmp /tmp/want /tmp/seen
}

groups=/sys/fs/cgroup # of v2

short_of_memory() { # OPTION ...
    say "memory gets short: $*"
    mkdir $groups/job
    echo 250000000 >$groups/job/memory.max
    (
        echo 0 >$groups/job/cgroup.procs
        exec foldfs -q "$@" /disk/pack /disk/mnt -- sh /init short
    )
    rm /tmp/taken
    i=0
    until rmdir $groups/job || [ $i = 10 ]; do # until the last process has ended
        sleep 0.1
        i=$((i + 1))
    done
}

# In one sentence, with the way out.
refused_without_mount() { # WHY
    if su nobody -c 'foldfs --no-fuse -q /disk/pack /disk/mnt -- true' 2>/tmp/said; then
        return 1
    fi
    say "without a mount: $(cat /tmp/said)"
    grep -q "$1.*foldpack extract" /tmp/said
    [ "$(wc -l </tmp/said)" = 1 ]
}

make_disk
mkdir /disk/mnt
say "Linux $(uname -r)"
foldfs --version
make_tree
content /disk/tree >/tmp/want
grep -E '^[0-9a-f]{40}' /tmp/want >/tmp/sums
say 'packs, verifies, extracts'
stir &
foldpack create -q /disk/tree /disk/pack
foldpack verify -q /disk/pack
foldpack extract -q /disk/pack /disk/out
compare /disk/out
mounted
mounted --cache=pool
[ ! -e /dev/sda ] || mounted --cache=pool --io=direct
mounted --sandbox=off
say 'mounts for a command, and for one of a user'
chown nobody /disk/mnt
foldfs /disk/pack /disk/mnt -- sh -c "$sums" >/tmp/seen
cmp /tmp/sums /tmp/seen
su nobody -c "foldfs /disk/pack /disk/mnt -- sh -c '$sums'" >/tmp/seen
cmp /tmp/sums /tmp/seen
mount -t cgroup2 groups $groups
echo +memory >$groups/cgroup.subtree_control
short_of_memory --cache=pool
yama=/proc/sys/kernel/yama/ptrace_scope
case $(uname -r) in
4.* | 5.[0-9].* | 5.1[0-3].*)
    refused_without_mount 'older than Linux 5.14'
    ;;
*)
    without_mount root
    without_mount nobody
    short_of_memory --no-fuse
    if [ -e $yama ]; then
        echo 1 >$yama
        without_mount nobody
        echo 2 >$yama
        refused_without_mount 'ptrace_scope of 1 or 0'
    fi
    ;;
esac
