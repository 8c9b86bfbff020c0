#!/bin/sh
# guest.sh: the first process of a virtual machine that is a server of NFS and its own client
# (portability.sh nfs): runs the tests beside it. The console says how it ended.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

mount -t devtmpfs dev /dev || :
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /run/rpc_pipefs
ip link set lo up
modprobe -a fuse nfs nfsd
mount -t rpc_pipefs rpc /run/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind
rpc.statd --no-notify
nfsdcld
rpc.mountd

cd /src || exit
read -r tests <TESTS
export FOLDFS_BUILD=/src/build-static PYTHONPATH=tests/mount
python3 -B -m pytest -v --color=no --durations=5 -p no:cacheprovider -p conftest \
    --rootdir=tests/nfs tests/nfs -k "$tests" &&
    echo 'guest: all good'
sync
echo o >/proc/sysrq-trigger
sleep 60
