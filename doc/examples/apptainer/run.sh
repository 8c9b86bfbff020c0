#!/bin/sh
# Apptainer (and Singularity 3.6 or later) mounts, and hands the open /dev/fuse to a foldfs that is
# in the image ("container:") or on this machine ("host:").
#     run.sh IMAGE.sif PACK COMMAND [ARG..]
# Tested: Apptainer 1.4.5 (Debian sid), of a user, IMAGE a folder with static programs. Without
# --no-pid, some runs hung while they mounted.
set -eu
image=$1 pack=$(realpath "$2")
shift 2
# Where users may not mount, the second form needs nothing but user namespaces:
#     foldfs --mkdir PACK DIR -- apptainer exec --bind DIR IMAGE.sif COMMAND
exec apptainer exec --no-pid --bind "$(dirname "$pack")" \
    --fusemount "container:foldfs $pack /mnt/data" "$image" "$@"
