/* One file that is only read, wherever it lies. What pack/ and cache/ know of storage is this.
 *
 * There are two ways to read:
 *
 *	reader_get	any bytes into one buffer, through the cache of the system, if there is
 *			one: indexes, and what tools read
 *	reader_read	whole pages into scattered memory that the caller keeps, so that no other
 *			cache needs to keep them: what a mount serves. reader_prepare() comes first
 *
 * Both wait. An asynchronous read will be one more operation beside reader_read: the same
 * arguments, memory that stays the reader's until it calls a function with the result, and many
 * under way at once.
 *
 * Threads: any number may read at once. reader_prepare() and reader_free() are called alone. */
#ifndef BASE_READER_H
#define BASE_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define READER_PAGE 4096u /* reader_read() begins and ends at multiples of it */

struct reader;

enum reader_io { READER_AUTO, READER_DIRECT, READER_BUFFERED };

/* Which file it is, and in which state. */
struct reader_identity {
	uint64_t size;	  /* bytes */
	uint64_t written; /* another value: it was written to */
	uint64_t
		touched; /* another value: perhaps it was; or it was renamed, or its mode changed */
};

struct reader_hints {
	bool remote; /* storage of other machines: a request takes a round trip, others share it */
	bool direct; /* reader_read() goes past the page cache at present */
};

struct reader_ops {
	int (*prepare)(struct reader *reader, enum reader_io io);
	int (*read)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);
	int (*read_now)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed);
	ssize_t (*get)(struct reader *reader, void *buf, size_t len, uint64_t offset);
	void (*will_get)(struct reader *reader, uint64_t offset, size_t len);
	int (*identity)(struct reader *reader, struct reader_identity *ret);
	void (*hints)(const struct reader *reader, struct reader_hints *ret);
	void (*free)(struct reader *reader);
};

/* The beginning of each kind of reader. */
struct reader {
	const struct reader_ops *ops;
	/* Of reader_read() and reader_read_now(), since reader_prepare(). */
	_Atomic uint64_t reads, bytes, errors;
};

/* Has reader_read() work as `io` says. Returns 0, -EOPNOTSUPP (READER_DIRECT is not to be had
 * here) or -ENOMEM. May be called again. */
static inline int reader_prepare(struct reader *reader, enum reader_io io)
{
	return reader->ops->prepare(reader, io);
}

/* Fills iov (which is changed) from offset. Offset and sizes are multiples of READER_PAGE; the
 * file must have the first `needed` of these bytes.
 * Returns 0, -ENODATA (the file ends before), or the error of the storage. */
static inline int reader_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			      uint64_t needed)
{
	return reader->ops->read(reader, iov, count, offset, needed);
}

/* The same where it need not wait for storage. Otherwise, or on any error: -EAGAIN. */
static inline int reader_read_now(struct reader *reader, struct iovec *iov, int count,
				  uint64_t offset, uint64_t needed)
{
	return reader->ops->read_now(reader, iov, count, offset, needed);
}

/* Reads up to len bytes; fewer only at the end of the file. Returns their number, or -errno. */
static inline ssize_t reader_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	return reader->ops->get(reader, buf, len, offset);
}

/* As reader_get(), but a file that ends early is -ENODATA. Returns 0 or -errno. */
int reader_get_full(struct reader *reader, void *buf, size_t len, uint64_t offset);

/* These bytes will be read by reader_get() soon. Does not wait. */
static inline void reader_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	reader->ops->will_get(reader, offset, len);
}

/* Returns 0 or -errno. */
static inline int reader_identity(struct reader *reader, struct reader_identity *ret)
{
	return reader->ops->identity(reader, ret);
}

static inline struct reader_hints reader_hints(const struct reader *reader)
{
	struct reader_hints hints;

	reader->ops->hints(reader, &hints);
	return hints;
}

/* NULL is fine. */
static inline void reader_free(struct reader *reader)
{
	if (reader)
		reader->ops->free(reader);
}

/* For SCOPE(). */
static inline void reader_release(struct reader **reader)
{
	reader_free(*reader);
}

#endif
