/* A mount, as a line of /proc/self/mountinfo has it (proc(5)). */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct mountinfo {
	dev_t device;
	char path[PATH_MAX], type[64], source[PATH_MAX], options[1024];
};

/* Returns false if it is not such a line. */
bool mountinfo_parse(const char *line, struct mountinfo *ret);

/* Replaces each \ooo by its byte, in place: \040 is a space. Everything else stays. */
void mountinfo_unescape(char *text);

#endif
