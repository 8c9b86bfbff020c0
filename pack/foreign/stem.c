#include "pack/foreign/stem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define STEM_MAX 200 /* of 255 that a name may have */

/* Without a suffix of letters, as ".tfrecord", but with one as ".tfrecord-00003-of-01024". */
static size_t stem_of(const char *base, size_t len)
{
	size_t at = len;

	while (at > 0 && isalpha((unsigned char)base[at - 1]))
		at--;
	return at > 1 && at < len && base[at - 1] == '.' ? at - 1 : len;
}

int foreign_prefix_by_file(struct foreign_source *source, struct foreign_tree *tree)
{
	const char *slash = strrchr(source->path, '/');
	const char *base = slash ? slash + 1 : source->path;
	size_t len = stem_of(base, strlen(base));
	char prefix[STEM_MAX + 2];

	if (len > STEM_MAX) {
		base += len - STEM_MAX;
		len = STEM_MAX;
	}
	snprintf(prefix, sizeof(prefix), "%.*s-", (int)len, base);
	return len ? foreign_tree_prefix(tree, prefix) : 0;
}
