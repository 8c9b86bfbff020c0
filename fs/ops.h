/* The kernel's requests: each is decoded, answered by one call, and replied to exactly once. */
#pragma once

#include "fs/fuse.h"
#include "fs/mount.h"

/* For fuse_session_new; its user data is a struct session. */
extern const struct fuse_lowlevel_ops fs_ops;
