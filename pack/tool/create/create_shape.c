/* What becomes of the bytes of a file before they are stored: looked at, made smaller where that
 * was asked for. In the pipeline's threads, but for what looks for labels. */
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/labels.h"
#include <fcntl.h>
#include <string.h>

static void check(const struct create *create, struct item *item)
{
	int r = check_image(create->check, item->path.data, (const uint8_t *)item->bytes.data,
			    item->bytes.len, &item->finding);

	if (r < 0)
		item->error = r;
	item->is_bad = r == 1;
}

/* --- transforms --------------------------------------------------------------------------- */

static bool may_touch(const struct create *create, const char *path)
{
	const struct opt_list *globs = create->touch;

	for (size_t i = 0; i < globs->count; i++)
		if (filter_match(globs->items[i], path))
			return true;
	return globs->count == 0;
}

/* What cannot be transformed is damaged, or too large for anybody. */
static void found(struct item *item, int error, const struct err *err)
{
	const char *damage = error == -EFBIG ? DAMAGE_TOO_LARGE : DAMAGE_CORRUPT;

	item->is_bad = true;
	check_found(&item->finding, damage, false, "%s", err_text(err, error));
}

static void take(struct item *item, struct buf *made)
{
	size_t head = made->len < IMAGE_HEAD ? made->len : IMAGE_HEAD;

	buf_release(&item->bytes);
	item->bytes = *made;
	*made = BUF_INIT;
	item->is_made = true;
	image_inspect((const uint8_t *)item->bytes.data, head, &item->image);
}

static void transform(const struct create *create, struct item *item)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	struct err err = {0};
	int r = transform_image(&create->how, (const uint8_t *)item->bytes.data, item->bytes.len,
				&made, &err);

	if (r == 0)
		take(item, &made);
	else if (r == -ENOMEM)
		item->error = r;
	else if (r < 0)
		found(item, r, &err);
}

void create_shape(const struct create *create, struct item *item)
{
	bool damaged;

	check(create, item);
	damaged = item->error || (item->is_bad && !item->finding.usable);
	if (create->transforms && !damaged && may_touch(create, item->path.data))
		transform(create, item);
	if (create->labels_refused && labels_may_be(item->path.data))
		item->labels = labels_look(item->path.data, (const uint8_t *)item->bytes.data,
					   item->bytes.len);
}

/* --- labels ------------------------------------------------------------------------------- */

#define LABELS_LOOKED_AT 1000 /* of millions of files with such names the first tell */

int create_refuse_labels(struct create *create, const char *path, enum labels_kind kind)
{
	progress_clear(&create->progress);
	log_error("%s/%s: %s: boxes would no longer fit the images; --force resizes all the same",
		  create->source, path, labels_name(kind));
	return CREATE_REFUSED;
}

static enum labels_kind look_at(int root, const char *path, char *head)
{
	SCOPE_CLOSE int fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : io_read(fd, head, LABELS_HEAD);

	return n > 0 ? labels_look(path, (const uint8_t *)head, (size_t)n) : LABELS_NONE;
}

int create_find_labels(struct create *create, int root)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE_FREE char *head = malloc(LABELS_HEAD);
	unsigned looked = 0;
	int r = head ? 0 : -ENOMEM;

	for (uint64_t id = 1; r == 0 && id < create->import->entries; id++) {
		enum labels_kind kind;

		r = builder_path(create->builder, (uint32_t)id, &path);
		if (r < 0 || !labels_may_be(path.data))
			continue;
		kind = look_at(root, path.data, head);
		if (kind != LABELS_NONE)
			return create_refuse_labels(create, path.data, kind);
		if (++looked == LABELS_LOOKED_AT)
			break;
	}
	return r;
}
