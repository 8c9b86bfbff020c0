#include "pack/tool/create/decompressed.h"

#include "base/exit.h"
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/name.h"
#include "base/parallel_for.h"
#include "base/python.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/spawn.h"
#include "pack/foreign/unsupported.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/unpack.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPOOL_SAID   (256 * MIB)
#define SCRIPT_OTHER 5 /* status of a script: python/foldfs/sources/images.py */

static int fail_unpacked(const char *pack, int error, const struct err *why, struct err *err)
{
	if (why->text[0])
		return err_set(err, error, "%s", why->text);
	return err_set(err, error, "unpacking it into the folder of %s: %s", pack,
		       strerror(-error));
}

static uint64_t spool_size(struct reader *reader)
{
	struct reader_identity identity = {0};

	return reader_identity(reader, &identity) < 0 ? 0 : identity.size;
}

static int open_spool(const char *pack, struct reader **ret)
{
	SCOPE_CLOSE int fd = target_unnamed(pack);

	return fd < 0 ? fd : reader_file_open_again(fd, ret);
}

static void say_spooled(const char *pack, const char *name, uint64_t size)
{
	char text[SIZE_TEXT];

	if (size >= SPOOL_SAID)
		log_notice("%s: %s are kept in an unnamed file beside %s until that is finished",
			   name, size_format(size, text), pack);
}

/* To the end of a spool, which it makes if there is none; `from` NULL: all of a stream. *ret_len is
 * also set where unpacking failed. */
static int unpack_into(const char *pack, const struct foreign_compressed *from, int stream,
		       struct reader **spool, uint64_t *ret_len, uint64_t *ret_behind,
		       struct err *err)
{
	int r = *spool ? 0 : open_spool(pack, spool);
	SCOPE_CLOSE int to = r < 0 ? r : io_open_again(reader_file_fd(*spool), O_WRONLY | O_APPEND);
	uint64_t before = to < 0 ? 0 : spool_size(*spool);

	if (to < 0)
		return to;
	r = unpack(from, stream, to, ret_behind, err);
	*ret_len = spool_size(*spool) - before;
	return r;
}

/* A part with something behind its end stays as it is. */
int decompressed_part(const char *pack, const struct foreign_compressed *from,
		      struct reader **spool, uint64_t *ret_start, uint64_t *ret_len,
		      struct err *err)
{
	uint64_t behind = 0;
	struct err why = {0};
	int r = unpack_into(pack, from, -1, spool, ret_len, &behind, &why);

	if (r < 0)
		return fail_unpacked(pack, r, &why, err);
	*ret_start = spool_size(*spool) - *ret_len;
	return behind ? err_set(err, -EBADMSG, "bytes after the end of the compressed data") : 0;
}

/* --- a remote file ---------------------------------------------------------------------------- */

#define COPY_PIECE   (4 * MIB)
#define COPY_THREADS 16	      /* requests at once */
#define COPY_SOON    2000000u /* ns: a round trip */

struct copying {
	struct reader *from;
	uint64_t size;
	int to;
	atomic_int error; /* the first */
};

static void copy_next(void *context, size_t number)
{
	struct copying *copying = context;
	uint64_t offset = number * COPY_PIECE;
	size_t len = (size_t)min(copying->size - offset, (uint64_t)COPY_PIECE);
	SCOPE_FREE void *bytes = aligned_alloc(READER_PAGE, COPY_PIECE);
	struct iovec iov = {.iov_base = bytes,
			    .iov_len = (len + READER_PAGE - 1) / READER_PAGE * READER_PAGE};
	int none = 0, r = bytes ? 0 : -ENOMEM;

	if (atomic_load(&copying->error))
		return;
	if (interrupt_pending())
		r = -EINTR;
	if (r == 0)
		r = reader_read(copying->from, &iov, 1, offset, len);
	if (r == 0)
		r = io_pwrite_full(copying->to, bytes, len, offset);
	atomic_compare_exchange_strong(&copying->error, &none, r);
}

