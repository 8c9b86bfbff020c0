/* A reader of a file: base/reader_file.h. The file lies on a real filesystem, which can be read
 * directly; what the kernel does rarely, the functions below do when they are asked to. Most tests
 * are traces. In these, sizes are in pages, of which the file has 74 and a part of one, "74+1000".
 *
 *	need-direct			the test is of no use without direct reads
 *	direct, buffered		how it reads at present
 *	prepare-direct, prepare
 *	most N				a call brings so much at most
 *	fail N ERROR, more N		the Nth call does, and so many after it
 *	no-direct, no-nowait, page N	what the system has not; its pages
 *	calm				it is as usual; the next call is the 1st
 *	read P N SIZE [ERROR]		N pages from page P on, with so many bytes, are right
 *	now P N SIZE [ERROR]		the same if it need not wait
 *	try P N SIZE			the same, or EAGAIN
 *	all				the whole file
 *	warm, cold P			the kernel has all of it; nothing from page P on
 *	reads N, bytes SIZE, errors N	that it has counted
 *	calls N, cached N		of the system; pages that the kernel has */
#include "base/cached.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "tests/unit/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE	   READER_PAGE
#define PAGES	   75u
#define FILE_BYTES ((PAGES - 1) * PAGE + 1000) /* ends within a page */
#define PATIENCE   (60 * CLOCK_SECOND)	       /* until what does not come counts as lost */

/* --- a kernel that does as it is told -------------------------------------------------------- */

struct orders {
	size_t most;	/* bytes that one read brings; 0: all */
	unsigned fail;	/* this call, the first is 1; 0: none */
	unsigned more;	/* and so many after it */
	int error;	/* with this */
	bool no_nowait; /* RWF_NOWAIT is not known */
	bool no_direct; /* a direct read is not valid */
	int page;	/* bytes of the system's pages; 0: as many as they have */
	long fs_type;	/* where files lie; 0: where they do */
	atomic_uint calls;
};

static struct orders orders;

static int cut(const struct iovec *iov, int count, size_t most, struct iovec *ret)
{
	int i;

	for (i = 0; i < count && most; i++) {
		ret[i] = iov[i];
		if (ret[i].iov_len > most)
			ret[i].iov_len = most;
		most -= ret[i].iov_len;
	}
	return i;
}

/* In place of the C library's. */
ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	struct iovec pieces[16];
	unsigned call = atomic_fetch_add(&orders.calls, 1) + 1;

	if (orders.no_direct && fcntl(fd, F_GETFL) & O_DIRECT) {
		errno = EINVAL;
		return -1;
	}
	if (call - orders.fail <= orders.more && orders.fail) {
		errno = orders.error;
		return -1;
	}
	if (orders.no_nowait && flags & RWF_NOWAIT) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (orders.most) {
		assert_true(count <= 16);
		count = cut(iov, count, orders.most, pieces);
		iov = pieces;
	}
	return syscall(SYS_preadv2, fd, iov, count, (unsigned long)offset,
		       (unsigned long)((uint64_t)offset >> 32), flags);
}

/* ThreadSanitizer asks before it is ready to watch anybody. */
__attribute__((no_sanitize("thread"))) int getpagesize(void)
{
	return orders.page ? orders.page : (int)getauxval(AT_PAGESZ);
}

/* Counts in the pages of the system, as cachestat(2) does. */
int64_t cached_pages(int fd, uint64_t offset, uint64_t len)
{
	uint64_t page = (uint64_t)getpagesize(), begin = offset / page * page;
	uint64_t range[2] = {begin, (offset + len + page - 1) / page * page - begin}, stat[5];

	if (syscall(451, fd, range, stat, 0) < 0)
		return -errno;
	return (int64_t)(stat[0] * getauxval(AT_PAGESZ) / page);
}

int fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);

	if (r == 0 && orders.fs_type)
		ret->f_type = orders.fs_type;
	return r;
}

/* --- a file ---------------------------------------------------------------------------------- */

struct fixture {
	int fd;
	struct reader *reader;	    /* of fd, prepared */
	char content[PAGES * PAGE]; /* zeros behind the end */
	char *memory;		    /* PAGES pages */
};

