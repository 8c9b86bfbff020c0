#include "pack/tool/create/create_programs.h"

#include "base/scope.h"
#include "pack/tool/create/create_images.h"
#include "pack/tool/create/create_inputs.h"
#include "pack/tool/image/pictures.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct programs {
	struct pictures *pictures;
	struct coprocesses *filter; /* NULL: there is none */
	struct buf name;	    /* its, in messages */
	const char *argv[4];
};

static int begin_filter(struct programs *programs, const char *command, unsigned most)
{
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	struct coprocess_params params = {.argv = programs->argv, .way_out = "", .most = most};
	int r = buf_addf(&programs->name, "filter '%s'", command);

	memcpy(programs->argv, argv, sizeof(argv));
	params.name = programs->name.data;
	return r < 0 ? r : coprocesses_new(&params, &programs->filter);
}

int programs_begin(struct create *create)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned most = processors > 1 ? (unsigned)processors : 1;
	struct programs *programs = calloc(1, sizeof(*programs));
	int r = programs ? pictures_new(most, &programs->pictures) : -ENOMEM;

	create->programs = programs;
	signal(SIGPIPE, SIG_IGN); /* one that ends reads no more */
	if (r == 0 && create->options.program)
		r = begin_filter(programs, create->options.program, most);
	return r;
}

void programs_end(struct create *create)
{
	struct programs *programs = create->programs;

	if (!programs)
		return;
	pictures_free(programs->pictures);
	coprocesses_free(programs->filter);
	buf_release(&programs->name);
	free(programs);
	create->programs = NULL;
}

void programs_left(struct item *item, int error, const struct err *err)
{
	item->error = error;
	if (error != -ECHILD)
		return;
	free(item->left);
	item->left = strdup(err->text);
	if (!item->left)
		item->error = -ENOMEM;
}

int programs_fail(struct create *create, const struct item *item)
{
	struct err err = {0};

	return create_fail(create, err_set(&err, -ECHILD, "%s", item->left), &err);
}

/* --- the user's ------------------------------------------------------------------------------- */

static int take_filtered(const struct create *create, struct item *item, struct answer *answer,
			 struct err *err)
{
	const char *damage = check_damage(answer->word);

	if (strcmp(answer->word, "made") == 0)
		item_take_made(item, &answer->bytes);
	else if (damage)
		item_set_bad(item, damage, *answer->why ? answer->why : "the filter says so");
	else if (strcmp(answer->word, "kept") != 0)
		return err_set(err, -ECHILD,
			       "filter '%s' says '%s' of %s, which is none of the words in "
			       "foldpack(1)",
			       create->options.program, answer->word, item->path.data);
	else if (!transform_is_wanted(&create->how))
		create_leave(item, *answer->why ? answer->why : "kept by the filter");
	return 0;
}

void programs_filter(const struct create *create, struct item *item)
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
		programs_left(item, r, &err);
}

/* --- PIL -------------------------------------------------------------------------------------- */

/* What was found, and is usable if PIL reads the image, is what is wrong with it if PIL does not.
 * Where nothing was asked for, an image may be packed without PIL. */
void programs_check(const struct create *create, struct item *item)
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
		programs_left(item, r, &err);
	}
}

int programs_make(const struct create *create, struct item *item, struct buf *made, struct err *err)
{
	SCOPE(answer_release) struct answer answer = {0};
	const struct transform *how = &create->how;
	uint32_t width = item->image.width, height = item->image.height;
	int r;

	if (width == 0)
		return err_set(err, -EBADMSG, "no sound header");
	transform_size(how, &width, &height);
	if (width == item->image.width && height == item->image.height && how->store == STORE_KEEP)
		return 1;
	r = transform_check_memory(item->image.width, item->image.height, 1, PICTURE_PIXEL, err);
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
