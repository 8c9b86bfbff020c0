#include "pack/path.h"
#include <string.h>

/* Filled from the end: one climb to the root gives the length, a second one the bytes. */
int path_add(struct buf *path, uint32_t entry,
	     struct path_part (*part)(const void *tree, uint32_t entry), const void *tree)
{
	size_t total = 0;
	char *at;
	int r;

	for (uint32_t e = entry; e; e = part(tree, e).parent)
		total += part(tree, e).len + 1;
	r = buf_reserve(path, total + 1);
	if (r < 0)
		return r;
	path->len += total ? total - 1 : 0;
	at = path->data + path->len;
	*at = '\0';
	while (entry) {
		const struct path_part p = part(tree, entry);

		at -= p.len;
		memcpy(at, p.name, p.len);
		if (p.parent)
			*--at = '/';
		entry = p.parent;
	}
	return 0;
}
