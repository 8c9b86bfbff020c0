#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=16 --mem=64G
# Slurm, without any help of the administrator: one mount for each node, gone when the step ends.
#     sbatch job.sh /scratch/in1k.lmdb
# Tested: Slurm 22.05.8 (Debian 12) on one node; scancel, with and without --signal=KILL.
set -eu
pack=$1
data=${TMPDIR:-/tmp}/foldfs.$SLURM_JOB_ID

# --grace below KillWait (30 s), so that nothing is killed before it has unmounted.
srun foldfs --mkdir --grace=20 "$pack" "$data" -- \
    python3 "${TRAIN:-train.py}" --data "$data"
