/* A mount, as a line of /proc/self/mountinfo has it (proc(5)). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct mountinfo {
	dev_t device;
	char path[PATH_MAX], type[64], source[PATH_MAX], options[1024];
};

/* Reads the next mount of a table like /proc/self/mountinfo, and passes over other lines. `line`
 * and `room` are as of io_line(). Returns 0, 1 after the last mount, or -errno. */
int mountinfo_next(FILE *table, char **line, size_t *room, struct mountinfo *ret);

/* Whether it is foldfs's; and made by this user, whom the options of a FUSE mount name. */
bool mountinfo_is_foldfs(const struct mountinfo *mount);
bool mountinfo_is_foldfs_of(const struct mountinfo *mount, uid_t uid);

/* Replaces each \ooo by its byte, in place: \040 is a space. Everything else stays. */
void mountinfo_unescape(char *text);