static int copy_into(struct reader *spool, struct reader *from, uint64_t size)
{
	SCOPE_CLOSE int to = io_open_again(reader_file_fd(spool), O_WRONLY);
	struct copying copying = {.from = from, .size = size, .to = to};
	const struct parallel_for all = {.threads = COPY_THREADS,
					 .patience_ns = COPY_SOON,
					 .work = copy_next,
					 .context = &copying};
	int r = to < 0 ? to : reader_prepare(from, READER_AUTO);

	if (r < 0)
		return r;
	parallel_for_run(&all, (size_t)((size + COPY_PIECE - 1) / COPY_PIECE));
	return copying.error;
}

int decompressed_copy(const char *pack, struct reader *from, const char *name, struct reader **ret,
		      struct err *err)
{
	SCOPE(reader_release) struct reader *spool = NULL;
	uint64_t size = spool_size(from);
	int r;

	if (target_free(pack) < target_estimate(2 * size, 0))
		return 1;
	r = open_spool(pack, &spool);
	if (r == 0) {
		say_spooled(pack, name, size);
		r = copy_into(spool, from, size);
	}
	if (r < 0)
		return r == -EINTR ? r
				   : err_set(err, r, "copying it into the folder of %s: %s", pack,
					     err_text(NULL, r));
	*ret = steal_ptr(&spool);
	return 0;
}

/* --- a script --------------------------------------------------------------------------------- */

int decompressed_script(struct decompressed *d, const char *name, const char *source,
			struct err *err)
{
	const struct foreign_settings *settings = d->settings;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int ends[2], r = python_script("sources", name, &path);
	/* Names are UTF-8 in any locale. What Python warns of is nothing to the user. */
	const char *const argv[] = {python_program_beside(),
				    "-B",
				    "-X",
				    "utf8",
				    "-W",
				    "ignore",
				    PYTHON_RUN(path.data),
				    source,
				    settings->image_key ? settings->image_key : "",
				    settings->label_key ? settings->label_key : "",
				    settings->name_key ? settings->name_key : "",
				    NULL};

