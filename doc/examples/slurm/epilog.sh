#!/bin/bash
# Slurm, Epilog= in slurm.conf: unmounts what prolog.sh mounted, in use or not.
# Tried: called by bash with the variables that Slurm sets, by root. Not tried: under slurmd.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin # Slurm sets none
folder=/tmp/foldfs.$SLURM_JOB_ID
[[ -d $folder && ! -L $folder ]] || exit 0

# Not even root may look at them.
for mount in "$folder"/*; do
    umount --lazy --no-canonicalize "$mount" 2>/dev/null
done
# The daemons remove the folders that they made.
for ((i = 0; i < 50; i++)); do
    rmdir "$folder" 2>/dev/null && break
    sleep 0.1
done
exit 0
