#!/bin/bash
# Slurm, Prolog= in slurm.conf: copies the packs of a job to the disk of each of its nodes before it
# begins, as the job's user.
# Users say which: sbatch --comment=stage:http://store.example.org/in1k.lmdb
# The job mounts them with the same --cache-dir; jobs of a user on a node share a copy. A failure
# here drains the node, so what cannot be copied, the job reads from the store.
# PrologEpilogTimeout must be longer than this waits.
# Tested: without Slurm, with two jobs at once.
set -u
export PATH=/usr/local/bin:/usr/bin:/bin # Slurm sets none
export http_proxy=${http_proxy-http://rack:8080} # ../nginx/nginx.conf
cache=${FOLDFS_CACHE:-/scratch/foldfs,500G} # of root, with mode 1777
comment=${SLURM_JOB_COMMENT:-}
[[ $comment == stage:* ]] || exit 0

IFS=, read -ra packs <<<"${comment#stage:}"
for pack in "${packs[@]}"; do
    timeout 3600 \
        setpriv --reuid="$SLURM_JOB_UID" --regid="$(id -g "$SLURM_JOB_UID")" --init-groups \
        foldpack fetch -q --cache-dir="$cache" "$pack" ||
        logger -t foldfs "job $SLURM_JOB_ID: $pack is not on the disk yet"
done
exit 0
