#include "pack/environment.h"
#include "base/scope.h"
#include "pack/image_kind.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void count_name(const char *name, size_t *count, char first[static NAME_MAX + 1])
{
	if ((*count)++ == 0)
		snprintf(first, NAME_MAX + 1, "%s", name);
}

int environment_look(int folder, struct environment *ret)
{
	static const char *const own[] = {".", "..", "data.mdb", "lock.mdb", "meta_info.txt"};
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_DIR DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct environment found = {0};
	const struct dirent *entry;
	struct stat st;

	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;
		bool belongs = false;

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			belongs |= strcmp(name, own[i]) == 0;
		if (belongs || fstatat(folder, name, &st, 0) < 0)
			continue;
		if (S_ISDIR(st.st_mode) || image_named(name, strlen(name)) != IMAGE_UNKNOWN)
			count_name(name, &found.images, found.image);
		else
			count_name(name, &found.others, found.other);
	}
	*ret = found;
	return 0;
}
