#include "base/reader_members.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include <limits.h>
#include <string.h>

#define HOLE	  ((uint64_t)4 << 20)
#define GROUP	  64u /* members, of which the start of the first is in memory */
#define TAG_MOST  1024
#define TEXT_MOST (PATH_MAX + TAG_MOST)
_Static_assert(HOLE > READER_GAP_MAX, "no read spans two members");

struct reader_members {
	struct reader reader;
	struct members *members;
	struct reader_members_table table;
	uint64_t end;	  /* behind the last one */
	size_t groups;	  /* at least one */
	uint64_t *starts; /* of the first member of each */
};

/* A member that was looked up. */
struct found {
	struct member member;
	uint64_t start;
	char text[TEXT_MOST + 1]; /* what the member points to */
};

static struct reader_members *members_of(const struct reader *reader)
{
	return (struct reader_members *)(uintptr_t)reader;
}

uint64_t reader_members_after(uint64_t start, uint64_t size)
{
	return start + ((size + 2 * HOLE - 1) & ~(HOLE - 1));
}

void reader_members_encode(uint64_t start, const struct member *member, uint64_t text,
			   uint8_t ret[static READER_MEMBERS_ROW])
{
	le_put64(ret, start);
	le_put64(ret + 8, member->size);
	le_put64(ret + 16, (uint64_t)member->mtime);
	le_put64(ret + 24, text);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Whether a path leads nowhere but down. */
static bool is_below(const char *path)
{
	const char *part = path;

	do {
		size_t len = strcspn(part, "/");

		if (len == 0 || (*part == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
			return false;
		part += len;
	} while (*part++);
	return true;
}

static int find_text(const struct reader_members *all, uint64_t at, struct found *ret)
{
	const struct reader_members_table *table = &all->table;
	size_t len = (size_t)min(TEXT_MOST, sub_sat(table->text, at)), path;
	int r = reader_get_full(table->file, ret->text, len,
				table->offset + table->count * READER_MEMBERS_ROW + at);

	if (r < 0)
		return r;
	ret->text[len] = '\0';
	path = strlen(ret->text) + 1;
	if (path >= len || memchr(ret->text + path, '\0', len - path) == NULL)
		return -EBADMSG;
	ret->member.path = ret->text;
	ret->member.tag = ret->text + path;
	return is_below(ret->text) ? 0 : -EBADMSG;
}

/* The member that an offset lies in. Returns -ENODATA where it lies in a hole. */
static int find(const struct reader_members *all, uint64_t offset, struct found *ret)
{
	const struct reader_members_table *table = &all->table;
	uint64_t first =
		search_last(all->starts, all->groups, sizeof(*all->starts), offset) * GROUP;
	size_t count = (size_t)min(GROUP, table->count - first);
	uint8_t rows[GROUP * READER_MEMBERS_ROW], *row = rows;
	int r = count == 0 ? -ENODATA
			   : reader_get_full(table->file, rows, count * READER_MEMBERS_ROW,
					     table->offset + first * READER_MEMBERS_ROW);

	if (r < 0)
		return r;
	for (size_t i = 1; i < count && le_get64(rows + i * READER_MEMBERS_ROW) <= offset; i++)
		row = rows + i * READER_MEMBERS_ROW;
	ret->start = le_get64(row);
	ret->member.size = le_get64(row + 8);
	ret->member.mtime = (int64_t)le_get64(row + 16);
	if (offset < ret->start || offset - ret->start >= ret->member.size)
		return -ENODATA;
	return find_text(all, le_get64(row + 24), ret);
}

/* Each begins where the one before says. */
static int load(struct reader_members *all, uint64_t *ret_stored)
{
	const struct reader_members_table *table = &all->table;
	uint8_t rows[GROUP * READER_MEMBERS_ROW];
	uint64_t stored = 0;

	for (uint64_t first = 0; first < table->count; first += GROUP) {
		size_t count = (size_t)min(GROUP, table->count - first);
		int r = reader_get_full(table->file, rows, count * READER_MEMBERS_ROW,
					table->offset + first * READER_MEMBERS_ROW);

		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
		all->starts[first / GROUP] = all->end;
		for (size_t i = 0; i < count; i++) {
			const uint8_t *row = rows + i * READER_MEMBERS_ROW;
			uint64_t size = le_get64(row + 8);

			if (le_get64(row) != all->end || size == 0 ||
			    size > INT64_MAX - 2 * HOLE - all->end ||
			    le_get64(row + 24) >= table->text)
				return -EBADMSG;
			all->end = reader_members_after(all->end, size);
			stored += size;
		}
	}
	*ret_stored = stored;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int count_read(struct reader *reader, uint64_t bytes, int r)
{
	if (r < 0) {
		atomic_fetch_add_explicit(&reader->errors, 1, memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&reader->reads, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&reader->bytes, bytes, memory_order_relaxed);
	}
	return r;
}

static int members_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed)
{
	struct members *members = members_of(reader)->members;
	struct found found;
	int r;

	if (members->ops->submit)
		return reader_submit_and_wait(reader, iov, count, offset, needed);
	r = find(members_of(reader), offset, &found);
	if (r == 0)
		r = members->ops->read(members, &found.member, iov, count, offset - found.start,
				       needed);
	return count_read(reader, needed, r);
}

static int members_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			    uint64_t needed)
{
	struct members *members = members_of(reader)->members;
	struct found found;

	if (!members->ops->read_now || find(members_of(reader), offset, &found) < 0 ||
	    members->ops->read_now(members, &found.member, iov, count, offset - found.start,
				   needed) < 0)
		return -EAGAIN;
	return count_read(reader, needed, 0);
}

/* A read that is under way, to be counted. */
struct pending {
	struct reader *reader;
	struct reader_request *request;
};

static void on_done(void *arg, int error)
{
	struct pending *pending = arg;
	struct reader_request *request = pending->request;

	count_read(pending->reader, request->needed, error);
	free(pending);
	request->done(request->arg, error);
}

static void members_submit(struct reader *reader, struct reader_request *request)
{
	struct members *members = members_of(reader)->members;
	struct pending *pending = malloc(sizeof(*pending));
	struct found found;
	int r = pending ? find(members_of(reader), request->offset, &found) : -ENOMEM;

	if (r < 0) {
		free(pending);
		request->done(request->arg, count_read(reader, 0, r));
		return;
	}
	*pending = (struct pending){.reader = reader, .request = request};
	members->ops->submit(members, &found.member, request->iov, request->count,
			     request->offset - found.start, request->needed, reader_ahead(request),
			     on_done, pending);
}

/* Up to the end of the member. */
static ssize_t members_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct found found;
	struct iovec iov = {.iov_base = buf};
	int r = find(members_of(reader), offset, &found);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	iov.iov_len = (size_t)min(len, found.member.size - (offset - found.start));
	len = iov.iov_len;
	r = members_read(reader, &iov, 1, offset, len);
	return r < 0 ? r : (ssize_t)len;
}

/* --- the rest --------------------------------------------------------------------------------- */

static int members_prepare(struct reader *reader, enum reader_io io)
{
	struct members *members = members_of(reader)->members;

	return members->ops->prepare ? members->ops->prepare(members, io) : 0;
}

static void members_cancel(struct reader *reader)
{
	struct members *members = members_of(reader)->members;

	if (members->ops->cancel)
		members->ops->cancel(members);
}

/* Of the listing, which does not change: whether a member has is asked at each read. */
static int members_identity(struct reader *reader, struct reader_identity *ret)
{
	*ret = (struct reader_identity){.size = members_of(reader)->end};
	return 0;
}

static void members_hints(const struct reader *reader, struct reader_hints *ret)
{
	const struct members *members = members_of(reader)->members;
	bool remote = members->ops->submit;

	*ret = (struct reader_hints){
		.shared = remote, .remote = remote, .direct = members->direct, .members = true};
}

static void members_rest(struct reader *reader)
{
	struct members *members = members_of(reader)->members;

	if (members->ops->rest)
		members->ops->rest(members);
}

static void members_stats(struct reader *reader, struct reader_stats *ret)
{
	struct members *members = members_of(reader)->members;

	*ret = (struct reader_stats){0};
	if (members->ops->stats)
		members->ops->stats(members, ret);
}

static void members_free(struct reader *reader)
{
	struct members *members = reader_members_leave(reader);

	members->ops->free(members);
}

#define MEMBERS_OPS                                                                     \
	.prepare = members_prepare, .read = members_read, .read_now = members_read_now, \
	.cancel = members_cancel, .get = members_get, .identity = members_identity,     \
	.hints = members_hints, .rest = members_rest, .free = members_free

static const struct reader_ops near_ops = {MEMBERS_OPS};
static const struct reader_ops far_ops = {MEMBERS_OPS, .submit = members_submit,
					  .stats = members_stats};

int reader_members_new(struct members *members, const struct reader_members_table *table,
		       struct reader **ret, uint64_t *ret_stored)
{
	struct reader_members *all = calloc(1, sizeof(*all));
	size_t groups = (size_t)max(1, (table->count + GROUP - 1) / GROUP);
	uint64_t *starts = calloc(groups, sizeof(*starts));
	int r = -ENOMEM;

	if (all && starts) {
		*all = (struct reader_members){.reader.ops =
						       members->ops->submit ? &far_ops : &near_ops,
					       .members = members,
					       .table = *table,
					       .groups = groups,
					       .starts = starts};
		r = load(all, ret_stored);
	}
	if (r < 0) {
		free(starts);
		free(all);
		return r;
	}
	*ret = &all->reader;
	return 0;
}

int reader_members_tag(struct reader *reader, uint64_t offset, struct buf *ret)
{
	bool is_one = reader->ops == &near_ops || reader->ops == &far_ops;
	struct found found;
	int r = is_one ? find(members_of(reader), offset, &found) : -ENODATA;

	return r < 0 ? r : buf_adds(ret, found.member.tag);
}

struct members *reader_members_leave(struct reader *reader)
{
	struct members *members = members_of(reader)->members;

	free(members_of(reader)->starts);
	free(reader);
	return members;
}
