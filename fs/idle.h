/* Unmounts what nobody uses any more. Silence is not idleness: a warm epoch sends no requests.
 * So the kernel is asked, by umount2(MNT_EXPIRE), which takes a mount away that was not
 * touched since it was asked before. */
#ifndef FS_IDLE_H
#define FS_IDLE_H

/* Asks once. Returns 1 when the mount is gone, 0 when it is in use or was just marked,
 * or -errno. */
int idle_expire(const char *path);

#endif
