#include "pack/tool/create/shape.h"

#include "base/scope.h"
#include "pack/image_kind.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/pictures.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PICTURE_PIXEL 4 /* bytes, of an image that PIL has decoded */

/* --- programs --------------------------------------------------------------------------------- */

struct shape {
	const struct create_options *options;
	struct pictures *pictures;
	struct coprocesses *filter; /* NULL: there is none */
	struct buf name;	    /* its, in messages */
	const char *argv[4];
};

int shape_new(const struct create_options *options, struct shape **ret)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned most = processors > 1 ? (unsigned)processors : 1;
	const char *command = options->program;
	struct shape *shape = calloc(1, sizeof(*shape));
	struct coprocess_params filter = {.way_out = "", .most = most};
	int r = shape ? pictures_new(most, &shape->pictures) : -ENOMEM;

	*ret = shape;
	signal(SIGPIPE, SIG_IGN); /* one that ends reads no more */
	if (r < 0)
		return r;
	shape->options = options;
	if (!command)
		return 0;
	memcpy(shape->argv, (const char *[]){"/bin/sh", "-c", command, NULL}, sizeof(shape->argv));
	r = buf_addf(&shape->name, "filter '%s'", command);
	filter.argv = shape->argv;
	filter.name = shape->name.data;
	return r < 0 ? r : coprocesses_new(&filter, &shape->filter);
}

void shape_free(struct shape *shape)
{
	if (!shape)
		return;
	pictures_free(shape->pictures);
	coprocesses_free(shape->filter);
	buf_release(&shape->name);
	free(shape);
}

static void fail_item(struct create_item *item, int error, const struct err *err)
{
	item->file.error = error;
	if (error != -ECHILD)
		return;
	free(item->left);
	item->left = strdup(err->text);
	if (!item->left)
		item->file.error = -ENOMEM;
}

/* --- what becomes of an item ------------------------------------------------------------------ */

void shape_inspect(struct create_item *item, const void *data, size_t len)
{
	if (len > 0)
		image_inspect(data, len, &item->image);
}

/* By its first bytes, as JPEG 2000, or its name, as HEIC. */
static bool is_of_other_kind(const struct create_item *item)
{
	const char *path = item->file.path.data;
	size_t len = strlen(path);

	return image_suffix((const uint8_t *)item->file.bytes.data, item->file.bytes.len) ||
	       (image_is_named(path, len) && image_named(path, len) == IMAGE_UNKNOWN);
}

void shape_leave(struct create_item *item, const char *why)
{
	if (item->image.kind == IMAGE_UNKNOWN && !is_of_other_kind(item))
		return;
	item->left = strdup(why);
	if (!item->left)
		item->file.error = -ENOMEM;
}

static void set_bad(struct create_item *item, const char *damage, const char *why)
{
	item->is_bad = true;
	check_found(&item->finding, damage, false, "%s", why);
}

/* Takes the bytes that are stored in place of its own. */
static void take_made(struct create_item *item, struct buf *made)
{
	buf_release(&item->file.bytes);
	item->file.bytes = *made;
	*made = BUF_INIT;
	item->is_made = true;
	shape_inspect(item, item->file.bytes.data, item->file.bytes.len);
}

/* --- the filter ------------------------------------------------------------------------------- */

static int take_filtered(const struct shape *shape, struct create_item *item, struct answer *answer,
			 struct err *err)
{
	const char *damage = check_damage(answer->word);

	if (strcmp(answer->word, "made") == 0)
		take_made(item, &answer->bytes);
	else if (damage)
		set_bad(item, damage, *answer->why ? answer->why : "the filter says so");
	else if (strcmp(answer->word, "kept") != 0)
		return err_set(
			err, -ECHILD,
			"filter '%s' answered '%s' for %s, which foldpack-images(7) does not "
			"define",
			shape->options->program, answer->word, item->file.path.data);
	else if (!transform_is_wanted(&shape->options->how))
		shape_leave(item, *answer->why ? answer->why : "kept by the filter");
	return 0;
}

/* What the program makes is the file from then on. */
static void filter_item(const struct shape *shape, struct create_item *item)
{
	SCOPE(answer_release) struct answer answer = {0};
	struct err err = {0};
	int r = coprocesses_ask(shape->filter, item->file.path.data, item->file.path.data,
				item->file.bytes.data, item->file.bytes.len, &answer, &err);

	if (r == 0)
		r = take_filtered(shape, item, &answer, &err);
	if (r == -EBADMSG)
		r = err_set(&err, -ECHILD, "%s: %s", item->file.path.data, err.text);
	if (r < 0)
		fail_item(item, r, &err);
}

/* --- the check -------------------------------------------------------------------------------- */

/* Asks PIL. What was found, and is usable if PIL reads the image, is what is wrong with it if PIL
 * does not. Where nothing was asked for, an image may be packed without PIL. */
