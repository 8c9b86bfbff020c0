/* The partial file: begun, resumed, committed batch by batch, and left.
 *
 * An unfinished superblock is committed before anything else. It has the number of this run, which
 * the journal has as well. So the file says what it is from the beginning, and a journal that
 * belongs to another file is recognised. */
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/options.h"
#include "pack/walker.h"
#include "pack/write/builder_internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

/* The superblock has a page of its own, behind LMDB's header of a page. It is among the first
 * pages, since it is the first record; on pages of more than 4 KiB it may lie elsewhere. */
#define FIRST_PAGES 8
#define FIRST_PAGE  4096
#define PAGE_HEAD   16

/* --- opening ------------------------------------------------------------------------------- */

/* The kernel knows which bits a new file must not have: of the umask, or of the folder's ACL. */
static int open_rw(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static int refuse_other(const char *path, struct err *err)
{
	return err_set(err, -EEXIST,
		       "'%s' is in the way, and not what foldpack left; move it, or choose another "
		       "name",
		       path);
}

/* A run that was killed right before its rename has made the file read-only. */
static int open_writable(const char *path)
{
	int fd = open_rw(path), error = errno;

	if (fd < 0 && error == EACCES) {
		/* fchmodat() without following links needs libc 2.32, or Linux 6.6. */
		SCOPE_CLOSE int readable = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (readable >= 0 && fchmod(readable, 0600) == 0) {
			fd = open_rw(path);
			error = errno;
		}
	}
	return fd < 0 ? -error : fd;
}

/* Just created, or left by a run that wrote nothing. */
static bool is_empty(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == 0;
}

static int open_locked(struct builder *builder, struct err *err)
{
	SCOPE_CLOSE int fd = -1;
	struct stat st;

	/* What is no file, such as a link or a named pipe, is somebody's. */
	if (lstat(builder->partial, &st) == 0 && !S_ISREG(st.st_mode))
		return refuse_other(builder->partial, err);
	fd = open_writable(builder->partial);
	if (fd < 0)
		return err_set(err, fd, "cannot create '%s': %s", builder->partial, strerror(-fd));
	/* A partial file without a lock was left by an interrupted run. On filesystems without
	 * locks the last run to start wins. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, -EBUSY, "another foldpack is writing '%s'", builder->partial);
	/* Between open and flock, another run may have finished: then the file is a pack. */
	if (!io_is_named(fd, builder->partial))
		return err_set(err, -EBUSY, "another foldpack has just written '%s'",
			       builder->path);
	if (fstat(fd, &st) < 0)
		return -errno;
	builder->fd = steal_fd(&fd);
	builder->ours = st.st_size == 0;
	/* A run with a stricter umask may have come after the one that made the file. */
	builder->mode = st.st_mode & 0444 & (st.st_size ? ~io_umask() : ~(mode_t)0);
	return 0;
}

/* --- what an interrupted run left ------------------------------------------------------------ */

static bool file_holds(int fd, const void *want, size_t len, uint64_t offset)
{
	uint8_t data[FORMAT_SUPER_BYTES];

	return io_pread_full(fd, data, len, offset) == 0 && memcmp(data, want, len) == 0;
}

/* After the last commit the finished superblock is written over the unfinished one. From then on
 * the state of the LMDB identifies the file. */
static bool journal_belongs(const struct builder *builder)
{
	uint8_t super[FORMAT_SUPER_BYTES];
	struct journal_checkpoint last;
	struct store_state *state = &last.store;
	struct stat st;

	if (journal_last(builder->journal, &last) < 0 || fstat(builder->fd, &st) < 0 ||
	    (uint64_t)st.st_size < state->bytes)
		return false;
	format_super_unfinished(journal_run(builder->journal), super);
	return file_holds(builder->fd, super, sizeof(super), last.super_offset) ||
	       (file_holds(builder->fd, state->metas[0], STORE_META_BYTES, 0) &&
		file_holds(builder->fd, state->metas[1], STORE_META_BYTES, state->page));
}

int builder_walk(int fd, struct reader **ret_reader, struct walker **ret, struct err *err)
{
	int r = reader_file_borrow(fd, ret_reader);

	if (r == 0)
		r = walker_new(*ret_reader, ret, err);
	return r < 0 ? r : walker_check_end(*ret, err);
}

/* Whether a run left this file. Any other file may belong to the user. */
static bool is_of_a_run(int fd)
{
	static const uint8_t none[FORMAT_RUN_BYTES];
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(walker_release) struct walker *walker = NULL;
	uint8_t unfinished[FORMAT_SUPER_BYTES];
	struct format_super super;
	bool found;
	int r = is_empty(fd) ? -EINPROGRESS : builder_walk(fd, &reader, &walker, NULL);

	if (r == 0 && walker_info(walker)->entries == 0)
		return true; /* begin_file() of store.c was its last */
	if (r == 0)
		r = index_read_super(reader, walker, &super, NULL);
	found = r == -EINPROGRESS;
	/* It may have begun as an unfinished pack, whatever has become of it. A finished pack has
	 * lost the mark. */
	format_super_unfinished(none, unfinished);
	for (uint64_t page = 0; !found && page < FIRST_PAGES; page++)
		found = file_holds(fd, unfinished, FORMAT_MARK_BYTES,
				   page * FIRST_PAGE + PAGE_HEAD);
	return found;
}

/* Finds the first line that `a` has and `b` has not; false: there is none. */
static bool find_option(const char *a, const char *b, struct option_line *ret)
{
	const char *end = a + strlen(a);
	bool found = true;

	while (found && options_next(&a, end, ret))
		found = options_have(b, strlen(b), ret);
	return !found;
}

/* 0: the partial file is to be resumed; -ENODATA: a new one can be begun; or why neither is
 * possible.
 */
static int judge_partial(struct builder *builder, const struct builder_params *params,
			 struct err *err)
{
	struct journal_params journal = {.path = builder->journal_path, .pack = builder->fd};
	int r = journal_open(&journal, &builder->journal, err);

	if (r == 0 && !journal_belongs(builder)) {
		journal_free(steal_ptr(&builder->journal));
		r = -ENODATA;
	}
	if (r < 0 && (r == -ENODATA || params->replace) && !is_of_a_run(builder->fd))
		return refuse_other(builder->partial, err);
	if (r < 0 && journal_is_other(builder->journal_path))
		return refuse_other(builder->journal_path, err);
	if (params->replace && (r < 0 || !params->resume)) {
		journal_free(steal_ptr(&builder->journal));
		return -ENODATA;
	}
	if (r < 0)
		return r;
	return params->resume
		       ? 0
		       : err_set(err, -EINPROGRESS, "an interrupted run has left its work in '%s'",
				 builder->partial);
}

static int refuse_option(const char *how, const struct option_line *line, struct err *err)
{
	return err_set(err, -EINVAL,
		       "was begun with%s '%.*s'; go on with the same options, or start again", how,
		       (int)line->len, line->text);
}

/* What it was begun without; with `all`, also what it was begun with. */
static int compare_options(const struct builder *builder, bool all, struct err *err)
{
	const char *then = journal_options(builder->journal);
	struct option_line line;

	if (all && find_option(then, builder->options, &line))
		return refuse_option("", &line, err);
	return find_option(builder->options, then, &line) ? refuse_option("out", &line, err) : 0;
}

/* --- beginning ------------------------------------------------------------------------------- */

/* Empties the partial file, and then removes its journal: a journal belongs to no empty file, while
 * a file that is finished but for its name belongs to nobody without one. The journal must be gone
 * before pages come, so that it cannot claim a file that has only some of the old ones. */
static int clear_partial(const struct builder *builder, struct err *err)
{
	if (!is_empty(builder->fd)) {
		if (ftruncate(builder->fd, 0) < 0)
			return err_call(err, -errno, "ftruncate");
		if (io_sync(builder->fd, fsync) < 0)
			return err_call(err, -errno, "fsync");
	}
	if (unlink(builder->journal_path) == 0)
		io_sync_directory(builder->journal_path);
	else if (errno != ENOENT)
		return err_set(err, -errno, "cannot remove '%s': %s", builder->journal_path,
			       strerror(errno));
	return 0;
}

static int begin_partial(struct builder *builder, uint64_t batch, struct err *err)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(walker_release) struct walker *walker = NULL;
	uint8_t run[FORMAT_RUN_BYTES];
	struct journal_params params = {.path = builder->journal_path,
					.pack = builder->fd,
					.run = run,
					.options = builder->options};
	struct walker_record record;
	struct format_key key;
	void *space;
	int r = clear_partial(builder, err);

	builder->ours |= r == 0;
	if (r == 0 && getrandom(run, sizeof(run), 0) < 0)
		r = -errno;
	if (r == 0)
		r = journal_new(&params, &builder->journal);
	if (r == 0)
		r = store_new(builder->partial, batch, &builder->store);
	if (r < 0)
		return r;
	format_key_super(&key);
	r = store_put(builder->store, key.data, key.len, FORMAT_SUPER_BYTES, &space);
	if (r == 0) {
		format_super_unfinished(run, space);
		r = store_commit(builder->store);
	}
	builder_failed(builder, r, "write");
	/* Whatever happens from now on, the file says that it is no pack. */
	if (r == 0)
		r = builder_failed(builder, io_sync(builder->fd, fdatasync), "fdatasync");
	if (r < 0)
		return builder_explain(builder, r, err);
	r = builder_walk(builder->fd, &reader, &walker, err);
	if (r == 0)
		r = index_find_super(walker, &record, err);
	if (r == 0)
		builder->now.super_offset = record.offset;
	return r;
}

