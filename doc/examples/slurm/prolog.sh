#!/bin/bash
# Slurm, Prolog= in slurm.conf: mounts the packs of a job on each of its nodes, as the job's user.
# Users say which: sbatch --comment=foldfs:/scratch/in1k.lmdb,/scratch/coco.lmdb
# The job finds them in /run/foldfs/$SLURM_JOB_ID/in1k and so on. The daemons are slurmd's: they do
# not count against the memory of the job, so --pool bounds them. A failure here drains the node, so
# a pack that cannot be mounted is none: the job sees that the folder is missing.
# Tested: Slurm 22.05.8 (Debian 12), one node, proctrack/linuxproc.
set -u
export PATH=/usr/local/bin:/usr/bin:/bin # Slurm sets none
comment=${SLURM_JOB_COMMENT:-}
[[ $comment == foldfs:* ]] || exit 0
# Below a folder of root, where no user can put anything in the way; what is in it is the user's.
folder=/run/foldfs/$SLURM_JOB_ID
mkdir -p /run/foldfs && mkdir -m 700 "$folder" && chown "$SLURM_JOB_UID" "$folder" || exit 0

IFS=, read -ra packs <<<"${comment#foldfs:}"
for pack in "${packs[@]}"; do
    name=$(basename "$pack" .lmdb)
    setpriv --reuid="$SLURM_JOB_UID" --regid="$(id -g "$SLURM_JOB_UID")" --init-groups \
        foldfs -q --mkdir --grace=10 --pool=8G "$pack" "$folder/$name" ||
        logger -t foldfs "job $SLURM_JOB_ID: $pack was not mounted"
done
exit 0
