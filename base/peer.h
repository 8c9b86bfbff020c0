/* Local sockets of packets that anybody may connect to, and who is at the other end: the process
 * that connected, or that listens, as it was then. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Nobody can hand over descriptors by it, where the kernel can see to that (6.16): to close what a
 * stranger sends may take hours (SO_LINGER). Returns a descriptor, or -1 with errno. */
int peer_socket(int flags);

/* Returns 0 or -errno. pid 0: it is in another namespace. */
int peer_find(int socket, struct ucred *ret);

/* Whether it is this user. All users that a namespace does not know have one number in it, that of
 * nobody: who has it is believed only where the namespace knows all. */
bool peer_is(const struct ucred *peer, uid_t uid);
/* Whether it is the user of this process, or root. */
bool peer_is_trusted(const struct ucred *peer);