int builder_partial_open(struct builder *builder, const struct builder_params *params,
			 struct err *err)
{
	int r = open_locked(builder, err);

	if (r == 0)
		r = judge_partial(builder, params, err);
	if (r == 0)
		r = compare_options(builder, true, err);
	if (r == -ENODATA)
		return begin_partial(builder, params->batch, err);
	if (r < 0)
		return r;
	journal_last(builder->journal, &builder->now);
	builder->resuming = true;
	r = store_new(builder->partial, params->batch, &builder->store);
	return r < 0 ? r : store_restore(builder->store, &builder->now.store);
}

int builder_partial_check(struct builder *builder, const struct builder_params *params,
			  struct err *err)
{
	struct stat st;
	int r;

	if (lstat(builder->partial, &st) < 0 && errno == ENOENT)
		return 0;
	r = open_locked(builder, err);
	if (r == 0)
		r = judge_partial(builder, params, err);
	if (r == 0)
		r = compare_options(builder, false, err);
	return r == -ENODATA ? 0 : r;
}

/* --- batches --------------------------------------------------------------------------------- */

int builder_failed(struct builder *builder, int result, const char *call)
{
	if (result < 0 && result != -ENOMEM && result != -EFBIG)
		err_set(&builder->failed, result, "%s: %s%s", call, strerror(-result),
			io_is_refused(result)
				? "; a pack can be made on another filesystem, and copied"
				: "");
	return result;
}

