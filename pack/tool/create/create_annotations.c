#include "pack/tool/create/create_annotations.h"

#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/image_kind.h"
#include "pack/tool/create/create_images.h"
#include "pack/tool/create/create_messages.h"
#include <fcntl.h>
#include <string.h>

#define PART	   MIB
#define AHEAD	   1000 /* files, evenly spread: all others are looked into as they are packed */
#define AHEAD_FILE (64 * MIB) /* of one */
#define AHEAD_ALL  (256 * MIB)

int create_refuse_annotations(struct create *create, const char *path,
			      const struct annotations *found, uint64_t others)
{
	char images[SIZE_TEXT], files[SIZE_TEXT], more[2 * SIZE_TEXT] = "";

	if (others)
		snprintf(more, sizeof(more), ", and so it is with %s",
			 count_noun(others, "other file", files));
	create_log(create, log_error, path,
		   "boxes or points in it would no longer fit %s%s; --anyway resizes all the same",
		   count_noun(found->images, "image", images), more);
	return CREATE_REFUSED;
}

/* --- names of images -------------------------------------------------------------------------- */

int create_list_images(struct create *create, const struct builder *entries, uint64_t count)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[FORMAT_NAME_MAX + 1];
	enum format_image kind;
	int r = 0;

	if (create->options.anyway || (!create->options.resize && !create->options.max_side))
		return 0;
	photo_names_release(&create->own_images);
	for (uint32_t id = 1; r == 0 && id < count; id++) {
		if (builder_kind(entries, id) == FORMAT_DIRECTORY)
			continue;
		builder_name(entries, id, name);
		kind = image_named(name, strlen(name));
		/* Other kinds are not resized. */
		if (kind != IMAGE_JPEG && kind != IMAGE_PNG && kind != IMAGE_WEBP)
			continue;
		if (create->options.touch.count)
			r = builder_path(entries, id, &path);
		if (r == 0 && (!create->options.touch.count || create_may_touch(create, path.data)))
			r = photo_names_add(&create->own_images, name);
	}
	create->images = create->own_images.count ? &create->own_images : NULL;
	return r;
}

/* --- files ------------------------------------------------------------------------------------ */

static void release_scan(struct annotations_scan **scan)
{
	annotations_free(*scan);
}

static int feed_scan(void *scan, const void *data, size_t len)
{
	return annotations_feed(scan, data, len);
}

int create_look_for_places(struct create *create, struct item *item)
{
	SCOPE(release_scan) struct annotations_scan *scan = NULL;
	int r = annotations_begin(create->images, item->path.data, &scan);

	if (r == 0)
		r = item_is_large(item) ? create_read_large(create, item, feed_scan, scan)
					: annotations_feed(scan, item->bytes.data, item->bytes.len);
	if (r == 0)
		r = annotations_end(scan, &item->annotations);
	return r == -ENOMEM || r == -EINTR ? r : 0;
}

/* --- ahead ------------------------------------------------------------------------------------ */

/* 1: found, 0: harmless, or it cannot be read; -ENOMEM. */
static int look_into(const struct create *create, const char *path, char *part, uint64_t *most,
		     struct annotations *ret)
{
	SCOPE(release_scan) struct annotations_scan *scan = NULL;
	int follow = create->options.dereference ? 0 : O_NOFOLLOW;
	SCOPE_CLOSE int fd = openat(create->root, path, O_RDONLY | follow | O_NONBLOCK | O_CLOEXEC);
	uint64_t left = min(*most, AHEAD_FILE);
	int r = fd < 0 ? 1 : annotations_begin(create->images, path, &scan);

	while (r == 0 && left) {
		ssize_t n = io_read(fd, part, min(left, PART));

		if (n <= 0)
			break;
		r = annotations_feed(scan, part, (size_t)n);
		left -= (size_t)n;
		*most -= (size_t)n;
	}
	if (r == 0)
		return annotations_end(scan, ret);
	return r < 0 ? r : 0;
}

static bool is_other_file(const struct builder *entries, uint32_t id)
{
	char name[FORMAT_NAME_MAX + 1];

	if (!format_is_file(builder_kind(entries, id)))
		return false;
	builder_name(entries, id, name);
	return !image_is_named(name, strlen(name));
}

int create_look_ahead(struct create *create, const struct builder *entries, uint64_t count)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT;
	SCOPE_FREE char *part = malloc(PART);
	struct annotations found, all = {0};
	uint64_t others = 0, seen = 0, files = 0, most = AHEAD_ALL;
	int r = part ? 0 : -ENOMEM;

	if (r == 0)
		r = create_list_images(create, entries, count);
	if (r < 0 || !create->images)
		return r;
	for (uint32_t id = 1; id < count; id++)
		others += is_other_file(entries, id);
	for (uint32_t id = 1; r >= 0 && id < count && most; id++) {
		if (!is_other_file(entries, id) || seen++ % (others / AHEAD + 1))
			continue;
		r = builder_path(entries, id, &path);
		if (r == 0)
			r = look_into(create, path.data, part, &most, &found);
		if (r == 1 && files++ == 0) {
			all = found;
			r = buf_adds(&first, path.data);
		}
	}
	if (r < 0 || files == 0)
		return r < 0 ? r : 0;
	return create_refuse_annotations(create, first.data, &all, files - 1);
}
