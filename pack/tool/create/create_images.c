#include "pack/tool/create/create_images.h"

#include "base/scope.h"
#include "pack/image_kind.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_messages.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/pictures.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PICTURE_PIXEL 4 /* bytes, of an image that PIL has decoded */

/* --- programs --------------------------------------------------------------------------------- */

struct programs {
	struct pictures *pictures;
	struct coprocesses *filter; /* NULL: there is none */
	struct buf name;	    /* its, in messages */
	const char *argv[4];
};

int create_begin_programs(struct create *create)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned most = processors > 1 ? (unsigned)processors : 1;
	const char *command = create->options.program;
	struct programs *programs = calloc(1, sizeof(*programs));
	struct coprocess_params filter = {.way_out = "", .most = most};
	int r = programs ? pictures_new(most, &programs->pictures) : -ENOMEM;

	create->programs = programs;
	signal(SIGPIPE, SIG_IGN); /* one that ends reads no more */
	if (r < 0 || !command)
		return r;
	memcpy(programs->argv, (const char *[]){"/bin/sh", "-c", command, NULL},
	       sizeof(programs->argv));
	r = buf_addf(&programs->name, "filter '%s'", command);
	filter.argv = programs->argv;
	filter.name = programs->name.data;
	return r < 0 ? r : coprocesses_new(&filter, &programs->filter);
}

void create_end_programs(struct create *create)
{
	struct programs *programs = steal_ptr(&create->programs);

	if (!programs)
		return;
	pictures_free(programs->pictures);
	coprocesses_free(programs->filter);
	buf_release(&programs->name);
	free(programs);
}

static void fail_item(struct item *item, int error, const struct err *err)
{
	item->error = error;
	if (error != -ECHILD)
		return;
	free(item->left);
	item->left = strdup(err->text);
	if (!item->left)
		item->error = -ENOMEM;
}

/* --- what becomes of an item ------------------------------------------------------------------ */

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

/* By its first bytes, as JPEG 2000, or its name, as HEIC. */
static bool is_of_other_kind(const struct item *item)
{
	const char *path = item->path.data;
	size_t len = strlen(path);

	return image_suffix((const uint8_t *)item->bytes.data, item->bytes.len) ||
	       (image_is_named(path, len) && image_named(path, len) == IMAGE_UNKNOWN);
}

void create_leave(struct item *item, const char *why)
{
	if (item->image.kind == IMAGE_UNKNOWN && !is_of_other_kind(item))
		return;
	item->left = strdup(why);
	if (!item->left)
		item->error = -ENOMEM;
}

static void set_bad(struct item *item, const char *damage, const char *why)
{
	item->is_bad = true;
	check_found(&item->finding, damage, false, "%s", why);
}

/* Takes the bytes that are stored in place of its own. */
static void take_made(struct item *item, struct buf *made)
{
	buf_release(&item->bytes);
	item->bytes = *made;
	*made = BUF_INIT;
	item->is_made = true;
	create_inspect(item, item->bytes.data, item->bytes.len);
}

/* --- the filter ------------------------------------------------------------------------------- */

static int take_filtered(const struct create *create, struct item *item, struct answer *answer,
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
			create->options.program, answer->word, item->path.data);
	else if (!transform_is_wanted(&create->how))
		create_leave(item, *answer->why ? answer->why : "kept by the filter");
	return 0;
}

/* What the program makes is the file from then on. */
static void filter_item(const struct create *create, struct item *item)
{
	SCOPE(answer_release) struct answer answer = {0};
	struct err err = {0};
	int r = coprocesses_ask(create->programs->filter, item->path.data, item->path.data,
				item->bytes.data, item->bytes.len, &answer, &err);

	if (r == 0)
		r = take_filtered(create, item, &answer, &err);
	if (r == -EBADMSG)
		r = err_set(&err, -ECHILD, "%s: %s", item->path.data, err.text);
	if (r < 0)
		fail_item(item, r, &err);
}

/* --- the check -------------------------------------------------------------------------------- */

/* Asks PIL. What was found, and is usable if PIL reads the image, is what is wrong with it if PIL
 * does not. Where nothing was asked for, an image may be packed without PIL. */
static void ask_pil(const struct create *create, struct item *item)
{
	struct check_finding *finding = &item->finding, refused = {0};
	struct err err = {0};
	int r = pictures_check(create->programs->pictures, item->path.data, item->bytes.data,
			       item->bytes.len, &refused, &err);

	if (r == 0) {
		finding->usable = true;
	} else if (r == 1) {
		bool known = item->is_bad && !finding->usable;

		item->is_bad = true;
		if (!known || strcmp(refused.damage, DAMAGE_TOO_LARGE) == 0)
			*finding = refused;
	} else if (r == -ECHILD && create_is_lenient(create)) {
		item->unsure = true;
	} else {
		fail_item(item, r, &err);
	}
}

static void check_bytes_of(const struct create *create, struct item *item)
{
	bool lenient = create_is_lenient(create);
	enum check_level level = lenient ? CHECK_HEADER : (enum check_level)create->options.check;
	int r = check_image(level, item->path.data, (const uint8_t *)item->bytes.data,
			    item->bytes.len, &item->finding);

	if (r < 0)
		item->error = r;
	item->is_bad = r == 1;
	if (r >= 0 && item->finding.unsure)
		ask_pil(create, item);
	if (item->is_bad && lenient)
		item->finding.usable |= item->finding.named_only;
}

/* --- transforms ------------------------------------------------------------------------------- */

/* A PNG or WebP, by PIL. As transform_image(); 2: it is bad, and item->finding says why; or what is
 * for fail_item(). */
static int transform_by_pil(const struct create *create, struct item *item, struct buf *made,
			    struct err *err)
{
	SCOPE(answer_release) struct answer answer = {0};
	const struct transform *how = &create->how;
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
		r = pictures_make(create->programs->pictures, item->path.data, item->bytes.data,
				  item->bytes.len, how, width, height, &answer, &item->finding,
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

static void transform_item(const struct create *create, struct item *item)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	enum format_image kind = item->image.kind;
	bool by_pil = kind == IMAGE_PNG || kind == IMAGE_WEBP;
	struct err err = {0};
	int r = by_pil ? transform_by_pil(create, item, &made, &err)
		       : transform_image(&create->how, (const uint8_t *)item->bytes.data,
					 item->bytes.len, &made, &err);

	switch (r) {
	case 0:
		take_made(item, &made);
		break;
	case 1:
		create_leave(item, err.text[0]			  ? err.text
				   : by_pil || kind == IMAGE_JPEG ? "small enough already"
				   : kind == IMAGE_UNKNOWN	  ? "of a kind that is not decoded"
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

/* --- all of it -------------------------------------------------------------------------------- */

void create_shape(struct create *create, struct item *item)
{
	const char *path = item->path.data;
	bool touched = create_may_touch(create, path), damaged;

	if (create->options.program && touched &&
	    (item->image.kind != IMAGE_UNKNOWN || is_of_other_kind(item) ||
	     image_is_named(path, strlen(path))))
		filter_item(create, item);
	if (!item->error && !item->is_bad)
		check_bytes_of(create, item);
	damaged = item->error || (item->is_bad && !item->finding.usable);
	if (create->transforms && damaged && !item->error)
		create_leave(item, "damaged");
	else if (create->transforms && !damaged && !touched)
		create_leave(item, "not matched by --transform");
	else if (transform_is_wanted(&create->how) && !damaged)
		transform_item(create, item);
	if (create->images && item->image.kind == IMAGE_UNKNOWN && !item->error)
		item->error = create_look_for_places(create, item);
}