	if (r < 0)
		return err_set(err, r, "%s.py, which reads it, is not installed beside foldpack",
			       name);
	d->script.said = memfd_create("said", MFD_CLOEXEC);
	if (d->script.said < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	d->stream = d->script.tar = ends[0];
	r = spawn_program(argv, (int[]){ends[1], d->script.said}, 2, POSIX_SPAWN_SETPGROUP,
			  &d->script.process);
	close(ends[1]);
	if (r == 0)
		return 0;
	d->script.process = 0;
	return err_set(err, r, "Python, which reads it, does not start: %s: %s" PYTHON_WAY_OUT,
		       python_program(), strerror(-r));
}

/* Awaits its end. */
static int end_script(struct script *script, const char *source, struct err *err)
{
	SCOPE(buf_release) struct buf said = BUF_INIT;
	const char *last;
	struct stat st;
	ssize_t n;
	int status;

	status = spawn_await(script->process);
	script->process = 0;
	if (fstat(script->said, &st) < 0)
		return -errno;
	if (buf_reserve(&said, (size_t)st.st_size + 1) < 0)
		return -ENOMEM;
	n = io_pread(script->said, said.data, (size_t)st.st_size, 0);
	if (n < 0)
		return (int)n;
	while (n && said.data[n - 1] == '\n')
		n--;
	said.data[n] = '\0';
	if (status == 0) {
		for (char *line, *rest = said.data; (line = strsep(&rest, "\n"));)
			if (*line)
				log_notice("%s: %s", source, line);
		return 0;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return err_set(err, -ECANCELED,
			       "the script that reads it was killed, perhaps for lack of memory");
	if (spawn_was_ended(status))
		return err_set(err, -ECANCELED, "the script that reads it was ended by a signal");
	if (WIFSIGNALED(status))
		return err_set(err, -EBADMSG, "damaged: the library that reads it crashes on it");
	last = strrchr(said.data, '\n');
	return err_set(err,
		       WEXITSTATUS(status) == EXIT_DAMAGED   ? -EBADMSG
		       : WEXITSTATUS(status) == SCRIPT_OTHER ? -ENOMSG
							     : -ECANCELED,
		       "%s",
		       last	    ? last + 1
		       : *said.data ? said.data
				    : "the script that reads it failed");
}

/* --- a file, or a pipe ------------------------------------------------------------------------ */

/* Opens what is unpacked of a file, or, where that is NULL, of the stream. All of it is kept, so
 * that any part of it can be read. What came before a stream was cut is read, too, so that a run
 * that resumes goes on behind that. */
static int open_spooled(struct decompressed *d, const char *name, struct reader *file,
			struct reader **ret, struct err *err)
{
	SCOPE(reader_release) struct reader *spool = NULL;
	SCOPE_FREE char *shown = name_shown(name);
	struct reader_identity before = {0}, after;
	struct err why = {0};
	uint64_t len = 0, behind = 0;
	char none, text[SIZE_TEXT];
	int ended, r = file ? reader_identity(file, &before) : 0;
	const struct foreign_compressed from = {.reader = file, .len = before.size};

	if (r < 0 || (!file && read(d->stream, &none, 0) < 0))
		return r < 0 ? r : -errno;
	r = unpack_into(d->pack, file ? &from : NULL, d->stream, &spool, &len, &behind, &why);
	/* What looks like damage may be where an old and a new file meet. */
	if (file && (r == 0 || r == -EBADMSG) && reader_identity(file, &after) == 0 &&
	    !reader_identity_same(&before, &after))
		r = err_set(&why, -ESTALE,
			    "changed while it was decompressed; try again when nothing writes to "
			    "it");
	if (!file && d->script.process && (r == 0 || r == -EBADMSG)) {
		ended = end_script(&d->script, name, &why);
		r = ended < 0 ? ended : r;
	} else if (!file && r == -EBADMSG && len > 0) {
		d->error = r;
		d->err = why;
		r = 0;
	}
	if (r < 0)
		return fail_unpacked(d->pack, r, &why, err);
	if (len == 0)
		return err_set(err, -EINVAL, "empty, so it is not a tar");
	if (behind)
		log_notice("%s: %s after the end of the compressed data are left out",
			   shown ? shown : "", count_noun(behind, "byte", text));
	if (file)
		log_detail("%s: decompressed, %s beside %s for as long as this runs",
			   shown ? shown : "", size_format(len, text), d->pack);
	else
		say_spooled(d->pack, name, len);
	*ret = steal_ptr(&spool);
	return 1;
}

/* --- any -------------------------------------------------------------------------------------- */

static int open_decompressed(void *context, const char *name, unsigned how, struct reader **ret,
			     struct err *err)
{
	struct decompressed *d = context;
	SCOPE(reader_release) struct reader *reader = NULL;
	char head[UNSUPPORTED_HEAD];
	ssize_t n;
	int r;

	if (d->stream >= 0) {
		r = open_spooled(d, name, NULL, ret, err);
		d->stream = -1;
		return r;
	}
	r = d->before.open(d->before.context, name, how, &reader, err);
	if (r < 0)
		return r;
	n = reader_get(reader_origin(reader), head, sizeof(head), 0);
	if (n > 0 && compression_of(head, (size_t)n))
		return open_spooled(d, name, reader_origin(reader), ret, err);
	*ret = steal_ptr(&reader);
	return r;
}

void decompressed_begin(struct decompressed *d, const char *pack, struct foreign_settings *settings)
{
	*d = (struct decompressed){.pack = pack,
				   .settings = settings,
				   .before = *settings,
				   .stream = -1,
				   .script = {.tar = -1, .said = -1}};
	settings->open = open_decompressed;
	settings->context = d;
}

void decompressed_end(struct decompressed *d)
{
	d->settings->open = d->before.open;
	d->settings->context = d->before.context;
	if (d->script.process)
		spawn_kill(d->script.process);
	scope_close(&d->script.said);
	scope_close(&d->script.tar);
}
