#include "base/peer.h"
#include "base/scope.h"
#include "base/uapi.h"
#include <stdint.h>
#include <stdio.h>

#define NOBODY 65534

int peer_socket(int flags)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
	return fd;
}

int peer_find(int socket, struct ucred *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, ret, &len) < 0 ? -errno : 0;
}

static bool all_users_are_known(void)
{
	SCOPE_FILE FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned count = 0;

	return map && fscanf(map, "%*u %*u %u", &count) == 1 && count == UINT32_MAX;
}

bool peer_is(const struct ucred *peer, uid_t uid)
{
	return peer->uid == uid && (uid != NOBODY || all_users_are_known());
}

bool peer_is_trusted(const struct ucred *peer)
{
	return peer_is(peer, 0) || peer_is(peer, geteuid());
}
