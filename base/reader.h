/* One file that is only read, wherever it lies. What pack/ and cache/ know of storage is this.
 *
 * There are two ways to read:
 *
 *	reader_get	any bytes into one buffer, through the cache of the system, if there is
 *			one: indexes, and what tools read
 *	reader_read	whole pages into scattered memory that the caller keeps, so that no other
 *			cache needs to keep them: what a mount serves. reader_prepare() comes first
 *
 * Both wait. Where a read is a round trip to another machine (hints: far), reader_submit() takes
 * the same arguments and does not wait, so that no number of threads bounds what is under way.
 *
 * Where a nearer copy of a far file is kept, both may be read from it. It may be damaged, so that
 *only what has a checksum is read so, and reader_bad() has it read anew. The rest, the pages of the
 *LMDB between the records, is read through reader_origin().
 *
 * Threads: any number may read at once. reader_prepare(), reader_rest() and reader_free() are
 * called alone. */
#ifndef BASE_READER_H
#define BASE_READER_H

#include "base/buf.h"
#include "base/reader_stats.h"
#include <errno.h>
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
	uint64_t touched; /* the same: perhaps it was, or its name or mode changed */
};

struct reader_hints {
	bool remote; /* storage of other machines: a request takes a round trip, others share it */
	bool direct; /* reader_read() goes past the page cache at present */
	bool far;    /* a request is a round trip, and many may be under way: reader_submit() */
};

/* Called once, without locks, in a thread of the reader or in the caller's: 0 or -errno, as
 * reader_read(). It must not wait: other reads wait for it. */
typedef void reader_done_fn(void *arg, int error);

/* A read that does not wait. The struct and what it points to stay as they are until `done`. */
struct reader_request {
	const struct iovec *iov; /* not changed */
	int count;
	uint64_t offset; /* changed by a reader of several volumes */
	uint64_t needed;
	/* Nobody waits for it yet: it comes after those that somebody waits for. May become false
	 * until it ends, so that a reader looks each time that it chooses the next one to begin. */
	atomic_bool ahead;
	const struct reader_request *whole; /* that it is a part of, or NULL: reader_ahead() */
	reader_done_fn *done;
	void *arg;
	struct reader_request *next; /* the reader's */
};

struct reader_ops {
	int (*prepare)(struct reader *reader, enum reader_io io);
	int (*read)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);
	int (*read_now)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed); /* NULL: nothing is ever here */
	void (*submit)(struct reader *reader, struct reader_request *request); /* NULL: not far */
	void (*cancel)(struct reader *reader); /* NULL: what is under way ends soon */
	ssize_t (*get)(struct reader *reader, void *buf, size_t len, uint64_t offset);
	void (*will_get)(struct reader *reader, uint64_t offset, size_t len);
	int (*identity)(struct reader *reader, struct reader_identity *ret);
	void (*hints)(const struct reader *reader, struct reader_hints *ret);
	/* NULL: those of struct reader. */
	void (*counts)(const struct reader *reader, struct reader_counts *ret);
	/* NULL where no copy is kept. */
	struct reader *(*origin)(struct reader *reader);
	void (*known)(struct reader *reader, const void *head, size_t len);
	bool (*bad)(struct reader *reader, uint64_t offset, uint64_t len);
	void (*rest)(struct reader *reader);				/* NULL: no threads */
	void (*stats)(struct reader *reader, struct reader_stats *ret); /* NULL: not far */
	void (*free)(struct reader *reader);
};

/* The beginning of each kind of reader. */
struct reader {
	const struct reader_ops *ops;
	_Atomic uint64_t reads, bytes, errors; /* see reader_counts() */
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
	if (!reader->ops->read_now)
		return -EAGAIN;
	return reader->ops->read_now(reader, iov, count, offset, needed);
}

/* The same as reader_read() without waiting: `done` gets the result. A reader that is not far reads
 * at once, in this thread. */
void reader_submit(struct reader *reader, struct reader_request *request);

/* What was submitted is not worth waiting for any more: from now on nothing is tried again, and
 * requests that are ahead end with -ECANCELED. Until the next reader_prepare(). */
void reader_cancel(struct reader *reader);

/* The flag that counts: of the request that it is a part of, or its own. */
const atomic_bool *reader_ahead(const struct reader_request *request);

/* Reads up to len bytes; fewer only at the end of the file. Returns their number, or -errno. */
static inline ssize_t reader_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	return reader->ops->get(reader, buf, len, offset);
}

/* As reader_get(), but a file that ends early is -ENODATA. Returns 0 or -errno. */
int reader_get_full(struct reader *reader, void *buf, size_t len, uint64_t offset);

/* Appends all of a file. Returns 0, -EFBIG (it has more bytes than `most`) or -errno. */
int reader_get_all(struct reader *reader, uint64_t most, struct buf *ret);

/* These bytes will be read by reader_get() soon. Does not wait. */
void reader_will_get(struct reader *reader, uint64_t offset, size_t len);

/* Returns 0 or -errno. */
int reader_identity(struct reader *reader, struct reader_identity *ret);

struct reader_hints reader_hints(const struct reader *reader);

struct reader_counts reader_counts(const struct reader *reader);

/* The reader of the file itself, where `reader` keeps a copy. */
struct reader *reader_origin(struct reader *reader);

/* Tells which file it is: one of the same size with the same head has the same bytes everywhere, as
 * far as these have checksums. */
void reader_known(struct reader *reader, const void *head, size_t len);

/* These bytes did not fit their checksum. Returns whether they are to be read once more: they may
 * have come from a copy, and will not the next time. */
bool reader_bad(struct reader *reader, uint64_t offset, uint64_t len);

/* Returns false where the reader is not far. */
bool reader_stats(struct reader *reader, struct reader_stats *ret);

/* Ends the reader's threads, if it has any: before a fork. No read is under way. The next read
 * begins them again. */
void reader_rest(struct reader *reader);

void reader_free(struct reader *reader);     /* NULL is fine */
void reader_release(struct reader **reader); /* for SCOPE() */

#endif
