#include "pack/tool/create/create_flaws.h"

#include "base/scope.h"
#include "pack/tool/create/decompressed.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>

struct flaw {
	enum foreign_flaw kind;
	size_t path, what; /* in the texts; each ended by NUL */
};

/* --- found ------------------------------------------------------------------------------------ */

static int note_flaw(void *context, const char *path, const char *what, enum foreign_flaw kind)
{
	struct create_flaws *flaws = ((struct create *)context)->flaws;
	SCOPE_LOCK(&flaws->lock);
	struct flaw flaw = {.kind = kind, .path = flaws->texts.len};
	int r;

	buf_add(&flaws->texts, path, strlen(path) + 1);
	flaw.what = flaws->texts.len;
	r = buf_add(&flaws->texts, what, strlen(what) + 1);
	return r < 0 ? r : buf_add(&flaws->all, &flaw, sizeof(flaw));
}

static int look_for_signal(void *context)
{
	(void)context;
	return interrupt_pending() ? -EINTR : 0;
}

/* A file that is cut off is refused at once. What came from a pipe before it broke is packed, so
 * that a run that resumes need not do it again. */
static int note_broken(void *context, int error, const struct err *err)
{
	struct create_flaws *flaws = ((struct create *)context)->flaws;

	if (!flaws->stream)
		return error;
	if (!flaws->broken)
		flaws->why_broken = *err;
	flaws->broken = error;
	return 0;
}

/* A tar in a tar, or a member of a zip. */
static int unpack_part(void *context, const struct foreign_compressed *from, struct reader **spool,
		       uint64_t *ret_start, uint64_t *ret_len, struct err *err)
{
	const struct create *create = context;

	return decompressed_part(create->pack, from, spool, ret_start, ret_len, err);
}

/* What is not wanted need not be read at all, and nobody knows how much room a set needs. */
static int copy_far(void *context, struct reader *from, const char *name, struct reader **ret,
		    struct err *err)
{
	const struct create *create = context;

	return create->flaws->alone && filter_wants_all(&create->options.filter)
		       ? decompressed_copy(create->pack, from, name, ret, err)
		       : 1;
}

/* --- told ------------------------------------------------------------------------------------- */

static int tell_flaw(struct create *create, const struct flaw *flaw)
{
	const struct import_watch *watch = &create->watch;
	const char *path = create->flaws->texts.data + flaw->path;
	const char *what = create->flaws->texts.data + flaw->what;

	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (flaw->kind != FOREIGN_UNWANTED && !filter_wants_file(&create->options.filter, path))
		return 0;
	if (flaw->kind == FOREIGN_BAD)
		return watch->bad(watch->context, path, what);
	if (flaw->kind == FOREIGN_SPECIAL)
		watch->special(watch->context, path, what);
	else
		watch->left_out(watch->context, path, what);
	return 0;
}

int create_tell_flaws(struct create *create)
{
	const struct buf *all = create->flaws ? &create->flaws->all : &BUF_INIT;
	const struct flaw *flaws = BUF_ITEMS(all, const struct flaw);
	int r = 0;

	for (size_t i = 0; r == 0 && i < BUF_COUNT(all, *flaws); i++)
		r = tell_flaw(create, &flaws[i]);
	return r;
}

int create_tell_broken(struct create *create)
{
	const struct create_flaws *flaws = create->flaws;

	return flaws && flaws->broken
		       ? create->watch.broken(create, flaws->broken, &flaws->why_broken)
		       : 0;
}

/* --- life ------------------------------------------------------------------------------------- */

bool create_is_archive(const struct create *create)
{
	return create->flaws && create->flaws->watch.archive;
}

int create_flaws_new(struct create *create)
{
	struct create_flaws *flaws = calloc(1, sizeof(*flaws));

	if (!flaws)
		return -ENOMEM;
	flaws->watch.left_out = note_flaw;
	flaws->watch.tick = look_for_signal;
	flaws->watch.broken = note_broken;
	flaws->watch.unpack = unpack_part;
	flaws->watch.copy = copy_far;
	flaws->watch.context = create;
	pthread_mutex_init(&flaws->lock, NULL);
	create->flaws = flaws;
	return 0;
}

void create_flaws_free(struct create *create)
{
	if (!create->flaws)
		return;
	buf_release(&create->flaws->all);
	buf_release(&create->flaws->texts);
	pthread_mutex_destroy(&create->flaws->lock);
	free(create->flaws);
}
