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

static bool belongs(const char *name)
{
	static const char *const names[] = {".", "..", "data.mdb", "lock.mdb", "meta_info.txt"};
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = strcmp(name, names[i]) == 0;
	return found;
}

static void count_name(const char *name, size_t *count, char first[static NAME_MAX + 1])
{
	if ((*count)++ == 0)
		snprintf(first, NAME_MAX + 1, "%s", name);
}

int environment_look(int folder, struct environment *ret)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_DIR DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct environment found = {0};
	const struct dirent *entry;
	struct stat st;

	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (belongs(name) || fstatat(folder, name, &st, 0) < 0)
			continue;
		if (S_ISDIR(st.st_mode) || image_named(name, strlen(name)) != IMAGE_UNKNOWN)
			count_name(name, &found.images, found.image);
		else
			count_name(name, &found.others, found.other);
	}
	*ret = found;
	return 0;
}