int builder_explain(const struct builder *builder, int result, struct err *err)
{
	if (result < 0 && err && !err->text[0])
		*err = builder->failed;
	return result;
}

int builder_commit(struct builder *builder)
{
	int r = builder_failed(builder, store_commit(builder->store), "write");

	if (r != 0)
		return r < 0 ? r : 0;
	r = builder_failed(builder, store_save(builder->store, &builder->now.store), "read");
	if (r < 0)
		return r;
	r = journal_commit(builder->journal, &builder->now);
	return r < 0 ? builder_failed(builder, r, journal_failed(builder->journal)) : 0;
}

int builder_put(struct builder *builder, const struct format_key *key, uint64_t size,
		void **ret_space)
{
	int r = 0;

	if (store_full(builder->store, key->data, key->len, size))
		r = builder_commit(builder);
	return r < 0 ? r : store_put(builder->store, key->data, key->len, size, ret_space);
}

int builder_put_last(struct builder *builder, const struct format_key *key, uint64_t size,
		     void **ret_space)
{
	int r;

	if (builder->puts++ < builder->now.puts)
		return 1;
	r = builder_put(builder, key, size, ret_space);
	if (r == 0)
		builder->now.puts = builder->puts;
	return r;
}

/* --- leaving ------------------------------------------------------------------------------- */

void builder_spoil(struct builder *builder)
{
	builder->spoiled = builder->ours = true;
}

bool builder_kept(struct builder *builder, struct builder_kept *ret)
{
	struct journal_checkpoint last;

	if (!builder->journal || journal_last(builder->journal, &last) < 0 || builder->spoiled)
		return false;
	*ret = (struct builder_kept){.files = last.files, .bytes = last.bytes};
	return true;
}

void builder_discard(struct builder *builder)
{
	struct builder_kept kept;

	if (builder->ours && !builder_kept(builder, &kept)) {
		unlink(builder->partial);
		if (builder->journal)
			journal_remove(builder->journal);
	}
	builder->ours = false;
	store_free(steal_ptr(&builder->store));
	journal_free(steal_ptr(&builder->journal));
	scope_close(&builder->fd);
	builder->fd = -1;
}

void builder_tidy(const char *path)
{
	SCOPE_FREE char *partial = NULL, *journal = NULL;

	if (asprintf(&partial, "%s.partial", path) >= 0 && access(partial, F_OK) < 0 &&
	    asprintf(&journal, "%s.journal", partial) >= 0 && !journal_is_other(journal))
		unlink(journal);
}
