/* A folder as a name in the one above it, which is opened once. Whoever may write there, or further
 * up, can rename what a path goes through, or put a link in its place: so by the name, links are
 * not followed, and what is removed is compared with what was made. */
#pragma once

#include "base/statx.h"
#include <stdbool.h>

/* The absolute path, even if the folder is missing, or under a mount whose daemon has died; and the
 * folder above, open. Returns 0 or -errno. */
int place_find(const char *path, char **ret_path, int *ret_above);
/* The last part of an absolute path: "." of "/". */
const char *place_name(const char *path);
/* Opens the folder above an absolute path. Returns a descriptor or -errno. */
int place_above(const char *path);

/* Opens the folder, with flags of open(2). Returns a descriptor or -errno. */
int place_open(int above, const char *name, int flags);
/* Creates it. *ret_made says whether place_remove() is to remove it: not where other machines see
 * it, as they may use it too, and removing it would unmount what they have mounted there. Returns
 * 0, also where it is there already, or -errno. */
int place_create(int above, const char *name, bool *ret_made, struct statx_file *ret);
/* Returns 0 or -errno; -ESTALE: another folder is there by now. */
int place_remove(int above, const char *name, const struct statx_file *made);
