#include "tests/model/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_all(int fd, char **ret, size_t *ret_len)
{
	char *text = NULL, *more;
	size_t len = 0;
	ssize_t n;

	do {
		more = realloc(text, len + 65537);
		n = more ? read(fd, more + len, 65536) : -1;
		if (more)
			text = more;
		if (n < 0) {
			free(text);
			return more ? -errno : -ENOMEM;
		}
		len += (size_t)n;
	} while (n > 0);
	text[len] = '\0';
	*ret = text;
	*ret_len = len;
	return 0;
}

static size_t count_paths(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t at = 0; at < len; at++)
		count += text[at] == '\0';
	return count;
}

int path_list_read(int fd, struct path_list *ret)
{
	struct path_list list = {0};
	size_t len = 0, at = 0;
	int r = read_all(fd, &list.text, &len);

	if (r < 0)
		return r;
	list.count = count_paths(list.text, len);
	list.paths = calloc(list.count + 1, sizeof(*list.paths));
	if (!list.paths || list.count == 0) {
		r = list.paths ? -EINVAL : -ENOMEM;
		path_list_release(&list);
		return r;
	}
	for (size_t i = 0; i < list.count; i++) {
		list.paths[i] = list.text + at;
		at += strlen(list.paths[i]) + 1;
	}
	*ret = list;
	return 0;
}

void path_list_release(struct path_list *list)
{
	free(list->paths);
	free(list->text);
}

/* Nothing leads above the root of the tree. */
static const char *changed(const char *path, unsigned way)
{
	switch (way) {
	case 0:
	case 1:
		return "%s/missing";
	case 2:
		return "%s/";
	case 3:
		return "%s/.";
	case 4:
		return "%s.missing";
	case 5:
		return "./%s//";
	case 6:
		return strcmp(path, ".") == 0 ? "%s" : "%s/..";
	case 7:
		return "%s/%0255d";
	case 8:
		return "%s/%0256d";
	case 9:
		return "%s/%05000d";
	case 10:
		return "%s/\xff\n\x01";
	default:
		return "";
	}
}

#define WAYS 12

void path_make(const struct path_list *list, uint64_t chance, char ret[static PATH_ROOM])
{
	const char *path = list->paths[chance / 64 % list->count];
	unsigned way = chance % 64;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(ret, PATH_ROOM, way < WAYS ? changed(path, way) : "%s", path, 0);
#pragma GCC diagnostic pop
}

void path_make_fresh(const struct path_list *list, uint64_t chance, char ret[static PATH_ROOM])
{
	const char *path = list->paths[chance / 64 % list->count], *slash = strrchr(path, '/');

	if (chance % 2)
		path_make(list, chance / 2, ret);
	else
		snprintf(ret, PATH_ROOM, "%.*snew name", slash ? (int)(slash + 1 - path) : 0, path);
}