static void ask_pil(const struct shape *shape, struct create_item *item)
{
	struct check_finding *finding = &item->finding, refused = {0};
	struct err err = {0};
	int r = pictures_check(shape->pictures, item->file.path.data, item->file.bytes.data,
			       item->file.bytes.len, &refused, &err);

	if (r == 0) {
		finding->usable = true;
	} else if (r == 1) {
		bool known = item->is_bad && !finding->usable;

		item->is_bad = true;
		if (!known || strcmp(refused.damage, DAMAGE_TOO_LARGE) == 0)
			*finding = refused;
	} else if (r == -ECHILD && create_is_lenient(shape->options)) {
		item->unsure = true;
	} else {
		fail_item(item, r, &err);
	}
}

static void check_bytes_of(const struct shape *shape, struct create_item *item)
{
	bool lenient = create_is_lenient(shape->options);
	enum check_level level = lenient ? CHECK_HEADER : (enum check_level)shape->options->check;
	int r = check_image(level, item->file.path.data, (const uint8_t *)item->file.bytes.data,
			    item->file.bytes.len, &item->finding);

	if (r < 0)
		item->file.error = r;
	item->is_bad = r == 1;
	if (r >= 0 && item->finding.unsure)
		ask_pil(shape, item);
	if (item->is_bad && lenient)
		item->finding.usable |= item->finding.named_only;
}

/* --- transforms ------------------------------------------------------------------------------- */

/* A PNG or WebP, by PIL. As transform_image(); 2: it is bad, and item->finding says why; or
 * what is for fail_item(). */
static int transform_by_pil(const struct shape *shape, struct create_item *item, struct buf *made,
			    struct err *err)
{
	SCOPE(answer_release) struct answer answer = {0};
	const struct transform *how = &shape->options->how;
	const struct dataset_image *image = &item->image;
	uint32_t width = image->width, height = image->height;
	int r;

	if (width == 0)
		return err_set(err, -EBADMSG, "no sound header");
	transform_size(how, &width, &height);
	if (width == image->width && height == image->height && how->store == STORE_KEEP)
		return 1;
	r = transform_check_memory(image->width, image->height, 1, PICTURE_PIXEL, err);
	if (r == 0)
		r = pictures_make(shape->pictures, item->file.path.data, item->file.bytes.data,
				  item->file.bytes.len, how, width, height, &answer, &item->finding,
				  err);
	if (r == 0) {
		*made = answer.bytes;
		answer.bytes = BUF_INIT;
		item->is_mask = strcmp(answer.word, "mask") == 0;
	} else if (r == 1 && *answer.why) {
		err_set(err, 1, "%s", answer.why);
	}
	return r;
}

static void transform_item(const struct shape *shape, struct create_item *item)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	enum format_image kind = item->image.kind;
	bool by_pil = kind == IMAGE_PNG || kind == IMAGE_WEBP;
	struct err err = {0};
	int r = by_pil ? transform_by_pil(shape, item, &made, &err)
		       : transform_image(&shape->options->how,
					 (const uint8_t *)item->file.bytes.data,
					 item->file.bytes.len, &made, &err);

	switch (r) {
	case 0:
		take_made(item, &made);
		break;
	case 1:
		shape_leave(item, err.text[0]			 ? err.text
				  : by_pil || kind == IMAGE_JPEG ? "small enough already"
				  : kind == IMAGE_UNKNOWN	 ? "of a kind that is not decoded"
								 : image_kind_name(kind));
		break;
	case 2:
		item->is_bad = true;
		break;
	case -EFBIG:
		set_bad(item, DAMAGE_TOO_LARGE, err_text(&err, r));
		break;
	case -EBADMSG:
		set_bad(item, DAMAGE_CORRUPT, err_text(&err, r));
		break;
	default:
		fail_item(item, r, &err);
	}
}

uint64_t shape_decoded_size(const struct shape *shape, const struct create_item *item)
{
	struct dataset_image image = item->image;
	bool transforms = shape->options->transforms &&
			  create_may_touch(shape->options, item->file.path.data);

	if ((transforms && (image.kind == IMAGE_PNG || image.kind == IMAGE_WEBP)) ||
	    (shape->options->check == CHECK_DECODE && image.kind != IMAGE_JPEG))
		return (uint64_t)image.width * image.height * PICTURE_PIXEL;
	if (!transforms || !transform_decodes(&shape->options->how) || image.kind != IMAGE_JPEG)
		return 0;
	transform_size(&shape->options->how, &image.width, &image.height);
	return (uint64_t)image.width * image.height * 3;
}

/* --- all of it -------------------------------------------------------------------------------- */

void shape_item(const struct shape *shape, struct create_item *item)
{
	const char *path = item->file.path.data;
	bool touched = create_may_touch(shape->options, path), damaged;

	if (shape->options->program && touched &&
	    (item->image.kind != IMAGE_UNKNOWN || is_of_other_kind(item) ||
	     image_is_named(path, strlen(path))))
		filter_item(shape, item);
	if (!item->file.error && !item->is_bad)
		check_bytes_of(shape, item);
	damaged = item->file.error || (item->is_bad && !item->finding.usable);
	if (shape->options->transforms && damaged && !item->file.error)
		shape_leave(item, "damaged");
	else if (shape->options->transforms && !damaged && !touched)
		shape_leave(item, "not matched by --transform");
	else if (transform_is_wanted(&shape->options->how) && !damaged)
		transform_item(shape, item);
}