static struct reader *reader_of(int fd, enum reader_io io)
{
	struct reader *reader;

	assert_int_equal(reader_file_borrow(fd, &reader), 0);
	assert_int_equal(reader_prepare(reader, io), 0);
	return reader;
}

static bool is_direct(const struct reader *reader)
{
	return reader_hints(reader).direct;
}

static void setup_in(const char *dir, enum reader_io io, struct fixture *f)
{
	char path[64];

	orders = (struct orders){0};
	srandom(4);
	for (size_t i = 0; i < FILE_BYTES; i++)
		f->content[i] = (char)random();
	snprintf(path, sizeof(path), "%s/test_reader_file.XXXXXX", dir);
	f->fd = mkstemp(path);
	assert_true(f->fd >= 0);
	unlink(path);
	assert_int_equal(io_write_full(f->fd, f->content, FILE_BYTES), 0);
	assert_int_equal(fdatasync(f->fd), 0);
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	f->memory = aligned_alloc(PAGE, PAGES * PAGE);
	assert_non_null(f->memory);
	memset(f->memory, 0, PAGES * PAGE);
	f->reader = reader_of(f->fd, io);
}

static void setup(struct fixture *f)
{
	setup_in("/var/tmp", READER_AUTO, f);
}

static void setup_buffered(struct fixture *f)
{
	setup_in("/var/tmp", READER_BUFFERED, f);
}

static void teardown(struct fixture *f)
{
	if (!f->reader)
		return;
	orders = (struct orders){0};
	reader_free(f->reader);
	close(f->fd);
	free(f->memory);
}

/* Pages of the file that the kernel holds. Its own may be larger. */
static unsigned cached(const struct fixture *f)
{
	unsigned char held[PAGES];
	unsigned count = 0, each = (unsigned)getauxval(AT_PAGESZ) / PAGE;
	void *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, f->fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mincore(map, FILE_BYTES, held), 0);
	munmap(map, FILE_BYTES);
	for (unsigned i = 0; i < PAGES; i++)
		count += held[i / each] & 1;
	return count;
}

/* --- traces ---------------------------------------------------------------------------------- */

static int trace_error(struct trace *trace)
{
	static const char *const names[] = {"ok",      "EAGAIN",     "EINTR",  "EINVAL",
					    "EIO",     "ESPIPE",     "ESTALE", "ETIMEDOUT",
					    "ENODATA", "EOPNOTSUPP", NULL};
	static const int errors[] = {0,	     EAGAIN, EINTR,	EINVAL,	 EIO,
				     ESPIPE, ESTALE, ETIMEDOUT, ENODATA, EOPNOTSUPP};

	return errors[trace_choice(trace, names, 0)];
}

static bool give_order(struct trace *trace, struct fixture *f)
{
	if (trace_is(trace, "calm"))
		orders = (struct orders){0};
	else if (trace_is(trace, "most"))
		orders.most = trace_sum(trace, PAGE);
	else if (trace_is(trace, "fail")) {
		orders.fail = (unsigned)trace_number(trace);
		orders.error = trace_error(trace);
	} else if (trace_is(trace, "more"))
		orders.more = (unsigned)trace_number(trace);
	else if (trace_is(trace, "no-direct"))
		orders.no_direct = true;
	else if (trace_is(trace, "no-nowait"))
		orders.no_nowait = true;
	else if (trace_is(trace, "page"))
		orders.page = (int)trace_sum(trace, PAGE);
	else if (trace_is(trace, "warm"))
		assert_int_equal(io_pread(f->fd, f->memory, FILE_BYTES, 0), FILE_BYTES);
	else if (trace_is(trace, "cold"))
		posix_fadvise(f->fd, (off_t)trace_sum(trace, PAGE), 0, POSIX_FADV_DONTNEED);
	else
		return false;
	return true;
}

