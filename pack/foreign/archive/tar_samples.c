#include "pack/foreign/archive/tar_samples.h"
#include "base/scope.h"
#include "pack/foreign/archive/tar_members.h"
#include "pack/foreign/archive/webdataset.h"

static int read_member(void *context, const struct tar_member *member, size_t len,
		       const uint8_t **ret, struct err *err)
{
	return foreign_get(context, member->offset, len, ret, err);
}

/* The first member of the next sample ends the one in hand. */
static int take_sample_member(struct webdataset *w, const struct tar_member *member,
			      struct err *err)
{
	int r = webdataset_take(w, member, err);

	if (r != WEBDATASET_NEXT)
		return r;
	r = webdataset_end(w, err);
	return r < 0 ? r : webdataset_take(w, member, err);
}

int tar_samples_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(webdataset_release)
	struct webdataset w = {
		.tree = tree, .read = read_member, .context = source, .label = FOREIGN_NO_LABEL};
	struct tar_member member;
	int r;

	while ((r = tar_members_next(&members, &member, err)) == 0) {
		r = take_sample_member(&w, &member, err);
		if (r < 0)
			return r;
	}
	if (r == 1)
		r = webdataset_end(&w, err);
	return r < 0 ? r : webdataset_note(&w);
}

int tar_samples_have_classes(struct foreign_source *source, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(webdataset_release) struct webdataset w = {0};
	struct tar_member member;
	int r = 0, seen = 0;

	while (seen == 0 && (r = tar_members_next(&members, &member, err)) == 0)
		seen = webdataset_look(&w, &member);
	if (seen == 0)
		return r < 0 ? r : 0;
	return seen < 0 ? seen : seen == WEBDATASET_CLASS;
}
