#include "pack/tool/create/places.h"

#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/image_kind.h"
#include <fcntl.h>
#include <string.h>

#define PART	   MIB
#define AHEAD	   1000 /* files, evenly spread: all others are looked into as they are packed */
#define AHEAD_FILE (64 * MIB) /* of one */
#define AHEAD_ALL  (256 * MIB)

int places_refuse(struct report *report, const char *path, const struct annotations *found,
		  uint64_t others)
{
	char images[SIZE_TEXT], files[SIZE_TEXT], more[2 * SIZE_TEXT] = "";

	if (others)
		snprintf(more, sizeof(more), ", and so it is with %s",
			 count_noun(others, "other file", files));
	report_log(report, log_error, path,
		   "boxes or points in it would no longer fit %s%s; --anyway resizes all the same",
		   count_noun(found->images, "image", images), more);
	return CREATE_REFUSED;
}

/* --- names of images -------------------------------------------------------------------------- */

int places_begin(struct photo_names *images, const struct create_options *options,
		 const struct builder *entries)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[FORMAT_NAME_MAX + 1];
	enum format_image kind;
	int r = 0;

	if (options->anyway || (!options->resize && !options->max_side))
		return 0;
	for (uint32_t id = 1; r == 0 && id < builder_entries(entries); id++) {
		if (builder_kind(entries, id) == FORMAT_DIRECTORY)
			continue;
		builder_name(entries, id, name);
		kind = image_named(name, strlen(name));
		/* Other kinds are not resized. */
		if (kind != IMAGE_JPEG && kind != IMAGE_PNG && kind != IMAGE_WEBP)
			continue;
		if (options->touch.count)
			r = builder_path(entries, id, &path);
		if (r == 0 && (!options->touch.count || create_may_touch(options, path.data)))
			r = photo_names_add(images, name);
	}
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

int places_look(const struct photo_names *images, struct import *import, struct create_item *item)
{
	SCOPE(release_scan) struct annotations_scan *scan = NULL;
	struct item *file = &item->file;
	int r = annotations_begin(images, file->path.data, &scan);

	if (r == 0)
		r = item_is_large(file) ? import_read_large(import, file, feed_scan, scan)
					: annotations_feed(scan, file->bytes.data, file->bytes.len);
	if (r == 0)
		r = annotations_end(scan, &item->annotations);
	return r == -ENOMEM || r == -EINTR ? r : 0;
}

/* --- ahead ------------------------------------------------------------------------------------ */

/* 1: found, 0: harmless, or it cannot be read, as fd < 0; -ENOMEM. */
static int look_into(const struct photo_names *images, int fd, const char *path, char *part,
		     uint64_t *most, struct annotations *ret)
{
	SCOPE(release_scan) struct annotations_scan *scan = NULL;
	uint64_t left = min(*most, AHEAD_FILE);
	int r = fd < 0 ? 1 : annotations_begin(images, path, &scan);

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

int places_look_ahead(const struct photo_names *images, struct report *report, int root,
		      const struct builder *entries)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT;
	SCOPE_FREE char *part = malloc(PART);
	struct annotations found, all = {0};
	uint64_t others = 0, seen = 0, files = 0, most = AHEAD_ALL;
	int flags =
		O_RDONLY | O_NONBLOCK | O_CLOEXEC | (report->options->dereference ? 0 : O_NOFOLLOW);
	int r = part ? 0 : -ENOMEM;

	if (r < 0 || images->count == 0)
		return r;
	for (uint32_t id = 1; id < builder_entries(entries); id++)
		others += is_other_file(entries, id);
	for (uint32_t id = 1; r >= 0 && id < builder_entries(entries) && most; id++) {
		if (!is_other_file(entries, id) || seen++ % (others / AHEAD + 1))
			continue;
		r = builder_path(entries, id, &path);
		if (r == 0) {
			SCOPE_CLOSE int fd = openat(root, path.data, flags);

			r = look_into(images, fd, path.data, part, &most, &found);
		}
		if (r == 1 && files++ == 0) {
			all = found;
			r = buf_adds(&first, path.data);
		}
	}
	if (r < 0 || files == 0)
		return r < 0 ? r : 0;
	return places_refuse(report, first.data, &all, files - 1);
}