static bool do_read(struct trace *trace, struct fixture *f)
{
	uint64_t from = 0, count = PAGES, bytes = FILE_BYTES;
	bool now = trace_is(trace, "now"), may_wait = trace_is(trace, "try");
	struct iovec iov = {f->memory, 0};
	int error = 0, r;

	if (!trace_is(trace, "all")) {
		if (!now && !may_wait && !trace_is(trace, "read"))
			return false;
		from = trace_number(trace);
		count = trace_number(trace);
		bytes = trace_sum(trace, PAGE);
		error = trace_error(trace);
	}
	iov.iov_len = count * PAGE;
	memset(f->memory, 0, PAGES * PAGE);
	r = (now || may_wait ? reader_read_now : reader_read)(f->reader, &iov, 1, from * PAGE,
							      bytes);
	if (may_wait && r == -EAGAIN)
		return true;
	if (r != -error)
		trace_fail(trace, "it is %s", strerror(-r));
	if (r == 0)
		assert_memory_equal(f->memory, f->content + from * PAGE, bytes);
	return true;
}

static void run(struct fixture *f, const char *text)
{
	struct trace trace = trace_begin(text);

	while (trace_next(&trace)) {
		const struct trace_sum sums[] = {{"reads", f->reader->reads},
						 {"errors", f->reader->errors},
						 {"calls", orders.calls},
						 {"cached", cached(f)},
						 {NULL, 0}};
		bool direct = trace_is(&trace, "direct");

		if (trace_equals(&trace, sums, 1) || give_order(&trace, f) || do_read(&trace, f))
			continue;
		if (trace_is(&trace, "bytes"))
			assert_int_equal(f->reader->bytes, trace_sum(&trace, PAGE));
		else if (direct || trace_is(&trace, "buffered"))
			assert_int_equal(is_direct(f->reader), direct);
		else if (trace_is(&trace, "prepare"))
			assert_int_equal(reader_prepare(f->reader, READER_AUTO), 0);
		else if (trace_is(&trace, "prepare-direct"))
			assert_int_equal(reader_prepare(f->reader, READER_DIRECT),
					 -trace_error(&trace));
		else if (!trace_is(&trace, "need-direct"))
			trace_fail(&trace, "'%s' is unknown", trace.verb);
		else if (!is_direct(f->reader))
			skip(); /* no direct reads at /var/tmp */
	}
}

#define TRACE(fixture, name, text)  \
	TEST_WITH(fixture, f, name) \
	{                           \
		run(f, text);       \
	}                           \
	_Static_assert(1, "")

FIXTURE(f, struct fixture, setup, teardown);
FIXTURE(buffered, struct fixture, setup_buffered, teardown);

/* --- reading, direct or not ------------------------------------------------------------------ */

TEST_OF(f, scattered_pieces_are_filled_in_order)
{
	char *at = f->memory;
	struct iovec iov[] = {{at + 30 * PAGE, PAGE}, {at, 20 * PAGE}, {at + 50 * PAGE, PAGE}};

	assert_int_equal(reader_read(f->reader, iov, 3, 3 * PAGE, 22 * PAGE), 0);
	assert_memory_equal(at + 30 * PAGE, f->content + 3 * PAGE, PAGE);
	assert_memory_equal(at, f->content + 4 * PAGE, 20 * PAGE);
	assert_memory_equal(at + 50 * PAGE, f->content + 24 * PAGE, PAGE);
	run(f, "reads 1; bytes 22; errors 0");
}
TEST_AGAIN(buffered, scattered_pieces_are_filled_in_order);

TEST_OF(f, a_gap_that_is_too_long_for_its_memory_is_refused)
{
	struct iovec iov[] = {{f->memory, PAGE}, {NULL, 2 * PAGE}, {f->memory + PAGE, PAGE}};
	struct iovec bad = {NULL, READER_GAP_MAX + PAGE};

	assert_int_equal(reader_read(f->reader, iov, 3, PAGE, 4 * PAGE), 0);
	assert_memory_equal(f->memory, f->content + PAGE, PAGE);
	assert_memory_equal(f->memory + PAGE, f->content + 4 * PAGE, PAGE);
	assert_int_equal(reader_read(f->reader, &bad, 1, 0, PAGE), -EINVAL);
	assert_true(reader_read_now(f->reader, &bad, 1, 0, PAGE) < 0);
}
TEST_AGAIN(buffered, a_gap_that_is_too_long_for_its_memory_is_refused);

