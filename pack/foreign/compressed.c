/* What is compressed as a whole has no image in it that could be read in place: it is known, so
 * that the way out can be told. */
#include "pack/foreign/compressed.h"
#include "pack/foreign/format.h"
#include <string.h>

const char *compression_of(const void *head, size_t len)
{
	static const struct {
		const char *name, *bytes;
	} magics[] = {{"gzip", "\x1f\x8b"},
		      {"zstd", "\x28\xb5\x2f\xfd"},
		      {"xz",
		       "\xfd"
		       "7zXZ"},
		      {"bzip2", "BZh"},
		      {"lz4", "\x04\x22\x4d\x18"}};

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		size_t magic = strlen(magics[i].bytes);

		if (len >= magic && memcmp(head, magics[i].bytes, magic) == 0)
			return magics[i].name;
	}
	return NULL;
}

size_t compression_stem(const char *path)
{
	static const char *const suffixes[] = {".gz", ".zst", ".xz", ".bz2", ".lz4", NULL};
	const char *dot = strrchr(path, '.');

	for (const char *const *suffix = suffixes; dot && *suffix; suffix++)
		if (strcasecmp(dot, *suffix) == 0)
			return (size_t)(dot - path);
	return strlen(path);
}

static int find_compression(struct foreign_source *source, const char **ret)
{
	const uint8_t *head = NULL;
	size_t len;
	int r = foreign_peek(source, 0, COMPRESSION_HEAD, &head, &len);

	if (r == 0)
		*ret = compression_of(head, len);
	return r;
}

static int probe_compressed(struct foreign_source *source)
{
	const char *name = NULL;
	int r = find_compression(source, &name);

	return r < 0 ? r : name != NULL;
}

static int scan_compressed(struct foreign_source *source, struct foreign_tree *tree,
			   struct err *err)
{
	const char *name = NULL;
	int r = find_compression(source, &name);

	(void)tree;
	if (r < 0)
		return r;
	name = name ? name : "nothing that is known";
	if (source->decompressed)
		return err_set(err, -EOPNOTSUPP, "compressed twice, then with %s: decompress it",
			       name);
	return err_set(err, -EOPNOTSUPP,
		       "compressed with %s, so that there is nothing to read in place: decompress "
		       "it, or let 'foldpack create' make a pack of it",
		       name);
}

const struct foreign_format compressed_format = {
	.probe = probe_compressed,
	.scan = scan_compressed,
};
