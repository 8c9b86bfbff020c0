#!/bin/bash
# Slurm, Epilog= in slurm.conf: unmounts what prolog.sh mounted, in use or not.
# root follows no path that the user could have changed: what is in the folder, only the user
# unmounts and removes.
# Tested: Slurm 22.05.8 (Debian 12); a job that ends, and one that is cancelled with a mount in use,
# after it has put a link to a mount of root in place of the other.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin # Slurm sets none
folder=/run/foldfs/$SLURM_JOB_ID
[[ -d $folder ]] || exit 0

as_user() {
    timeout --kill-after=5 20 \
        setpriv --reuid="$SLURM_JOB_UID" --regid="$(id -g "$SLURM_JOB_UID")" --clear-groups "$@"
}
# shellcheck disable=SC2016  # expanded by that shell
as_user sh -c 'cd "$1" && for mount in *; do fusermount3 -uzq "./$mount"; done' sh "$folder"
# The daemons remove the folders that they made; this is for what else is there.
as_user find "$folder" -xdev -mindepth 1 -delete
rmdir "$folder"
exit 0