TRACE(f, reading_nothing_is_fine, "read 0 0 0; reads 0; calls 0");
TEST_AGAIN(buffered, reading_nothing_is_fine);

/* The last page is asked for as a whole, and comes as far as there is any. */
TEST_OF(f, the_last_byte_is_there_and_the_next_is_not)
{
	bool direct = is_direct(f->reader);

	run(f,
	    "read 72 3 2+1000; bytes 2+1000; read 72 3 2+1001 ENODATA; read 75 1 0+1 ENODATA;"
	    "errors 2");
	assert_int_equal(is_direct(f->reader), direct); /* no reason to change that */
	run(f, "all");
}
TEST_AGAIN(buffered, the_last_byte_is_there_and_the_next_is_not);

TEST_OF(f, a_read_that_comes_in_parts_goes_on)
{
	struct iovec iov[] = {{f->memory, 5 * PAGE}, {f->memory + 5 * PAGE, 70 * PAGE}};

	run(f, "most 8");
	assert_int_equal(reader_read(f->reader, iov, 2, 0, FILE_BYTES), 0);
	assert_memory_equal(f->memory, f->content, FILE_BYTES);
	run(f, "reads 10; bytes 74+1000");
}
TEST_AGAIN(buffered, a_read_that_comes_in_parts_goes_on);

TEST_OF(f, a_read_that_is_interrupted_goes_on)
{
	run(f, "most 8; fail 2 EINTR; all; reads 10; errors 0");
}
TEST_AGAIN(buffered, a_read_that_is_interrupted_goes_on);

TRACE(f, an_error_is_passed_on_and_counted_once,
      "most 8; fail 2 EIO; read 0 75 74+1000 EIO; errors 1; reads 0; bytes 0; all");
TEST_AGAIN(buffered, an_error_is_passed_on_and_counted_once);

struct thread {
	struct fixture *fixture;
	char *memory;
	int failed;
};

static void *read_often(void *arg)
{
	struct thread *t = arg;

	for (unsigned i = 0; i < 100; i++) {
		struct iovec iov = {t->memory, 2 * PAGE};
		uint64_t at = (uint64_t)(i % 70) * PAGE;

		if (reader_read(t->fixture->reader, &iov, 1, at, 2 * PAGE) != 0 ||
		    memcmp(t->memory, t->fixture->content + at, 2 * PAGE) != 0)
			t->failed++;
	}
	return NULL;
}

