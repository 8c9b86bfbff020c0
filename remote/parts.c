#include "remote/parts.h"
#include "base/math.h"
#include <stdlib.h>

struct parts {
	struct reader_request *whole;
	atomic_uint left; /* parts that have not ended */
	atomic_int error; /* of one that failed */
	unsigned count;
	struct reader_request all[PARTS_MOST];
	struct iovec iov[];
};

static void settle_parts(struct reader_request *whole, bool right)
{
	struct parts *parts = whole->settled;

	for (unsigned i = 0; i < parts->count; i++)
		reader_settle(&parts->all[i], right);
	free(parts);
}

static void on_part(void *arg, int error)
{
	struct parts *parts = arg;
	struct reader_request *whole = parts->whole;

	if (error)
		atomic_store(&parts->error, error);
	if (atomic_fetch_sub(&parts->left, 1) > 1)
		return;
	whole->settle = settle_parts;
	whole->settled = parts;
	whole->done(whole->arg, atomic_load(&parts->error));
}

/* The memory of bytes of a request. Returns the number of pieces: at most one more than there were.
 */
static int slice(const struct reader_request *whole, uint64_t skip, uint64_t len, struct iovec *ret)
{
	int count = 0;

	for (int i = 0; i < whole->count && len; i++) {
		struct iovec piece = whole->iov[i];
		uint64_t left = min(skip, piece.iov_len);

		if (piece.iov_base)
			piece.iov_base = (char *)piece.iov_base + left;
		piece.iov_len = min(piece.iov_len - left, len);
		skip -= left;
		len -= piece.iov_len;
		if (piece.iov_len)
			ret[count++] = piece;
	}
	return count;
}

int parts_submit(struct reader *reader, struct reader_request *request, const uint64_t *ends,
		 unsigned count, void (*submit)(struct reader *reader, struct reader_request *part))
{
	struct parts *parts =
		calloc(1, sizeof(*parts) + ((size_t)request->count + count) * sizeof(struct iovec));
	uint64_t begin = request->offset, last = request->offset + request->needed;
	struct iovec *next;

	if (!parts)
		return -ENOMEM;
	next = parts->iov;
	parts->whole = request;
	parts->count = count;
	atomic_init(&parts->left, count);
	for (unsigned i = 0; i < count; begin = ends[i++]) {
		uint64_t len = i + 1 < count ? ends[i] - begin : UINT64_MAX;
		struct reader_request *part = &parts->all[i];

		*part = (struct reader_request){.iov = next,
						.offset = begin,
						.needed = min(ends[i], last) - begin,
						.ahead = true,
						.whole = request,
						.done = on_part,
						.arg = parts};
		part->count = slice(request, begin - request->offset, len, next);
		next += part->count;
	}
	for (unsigned i = 0; i < count; i++)
		submit(reader, &parts->all[i]);
	return 0;
}
