/* A process forked to talk with this one. */
#pragma once

#include <sys/types.h>

/* Forks. Each side gets its end of a connected pair of sockets, of a type such as SOCK_STREAM, that
 * exec() closes; it reads to the end when the other's end is closed. Returns the child's process in
 * the parent, 0 in the child, or -errno. */
pid_t fork_with_socket(int type, int *ret_socket);