TEST_OF(f, many_threads_may_read_at_once)
{
	enum { THREADS = 4 };
	struct thread threads[THREADS];
	pthread_t ids[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){.fixture = f, .memory = f->memory + i * 2 * PAGE};
		assert_int_equal(pthread_create(&ids[i], NULL, read_often, &threads[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(threads[i].failed, 0);
	}
	run(f, "reads 400; bytes 800");
}
TEST_AGAIN(buffered, many_threads_may_read_at_once);

/* --- who holds a copy ------------------------------------------------------------------------ */

TRACE(f, a_direct_read_leaves_no_copy_with_the_kernel, "need-direct; cached 0; all; cached 0");

TEST_WITH(buffered, f, who_wants_buffered_reads_has_the_kernel_keep_what_was_read)
{
	run(f, "buffered; read 10 20 20");
	assert_true(cached(f) >= 20);
}

/* One read may be refused for what it is. */
TRACE(f, a_direct_read_that_is_refused_is_done_buffered_and_the_next_is_direct,
      "need-direct; fail 1 EINVAL; all; calls 2; cached 0; direct;"
      "all; calls 3; cached 0; reads 2; errors 0");

/* Many of them, but others between. */
TEST_OF(f, refusals_now_and_then_leave_direct_reads_on)
{
	run(f, "need-direct");
	for (int i = 0; i < 100; i++)
		run(f, "calm; fail 1 EINVAL; read 0 1 1; read 0 1 1; direct");
}

/* As some filesystems do though they say otherwise. */
static void refuse_direct(struct fixture *f)
{
	run(f, "need-direct; no-direct");
	for (int i = 0; i < 20; i++)
		run(f, "read 0 1 1");
	run(f, "buffered; calm");
}

TEST_OF(f, where_all_direct_reads_are_refused_none_is_tried_any_more)
{
	refuse_direct(f);
	run(f, "all; calls 1; errors 0; cached 0"); /* the pool has it: the kernel is told */
}

TRACE(f, a_direct_read_that_is_refused_half_way_is_right_all_the_same,
      "need-direct; most 8; fail 2 EINVAL; all");

TEST_OF(f, memory_that_is_not_aligned_is_filled_all_the_same)
{
	struct iovec iov = {f->memory + 1, PAGE};

	run(f, "need-direct");
	assert_int_equal(reader_read(f->reader, &iov, 1, PAGE, PAGE), 0);
	assert_memory_equal(f->memory + 1, f->content + PAGE, PAGE);
}

/* An extent ends within a page, which is read as a whole. */
TEST_OF(f, the_page_that_an_extent_ends_in_is_dropped_too)
{
	refuse_direct(f);
	run(f, "read 0 5 4+1; read 10 5 4+1; read 20 5 4+1; read 30 5 4+1; cached 0");
}

/* --- files in memory, and none --------------------------------------------------------------- */

static bool is_tmpfs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static void need_tmpfs(const struct fixture *f)
{
	if (f->reader)
		return;
	print_message("no tmpfs at /dev/shm\n");
	skip();
}

static void setup_in_memory(struct fixture *f)
{
	if (is_tmpfs("/dev/shm"))
		setup_in("/dev/shm", READER_AUTO, f);
}

FIXTURE(in_memory, struct fixture, setup_in_memory, teardown);

TEST_WITH(in_memory, f, a_file_in_memory_never_waits_and_counts_its_errors_once)
{
	need_tmpfs(f);
	run(f,
	    "buffered; now 0 75 74+1000; reads 1; now 75 1 0+1 EAGAIN; read 75 1 0+1 ENODATA;"
	    "errors 1; prepare-direct EOPNOTSUPP");
}

TRACE(f, direct_reads_that_can_be_had_are_had, "need-direct; prepare-direct; direct");

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST_OF(f, a_reader_closes_what_it_opened_and_nothing_else)
{
	unsigned before = open_descriptors();
	struct reader *reader;

	run(f, "need-direct");
	reader = reader_of(f->fd, READER_AUTO);
	assert_int_equal(open_descriptors(), before + 1);
	assert_int_equal(reader_prepare(reader, READER_AUTO), 0);
	assert_int_equal(open_descriptors(), before + 1);
	reader_free(reader);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(reader_file_open("/proc/self/exe", &reader), 0);
	assert_int_equal(open_descriptors(), before + 1);
	reader_free(reader);
	assert_int_equal(open_descriptors(), before);
	assert_true(fcntl(f->fd, F_GETFD) >= 0);
}

TEST(only_a_file_can_be_opened)
{
	struct reader *reader;

	assert_int_equal(reader_file_open("/", &reader), -EISDIR);
	assert_int_equal(reader_file_open("/dev/null", &reader), -EINVAL);
	assert_int_equal(reader_file_open("/none", &reader), -ENOENT);
}

TEST(what_the_system_says_is_passed_on)
{
	static char page[PAGE];
	struct iovec iov = {page, PAGE};
	struct reader_identity identity;
	struct reader *bad;
	int fds[2];
	char byte;

	bad = reader_of(-1, READER_AUTO);
	assert_int_equal(reader_read(bad, &iov, 1, 0, PAGE), -EBADF);
	assert_int_equal(bad->errors, 1);
	assert_int_equal(reader_read_now(bad, &iov, 1, 0, PAGE), -EAGAIN); /* not its business */
	assert_int_equal(bad->errors, 1);
	assert_int_equal(reader_get(bad, &byte, 1, 0), -EBADF);
	assert_int_equal(reader_get_full(bad, &byte, 1, 0), -EBADF);
	assert_int_equal(reader_identity(bad, &identity), -EBADF);
	reader_free(bad);
	orders = (struct orders){0};
	assert_int_equal(pipe(fds), 0);
	bad = reader_of(fds[0], READER_AUTO);
	assert_int_equal(reader_read(bad, &iov, 1, 0, PAGE), -ESPIPE);
	assert_int_equal(bad->errors, 1);
	reader_free(bad);
	close(fds[0]);
	close(fds[1]);
}

/* --- single bytes, and which file it is ------------------------------------------------------- */

TEST_WITH(buffered, f, any_bytes_can_be_had_up_to_the_end)
{
	assert_int_equal(reader_get(f->reader, f->memory, 5000, 777), 5000);
	assert_memory_equal(f->memory, f->content + 777, 5000);
	assert_int_equal(reader_get(f->reader, f->memory, 5000, FILE_BYTES - 9), 9);
	assert_int_equal(reader_get_full(f->reader, f->memory, 9, FILE_BYTES - 9), 0);
	assert_memory_equal(f->memory, f->content + FILE_BYTES - 9, 9);
	assert_int_equal(reader_get_full(f->reader, f->memory, 10, FILE_BYTES - 9), -ENODATA);
	assert_int_equal(f->reader->bytes, 0); /* not what is counted */
}

TEST_WITH(buffered, f, a_file_that_changes_is_another_one)
{
	struct reader_identity before, now;
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	assert_int_equal(futimens(f->fd, old), 0);
	assert_int_equal(reader_identity(f->reader, &before), 0);
	assert_int_equal(before.size, FILE_BYTES);
	usleep(20000); /* the clock of files is coarse */
	assert_int_equal(fchmod(f->fd, 0400), 0);
	assert_int_equal(reader_identity(f->reader, &now), 0);
	assert_int_equal(now.written, before.written);
	assert_int_not_equal(now.touched, before.touched);
	assert_int_equal(pwrite(f->fd, "x", 1, 0), 1);
	assert_int_equal(reader_identity(f->reader, &now), 0);
	assert_int_not_equal(now.written, before.written);
	assert_int_equal(ftruncate(f->fd, 5), 0);
	assert_int_equal(reader_identity(f->reader, &now), 0);
	assert_int_equal(now.size, 5);
}

/* --- reads that need not wait ---------------------------------------------------------------- */

/* The system may let go of it at any time. */
TRACE(f, what_the_kernel_has_need_not_be_waited_for, "warm; try 0 75 74+1000; errors 0");
TEST_AGAIN(buffered, what_the_kernel_has_need_not_be_waited_for);

/* As on machines of 64 KiB: sixteen of a file's pieces are one page. */
TEST_OF(f, what_the_kernel_has_is_counted_in_its_own_pages)
{
	struct iovec iov = {f->memory, 3 * PAGE};
	int r;

	run(f, "need-direct");
	if (cached_pages(f->fd, 0, PAGE) < 0)
		skip(); /* no cachestat(2) */
	run(f, "page 16; warm");
	r = reader_read_now(f->reader, &iov, 1, 15 * PAGE, 3 * PAGE);
	if (r == -EAGAIN && cached(f) < PAGES)
		skip(); /* the system needed the memory */
	assert_int_equal(r, 0);
	assert_memory_equal(f->memory, f->content + 15 * PAGE, 3 * PAGE);
}

/* All of it cold, or the second half. What a refused read brought will be read, and counted, again.
 */
TEST_OF(f, what_the_kernel_has_not_is_refused_or_right_and_counts_no_error)
{
	for (int i = 0; i < 20; i++) {
		uint64_t reads = f->reader->reads, bytes = f->reader->bytes;

		run(f,
		    i % 2 ? "warm; cold 0; try 0 75 74+1000" : "warm; cold 40; try 0 75 74+1000");
		assert_int_equal(f->reader->bytes - bytes,
				 f->reader->reads > reads ? FILE_BYTES : 0);
	}
	run(f, "errors 0");
}
TEST_AGAIN(buffered, what_the_kernel_has_not_is_refused_or_right_and_counts_no_error);

/* Which would have the kernel read it, and keep a copy. */
TRACE(f, where_reads_are_direct_the_kernel_is_not_asked_for_what_it_has_not,
      "need-direct; cold 0; now 0 5 5 EAGAIN; now 3 5 5 EAGAIN; now 20 5 5 EAGAIN; calls 0;"
      "cached 0");

TRACE(f, the_end_of_the_file_is_left_to_the_read_that_waits,
      "warm; now 74 1 0+1001 EAGAIN; errors 0");
TEST_AGAIN(buffered, the_end_of_the_file_is_left_to_the_read_that_waits);

TRACE(buffered, where_no_read_can_do_without_waiting_none_is_tried_again,
      "no-nowait; now 0 1 1 EAGAIN; calls 1; now 0 1 1 EAGAIN; calls 1; all");

/* --- two mounts of one file ------------------------------------------------------------------ */

/* Another mount has an opening of its own. */
static int open_again(const struct fixture *f)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Reads until reads are so. A look is due each second. */
static bool becomes_direct(struct reader *reader, char *memory, bool direct)
{
	uint64_t end = clock_ns() + PATIENCE;

	while (clock_ns() < end) {
		struct iovec iov = {memory, PAGE};

		assert_int_equal(reader_read(reader, &iov, 1, 0, PAGE), 0);
		if (is_direct(reader) == direct)
			return true;
		usleep(20000);
	}
	return false;
}

TEST_OF(f, two_mounts_of_one_file_share_the_kernels_copy)
{
	SCOPE_CLOSE int fd = open_again(f);
	struct reader *other;

	run(f, "need-direct");
	assert_true(becomes_direct(f->reader, f->memory, true));
	other = reader_of(fd, READER_AUTO);
	assert_true(becomes_direct(other, f->memory, false)); /* finds the first one at once */
	assert_true(becomes_direct(f->reader, f->memory, false));
	run(f, "cold 0; all; cached 75"); /* kept for the other */
	reader_free(other);		  /* its file is still open */
	assert_true(becomes_direct(f->reader, f->memory, true));
	run(f, "cold 0; all; cached 0");
	other = reader_of(fd, READER_AUTO);
	assert_true(becomes_direct(f->reader, f->memory, false));
	close(steal_fd(&fd)); /* as the end of a mount does */
	assert_true(becomes_direct(f->reader, f->memory, true));
	reader_free(other);
}

TEST_OF(f, who_is_alone_does_not_take_itself_or_who_only_reads_for_another_mount)
{
	SCOPE_CLOSE int fd = open_again(f);

	run(f, "need-direct");
	for (int i = 0; i < 3; i++) {
		run(f, "prepare; all; direct"); /* the first read looks */
		assert_int_equal(pread(fd, f->memory, PAGE, 0), PAGE);
	}
}

/* --- failures that pass ----------------------------------------------------------------------- */

static void ignore_line(const char *line)
{
	(void)line;
}

static void setup_nfs(struct fixture *f)
{
	setup_buffered(f);
	reader_free(f->reader);
	orders.fs_type = NFS_SUPER_MAGIC;
	f->reader = reader_of(f->fd, READER_BUFFERED);
	reader_file_retry(f->reader, "/var/tmp", 3600, ignore_line);
	assert_int_equal(reader_prepare(f->reader, READER_BUFFERED), 0);
}

FIXTURE(nfs, struct fixture, setup_nfs, teardown);

TRACE(nfs, a_server_is_asked_for_nothing_by_who_cannot_wait, "now 0 1 1 EAGAIN; calls 0");

TRACE(nfs, a_failure_of_a_server_is_repeated, "fail 1 EIO; read 0 1 1; calls 2");

TEST_WITH(nfs, f, a_cancelled_reader_repeats_nothing)
{
	reader_cancel(f->reader);
	run(f, "fail 1 ETIMEDOUT; read 0 1 1 ETIMEDOUT; calls 1");
}

TEST_WITH(buffered, f, a_failure_of_a_disk_is_not_repeated)
{
	reader_file_retry(f->reader, "/var/tmp", 3600, ignore_line);
	run(f, "fail 1 EIO; read 0 1 1 EIO; calls 1");
}
