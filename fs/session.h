/* The connection to the kernel: mounting and serving.
 *
 *	session_new -> session_mount -> session_serve -> (unmounted) -> session_free
 *
 * session_serve() starts the threads, so all that forks or changes namespaces must come before. */
#pragma once

#include "fs/fuse.h"
#include "fs/mount.h"

struct session;

/* `ops` get the session as their user data. Returns 0 or -errno with the reason and, if there is
 * one, the way out. */
int session_new(struct mount *mount, const struct fuse_lowlevel_ops *ops, struct session **ret,
		struct err *err);
void session_free(struct session *session); /* NULL is fine */

/* Mounts on an existing directory, by its absolute path, and where this process may mount by
 * itself, by its descriptor; or takes /dev/fd/N, which the caller has mounted (folder -1). Returns
 * 0 or -errno with the reason and the way out. */
int session_mount(struct session *session, const char *path, int folder, struct err *err);

/* Starts serving, and returns when the kernel's handshake is done. From then on, the process gets
 * the signal SESSION_ENDED when the mount is gone, and again when nothing of the session is left,
 * which may wait for storage. Returns as session_new(). */
#define SESSION_ENDED SIGUSR1
int session_serve(struct session *session, struct err *err);

/* Whether the kernel has closed the connection: the mount is gone, or dead. Its device number may
 * be that of another mount by now. */
bool session_is_closed(struct session *session);
/* Waits for the end. False: it did not come within `seconds`. */
bool session_join(struct session *session, unsigned seconds);

/* The mount is to end once it is not used. From now on, the kernel asks about the root each time
 * that a path leads into the mount, even if it has all files. */
void session_watch(struct session *session);

/* The kernel's requests (ops.c): each is decoded, answered by one call, and replied to exactly
 * once. They ask the session what is mounted, and say that the kernel's handshake is done. */
extern const struct fuse_lowlevel_ops fs_ops;
struct mount *session_shows(const struct session *session);
void session_ready(struct session *session);
