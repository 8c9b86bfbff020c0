/* What is compressed as a whole has no image in it that could be read in place: it is known, so
 * that the way out can be told. */
#include "pack/foreign/format.h"
#include <string.h>

#define HEAD 6 /* bytes that are looked at */

static const struct {
	const char *name, *bytes;
} magics[] = {
	{"gzip", "\x1f\x8b"},
	{"zstd", "\x28\xb5\x2f\xfd"},
	{"xz",
	 "\xfd"
	 "7zXZ"},
	{"bzip2", "BZh"},
	{"lz4", "\x04\x22\x4d\x18"},
	{NULL, NULL},
};

/* NULL: none of these. */
static int find_magic(struct foreign_source *source, const char **ret)
{
	const uint8_t *head = NULL;
	size_t len, i = 0;
	int r = foreign_peek(source, 0, HEAD, &head, &len);

	if (r < 0)
		return r;
	while (magics[i].name && (len < strlen(magics[i].bytes) ||
				  memcmp(head, magics[i].bytes, strlen(magics[i].bytes)) != 0))
		i++;
	*ret = magics[i].name;
	return 0;
}

static int probe_compressed(struct foreign_source *source)
{
	const char *name = NULL;
	int r = find_magic(source, &name);

	return r < 0 ? r : name != NULL;
}

static int scan_compressed(struct foreign_source *source, struct foreign_tree *tree,
			   struct err *err)
{
	const char *name = NULL;
	int r = find_magic(source, &name);

	(void)tree;
	if (r < 0)
		return r;
	return err_set(err, -EOPNOTSUPP,
		       "compressed with %s, so that there is nothing to read in place: decompress "
		       "it, or, of a tar, let 'foldpack create' make a pack of it",
		       name ? name : "nothing that is known");
}

const struct foreign_format compressed_format = {
	.name = "compressed",
	.about = "gzip, zstd, xz, bzip2, lz4: refused with the way out",
	.probe = probe_compressed,
	.scan = scan_compressed,
};
