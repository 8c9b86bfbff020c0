#include "base/reader_volumes.h"
#include "base/search.h"
#include <errno.h>
#include <stdlib.h>

struct volume {
	uint64_t start;
	struct reader *reader;
};

struct reader_volumes {
	struct reader reader;
	unsigned count;
	struct volume volumes[]; /* by start */
};

static const struct reader_volumes *volumes_of(const struct reader *reader)
{
	return (const struct reader_volumes *)reader;
}

uint64_t reader_volumes_after(uint64_t start, uint64_t size)
{
	return start + ((size + 2 * READER_VOLUMES_HOLE) & ~(READER_VOLUMES_HOLE - 1));
}

uint64_t reader_volumes_start(const struct reader *reader, unsigned volume)
{
	return volumes_of(reader)->volumes[volume].start;
}

unsigned reader_volumes_find(const struct reader *reader, uint64_t offset)
{
	const struct reader_volumes *all = volumes_of(reader);

	return (unsigned)search_last(all->volumes, all->count, sizeof(all->volumes[0]), offset);
}

static const struct volume *volume_at(const struct reader *reader, uint64_t offset)
{
	return &volumes_of(reader)->volumes[reader_volumes_find(reader, offset)];
}

static int volumes_prepare(struct reader *reader, enum reader_io io)
{
	const struct reader_volumes *all = volumes_of(reader);
	int r = 0;

	for (unsigned i = 0; r == 0 && i < all->count; i++)
		r = reader_prepare(all->volumes[i].reader, io);
	return r;
}

static int volumes_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed)
{
	const struct volume *volume = volume_at(reader, offset);

	return reader_read(volume->reader, iov, count, offset - volume->start, needed);
}

static int volumes_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			    uint64_t needed)
{
	const struct volume *volume = volume_at(reader, offset);

	return reader_read_now(volume->reader, iov, count, offset - volume->start, needed);
}

static void volumes_submit(struct reader *reader, struct reader_request *request)
{
	const struct volume *volume = volume_at(reader, request->offset);

	request->offset -= volume->start;
	reader_submit(volume->reader, request);
}

static void volumes_cancel(struct reader *reader)
{
	const struct reader_volumes *all = volumes_of(reader);

	for (unsigned i = 0; i < all->count; i++)
		reader_cancel(all->volumes[i].reader);
}

static ssize_t volumes_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	const struct volume *volume = volume_at(reader, offset);

	return reader_get(volume->reader, buf, len, offset - volume->start);
}

static void volumes_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	const struct volume *volume = volume_at(reader, offset);

	reader_will_get(volume->reader, offset - volume->start, len);
}

/* Changes when the value of any volume does. */
static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static int volumes_identity(struct reader *reader, struct reader_identity *ret)
{
	const struct reader_volumes *all = volumes_of(reader);
	struct reader_identity sum = {0}, one;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < all->count; i++) {
		r = reader_identity(all->volumes[i].reader, &one);
		if (r < 0)
			return r;
		sum.written = mix(mix(sum.written, one.size), one.written);
		sum.touched = mix(sum.touched, one.touched);
		sum.size = all->volumes[i].start + one.size;
	}
	*ret = sum;
	return 0;
}

static void volumes_hints(const struct reader *reader, struct reader_hints *ret)
{
	const struct reader_volumes *all = volumes_of(reader);
	struct reader_hints sum = {.direct = true};

	for (unsigned i = 0; i < all->count; i++) {
		struct reader_hints one = reader_hints(all->volumes[i].reader);

		sum.shared |= one.shared;
		sum.remote |= one.remote;
		sum.members |= one.members;
		sum.direct &= one.direct;
	}
	*ret = sum;
}

static void volumes_counts(const struct reader *reader, struct reader_counts *ret)
{
	const struct reader_volumes *all = volumes_of(reader);
	struct reader_counts sum = {0};

	for (unsigned i = 0; i < all->count; i++) {
		struct reader_counts one = reader_counts(all->volumes[i].reader);

		sum.reads += one.reads;
		sum.bytes += one.bytes;
		sum.errors += one.errors;
	}
	*ret = sum;
}

static bool volumes_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	const struct volume *volume = volume_at(reader, offset);

	return reader_bad(volume->reader, offset - volume->start, len);
}

static void volumes_rest(struct reader *reader)
{
	const struct reader_volumes *all = volumes_of(reader);

	for (unsigned i = 0; i < all->count; i++)
		reader_rest(all->volumes[i].reader);
}

static void volumes_free(struct reader *reader)
{
	free(reader);
}

static const struct reader_ops volumes_ops = {
	.prepare = volumes_prepare,
	.read = volumes_read,
	.read_now = volumes_read_now,
	.submit = volumes_submit,
	.cancel = volumes_cancel,
	.get = volumes_get,
	.will_get = volumes_will_get,
	.identity = volumes_identity,
	.hints = volumes_hints,
	.counts = volumes_counts,
	.bad = volumes_bad,
	.rest = volumes_rest,
	.free = volumes_free,
};

static int place_volumes(struct reader_volumes *all, struct reader *const *readers)
{
	uint64_t next = 0;

	for (unsigned i = 0; i < all->count; i++) {
		struct reader_identity identity;
		int r = reader_identity(readers[i], &identity);

		if (r < 0)
			return r;
		all->volumes[i] = (struct volume){.reader = readers[i], .start = next};
		if (identity.size > UINT64_MAX - next - 2 * READER_VOLUMES_HOLE)
			return -EOVERFLOW;
		next = reader_volumes_after(next, identity.size);
	}
	return 0;
}

int reader_volumes_new(struct reader *const *readers, unsigned count, struct reader **ret)
{
	struct reader_volumes *all = calloc(1, sizeof(*all) + count * sizeof(all->volumes[0]));
	int r;

	if (!all)
		return -ENOMEM;
	all->reader.ops = &volumes_ops;
	all->count = count;
	r = place_volumes(all, readers);
	if (r < 0) {
		free(all);
		return r;
	}
	*ret = &all->reader;
	return 0;
}
