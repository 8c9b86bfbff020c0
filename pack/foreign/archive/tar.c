/* A tar: a folder (pack/foreign/archive/tar_tree.h), or samples of WebDataset
 * (pack/foreign/archive/webdataset.h), read in place. */
#include "base/scope.h"
#include "pack/foreign/archive/tar_members.h"
#include "pack/foreign/archive/tar_tree.h"
#include "pack/foreign/archive/webdataset.h"
#include "pack/foreign/format.h"
#include <string.h>

/* --- samples ---------------------------------------------------------------------------------- */

static int read_sample_member(void *context, const struct archive_member *member, size_t len,
			      const uint8_t **ret, struct err *err)
{
	return foreign_get(context, member->offset, len, ret, err);
}

/* The first member of the next sample ends the one in hand. */
static int take_sample_member(struct webdataset *w, const struct archive_member *member,
			      struct err *err)
{
	int r = webdataset_take(w, member, err);

	if (r != WEBDATASET_NEXT)
		return r;
	r = webdataset_end(w, err);
	return r < 0 ? r : webdataset_take(w, member, err);
}

static int scan_samples(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(archive_places_release) struct archive_places places = {0};
	SCOPE(webdataset_release)
	struct webdataset w = {.tree = tree,
			       .places = &places,
			       .read = read_sample_member,
			       .context = source,
			       .label = FOREIGN_NO_LABEL};
	struct archive_member member;
	int r;

	while ((r = tar_members_next(&members, &member, err)) == 0) {
		r = take_sample_member(&w, &member, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		r = archive_broken(source->settings, r, err);
	if (r >= 0)
		r = webdataset_end(&w, err);
	if (r == 0)
		r = webdataset_note(&w);
	return r < 0 ? r : tar_note_behind(tree, members.behind);
}

/* Whether the first sample has a class: 1, 0, or as tar_members_next(). */
static int have_classes(struct foreign_source *source, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(webdataset_release) struct webdataset w = {0};
	struct archive_member member;
	int r = 0, seen = 0;

	while (seen == 0 && (r = tar_members_next(&members, &member, err)) == 0)
		seen = webdataset_look(&w, &member);
	if (seen == 0)
		return r < 0 && r != -EBADMSG ? r : 0;
	return seen < 0 ? seen : seen == WEBDATASET_CLASS;
}

/* --- any -------------------------------------------------------------------------------------- */

static int probe_tar(struct foreign_source *source)
{
	static const uint8_t end[2 * TAR_BLOCK];
	struct foreign_text name = {source->shown, strlen(source->shown)};
	const uint8_t *block;
	size_t len;
	int r = foreign_peek(source, 0, sizeof(end), &block, &len);

	if (r < 0 || len < TAR_BLOCK)
		return r < 0 ? r : 0;
	if (len == sizeof(end) && memcmp(block, end, len) == 0) /* one without members */
		return source->size % TAR_BLOCK == 0 && foreign_text_cut(&name, ".tar");
	return tar_header_sound(block);
}

static int scan_tar(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	int layout = source->settings->layout, r = layout == FOREIGN_CLASSES;

	if (layout == FOREIGN_AUTO)
		r = have_classes(source, err);
	if (r < 0)
		return r;
	return r ? scan_samples(source, tree, err) : tar_tree_scan(source, tree, err);
}

const struct foreign_format tar_format = {
	.name = "tar",
	.archive = true,
	.probe = probe_tar,
	.scan = scan_tar,
};
