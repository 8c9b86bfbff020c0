#include "pack/tool/import/tar_set.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/sample_stream.h"
#include "pack/tool/import/source.h"
#include "pack/tool/import/zarr_stream.h"
#include <fcntl.h>
#include <sys/stat.h>

struct tar_set {
	struct tar_set_params params;
	size_t number;	/* of the current tar */
	int own;	/* its descriptor, or -1 for the first tar */
	struct stat st; /* of it, when it was opened */
	struct tar *tar;
	uint64_t before;	       /* bytes of those before it */
	bool classes;		       /* it is one of samples */
	struct sample_stream *samples; /* once there was a tar of samples */
};

/* If there are several tars, names the current one. */
static int set_fail(const struct tar_set *set, int error, const struct err *reason, struct err *err)
{
	const char *const *names = set->params.names;

	if (names)
		return err_set(err, error, "%s: %s", names[set->number], err_text(reason, error));
	return reason->text[0] ? err_set(err, error, "%s", reason->text) : error;
}

/* --- the tars --------------------------------------------------------------------------------- */

/* Finds out what the current tar is, and begins it again. */
static int look_at(struct tar_set *set, struct err *err)
{
	int r = sample_stream_look(set->tar);

	if (r < 0)
		return r;
	set->classes = r;
	return tar_restart(set->tar, !set->classes, err);
}

static int open_as(struct tar_set *set, int fd, struct err *err)
{
	static const enum tar_mode modes[] = {[FOREIGN_AUTO] = TAR_LOOK,
					      [FOREIGN_TREE] = TAR_NESTED,
					      [FOREIGN_CLASSES] = TAR_FLAT};
	const struct foreign_settings *foreign = set->params.foreign;
	int layout = foreign ? foreign->layout : FOREIGN_TREE;
	enum tar_mode mode = set->params.zip ? TAR_ZIP : modes[layout];
	int r = tar_new(fd, mode, &set->tar, err);

	set->classes = mode == TAR_FLAT;
	return r == 0 && mode == TAR_LOOK ? look_at(set, err) : r;
}

static int begin_tar(struct tar_set *set, int fd, struct err *err)
{
	int r = fstat(fd, &set->st) < 0 ? -errno : open_as(set, fd, err);

	if (r == 0 && set->classes && !set->samples)
		r = sample_stream_new(set->params.foreign, set->params.shown, &set->samples, err);
	if (r == 0 && set->classes)
		sample_stream_begin(set->samples, set->tar);
	return r;
}

/* Takes what a read of the current tar returned. At the end, some of what was read may be of an
 * older file than the rest, and what looks like damage may be where they meet. */
static int check_unchanged(const struct tar_set *set, int result, struct err *err)
{
	int fd = set->own < 0 ? set->params.fd : set->own, r;

	if (result == 0 || result == -EINTR || result == -ENOMEM)
		return result;
	r = io_unchanged(fd, &set->st);
	return r < 0 ? err_set(err, r, "%s", source_error_text(r)) : result;
}

/* Goes on to the next tar: 0; 1 where there is none; or a failure. */
static int open_next(struct tar_set *set, struct err *err)
{
	const char *const *names = set->params.names;

	if (!names || !names[set->number + 1])
		return 1;
	set->before += tar_position(set->tar);
	tar_free(steal_ptr(&set->tar));
	scope_close(&set->own);
	set->number++;
	set->own = open(names[set->number], O_RDONLY | O_CLOEXEC);
	return set->own < 0 ? -errno : begin_tar(set, set->own, err);
}

/* --- entries ---------------------------------------------------------------------------------- */

int tar_set_next(struct tar_set *set, struct tar_entry *ret, struct err *err)
{
	struct err reason = {0};
	int r = set->tar ? 1 : -EBADMSG, more = 0;

	if (set->params.zarr)
		return zarr_stream_next(set->params.zarr, ret, err);
	while (r == 1 && more == 0) {
		r = set->classes ? sample_stream_next(set->samples, ret, &reason)
				 : tar_next(set->tar, ret, &reason);
		r = check_unchanged(set, r, &reason);
		if (r == 1)
			more = open_next(set, &reason);
	}
	if (more < 0)
		r = more;
	if (r == 1 && set->samples)
		sample_stream_say(set->samples);
	return r < 0 ? set_fail(set, r, &reason, err) : r;
}

int tar_set_read(struct tar_set *set, void *buf, size_t len, struct err *err)
{
	struct err reason = {0};
	int r = 0;

	if (set->params.zarr)
		return zarr_stream_read(set->params.zarr, buf, len, err);
	if (set->classes)
		sample_stream_read(set->samples, buf, len);
	else
		r = check_unchanged(set, tar_read(set->tar, buf, len, &reason), &reason);
	return r < 0 ? set_fail(set, r, &reason, err) : 0;
}

uint64_t tar_set_position(const struct tar_set *set)
{
	return set->before + (set->tar ? tar_position(set->tar) : 0);
}

/* --- life ------------------------------------------------------------------------------------- */

int tar_set_new(const struct tar_set_params *params, struct tar_set **ret, struct err *err)
{
	struct tar_set *set = calloc(1, sizeof(*set));
	struct err reason = {0};
	int r;

	if (!set)
		return -ENOMEM;
	set->params = *params;
	set->own = -1;
	r = params->zarr ? 0 : begin_tar(set, params->fd, &reason);
	if (r < 0) {
		r = set_fail(set, r, &reason, err);
		tar_set_free(set);
		return r;
	}
	*ret = set;
	return 0;
}

void tar_set_free(struct tar_set *set)
{
	if (!set)
		return;
	tar_free(set->tar);
	sample_stream_free(set->samples);
	scope_close(&set->own);
	free(set);
}
