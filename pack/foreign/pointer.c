/* A checkout without its large files has a text in place of each, which says where the bytes are.
 * It is known, so that the way out can be told. */
#include "pack/foreign/format.h"
#include <string.h>

#define POINTER_HEAD 64

static const struct kind {
	const char *begins, *is, *way_out;
} kinds[] = {
	{"version https://git-lfs.github.com/spec/", "Git LFS", "git lfs pull"},
	{"version https://hawser.github.com/spec/", "Git LFS", "git lfs pull"},
	{"/annex/objects/", "git-annex", "git annex get"},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Sets *ret to NULL where it is none. */
static int find_kind(struct foreign_source *source, const struct kind **ret)
{
	const uint8_t *head = NULL;
	size_t len;
	int r = foreign_peek(source, 0, POINTER_HEAD, &head, &len);

	*ret = NULL;
	for (size_t i = 0; r == 0 && !*ret && i < KINDS; i++) {
		size_t begins = strlen(kinds[i].begins);

		if (len >= begins && memcmp(head, kinds[i].begins, begins) == 0)
			*ret = &kinds[i];
	}
	return r;
}

static int probe_pointer(struct foreign_source *source)
{
	const struct kind *kind;
	int r = find_kind(source, &kind);

	return r < 0 ? r : kind != NULL;
}

static int scan_pointer(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	const struct kind *kind;
	int r = find_kind(source, &kind);

	(void)tree;
	if (r < 0 || !kind)
		return r < 0 ? r : -EINVAL;
	return err_set(err, -EOPNOTSUPP,
		       "a pointer of %s, not the file itself: '%s' in its folder fetches that",
		       kind->is, kind->way_out);
}

const struct foreign_format pointer_format = {
	.probe = probe_pointer,
	.scan = scan_pointer,
};
