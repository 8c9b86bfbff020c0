#include "pack/tool/create/create_images.h"

#include "base/scope.h"
#include "pack/image_kind.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_inputs.h"
#include "pack/tool/create/create_programs.h"
#include "pack/tool/image/image.h"
#include <errno.h>
#include <string.h>

static void check_bytes_of(const struct create *create, struct item *item)
{
	enum check_level level =
		create_is_lenient(create) ? CHECK_HEADER : (enum check_level)create->options.check;
	int r = check_image(level, item->path.data, (const uint8_t *)item->bytes.data,
			    item->bytes.len, &item->finding);

	if (r < 0)
		item->error = r;
	item->is_bad = r == 1;
	if (r >= 0 && item->finding.unsure)
		programs_check(create, item);
	if (item->is_bad && create_is_lenient(create))
		item->finding.usable |= item->finding.named_only;
}

bool create_may_touch(const struct create *create, const char *path)
{
	const struct opt_list *globs = &create->options.touch;

	return globs->count == 0 || filter_matches(globs, path);
}

void create_inspect(struct item *item, const void *data, size_t len)
{
	if (len > 0)
		image_inspect(data, len, &item->image);
}

void item_take_made(struct item *item, struct buf *made)
{
	buf_release(&item->bytes);
	item->bytes = *made;
	*made = BUF_INIT;
	item->is_made = true;
	create_inspect(item, item->bytes.data, item->bytes.len);
}

/* By its first bytes, as JPEG 2000, or its name, as HEIC. */
static bool is_of_other_kind(const struct item *item)
{
	const char *path = item->path.data;
	size_t len = strlen(path);

	return image_suffix((const uint8_t *)item->bytes.data, item->bytes.len) ||
	       (image_is_named(path, len) && image_named(path, len) == IMAGE_UNKNOWN);
}

void item_set_bad(struct item *item, const char *damage, const char *why)
{
	item->is_bad = true;
	check_found(&item->finding, damage, false, "%s", why);
}

void create_leave(struct item *item, const char *why)
{
	if (item->image.kind == IMAGE_UNKNOWN && !is_of_other_kind(item))
		return;
	item->left = strdup(why);
	if (!item->left)
		item->error = -ENOMEM;
}

/* Why one stays that transform_image() leaves without a word. */
static const char *why_left(enum format_image kind)
{
	switch (kind) {
	case IMAGE_JPEG:
	case IMAGE_PNG:
	case IMAGE_WEBP:
		return "small enough already";
	case IMAGE_UNKNOWN:
		return "of a kind that is not decoded";
	default:
		return image_kind_name(kind);
	}
}

static void transform_item(const struct create *create, struct item *item)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	enum format_image kind = item->image.kind;
	struct err err = {0};
	int r;

	if (kind == IMAGE_PNG || kind == IMAGE_WEBP)
		r = programs_make(create, item, &made, &err);
	else
		r = transform_image(&create->how, (const uint8_t *)item->bytes.data,
				    item->bytes.len, &made, &err);
	switch (r) {
	case 0:
		item_take_made(item, &made);
		break;
	case 1:
		create_leave(item, err.text[0] ? err.text : why_left(kind));
		break;
	case 2:
		item->is_bad = true;
		break;
	case -EFBIG:
		item_set_bad(item, DAMAGE_TOO_LARGE, err_text(&err, r));
		break;
	case -EBADMSG:
		item_set_bad(item, DAMAGE_CORRUPT, err_text(&err, r));
		break;
	default:
		programs_left(item, r, &err);
	}
}

static bool is_filtered(const struct create *create, const struct item *item)
{
	const char *path = item->path.data;

	return create->options.program && create_may_touch(create, path) &&
	       (item->image.kind != IMAGE_UNKNOWN || is_of_other_kind(item) ||
		image_is_named(path, strlen(path)));
}

void create_shape(const struct create *create, struct item *item)
{
	bool damaged;

	if (is_filtered(create, item))
		programs_filter(create, item);
	if (!item->error && !item->is_bad)
		check_bytes_of(create, item);
	damaged = item->error || (item->is_bad && !item->finding.usable);
	if (create->transforms && damaged && !item->error)
		create_leave(item, "damaged");
	else if (create->transforms && !damaged && !create_may_touch(create, item->path.data))
		create_leave(item, "not matched by --transform");
	else if (transform_is_wanted(&create->how) && !damaged)
		transform_item(create, item);
	if (create->images && item->image.kind == IMAGE_UNKNOWN && !item->error)
		create_look_for_places(create, item);
}

uint64_t create_decoded_size(const struct create *create, const struct item *item)
{
	struct dataset_image image = item->image;
	bool transforms = create->transforms && create_may_touch(create, item->path.data);

	if ((transforms && (image.kind == IMAGE_PNG || image.kind == IMAGE_WEBP)) ||
	    (create->options.check == CHECK_DECODE && image.kind != IMAGE_JPEG))
		return (uint64_t)image.width * image.height * PICTURE_PIXEL;
	if (!transforms || !transform_decodes(&create->how) || image.kind != IMAGE_JPEG)
		return 0;
	transform_size(&create->how, &image.width, &image.height);
	return (uint64_t)image.width * image.height * 3;
}
