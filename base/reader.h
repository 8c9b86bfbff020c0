/* One file that is only read, wherever it is. This is all that pack/ and cache/ know of storage.
 *
 * There are two ways to read:
 *
 *	reader_get	any bytes into one buffer, through the cache of the system, if there is
 *			one: indexes, and what tools read
 *	reader_read	whole pages into scattered memory that the caller keeps, so that no other
 *			cache needs to keep them: what a mount serves. reader_prepare() comes first
 *
 * Both wait. If a read is a round trip to another machine (hints: remote), reader_submit() reads
 * without waiting, so that the number of threads does not limit what is under way.
 *
 * If a nearer copy of a far file is kept, both may read from it. The copy may be damaged. So only
 * what has a checksum is read this way, and reader_bad() has it fetched again. The rest, which is
 * the pages of LMDB between the records, is read through reader_origin().
 *
 * Threads: any number may read at once. reader_prepare(), reader_rest() and reader_free() are
 * called alone. */
#pragma once

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

/* As flags: a server has named it: no password; all is read in one go; nothing is asked again. */
enum reader_how { READER_APART = 1, READER_WHOLE = 2, READER_ONCE = 4 };

/* Bytes that nobody wants, but that are cheaper to read than to leave out, are a gap: a piece of at
 * most READER_GAP_MAX bytes whose iov_base is NULL. */
#define READER_GAP_MAX ((size_t)2 << 20)

struct reader;
enum reader_io { READER_AUTO, READER_DIRECT, READER_BUFFERED };

/* Which file it is, and in which state. */
struct reader_identity {
	uint64_t size;	  /* bytes */
	uint64_t written; /* when the file was last, ns; changes when it is. 0: not known */
	uint64_t touched; /* changes then too, and when only its name or mode changes */
	uint64_t object;  /* which of the objects that were at a URL; 0: not known, or no URL */
};

struct reader_hints {
	bool shared;  /* other machines share the storage, and a request takes a round trip */
	bool direct;  /* reader_read() bypasses the page cache at present */
	bool remote;  /* a request is a round trip, and many may be under way: reader_submit() */
	bool members; /* of many files, which may change one by one: base/members.h */
};

/* Called once, without locks, in a thread of the reader or in the caller's. `error` is what
 * reader_read() would return. It must not wait, because other reads wait for it. */
typedef void reader_done_fn(void *arg, int error);

/* A read that does not wait. It and what it points to must not change until reader_settle(). */
struct reader_request {
	const struct iovec *iov; /* not changed */
	int count;
	uint64_t offset; /* changed by a reader of several volumes */
	uint64_t needed;
	/* Nobody waits for it yet: it comes after requests that somebody waits for. It may become
	 * false at any time, so a reader looks each time it chooses the next request to begin. */
	atomic_bool ahead;
	const struct reader_request *whole; /* that it is a part of; NULL: none */
	reader_done_fn *done;
	void *arg;
	struct reader_request *next; /* for the reader to use */
	/* Set by a reader that has more to do with the bytes than anybody should wait for. */
	void (*settle)(struct reader_request *request, bool right);
	void *settled; /* that reader's */
};

struct reader_ops {
	int (*prepare)(struct reader *reader, enum reader_io io); /* NULL: always is */
	int (*read)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);
	int (*read_now)(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed); /* NULL: a read always has to wait */
	void (*submit)(struct reader *reader, struct reader_request *request); /* NULL: not far */
	void (*cancel)(struct reader *reader); /* NULL: what is under way ends soon anyway */
	ssize_t (*get)(struct reader *reader, void *buf, size_t len, uint64_t offset);
	void (*will_get)(struct reader *reader, uint64_t offset, size_t len); /* NULL: no use */
	int (*identity)(struct reader *reader, struct reader_identity *ret);
	void (*hints)(const struct reader *reader, struct reader_hints *ret);
	void (*counts)(const struct reader *reader, struct reader_counts *ret); /* NULL: its own */
	/* The next three are NULL if no copy is kept. */
	struct reader *(*origin)(struct reader *reader);
	void (*known)(struct reader *reader, const void *head, size_t len);
	bool (*bad)(struct reader *reader, uint64_t offset, uint64_t len);
	void (*rest)(struct reader *reader);				/* NULL: no threads */
	void (*stats)(struct reader *reader, struct reader_stats *ret); /* NULL: not remote */
	void (*free)(struct reader *reader);
};

/* The beginning of each kind of reader. */
struct reader {
	const struct reader_ops *ops;
	char *place; /* a path, or a URL without secrets: see reader_known(). NULL: not known */
	_Atomic uint64_t reads, bytes, errors; /* see reader_counts() */
};

/* Makes reader_read() work as `io` says. Returns 0, -EOPNOTSUPP (there is no READER_DIRECT here),
 * -EMFILE (nor for so many files) or -ENOMEM. May be called again. */
int reader_prepare(struct reader *reader, enum reader_io io);

/* Fills iov (which is changed) with pages from offset; the file must have the first `needed` of
 * these bytes. Returns 0, -ENODATA (it ends before), or the error of the storage. */
static inline int reader_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			      uint64_t needed)
{
	return reader->ops->read(reader, iov, count, offset, needed);
}

/* The same if it need not wait for storage; otherwise, and on any error, -EAGAIN. */
int reader_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);

/* The same as reader_read() without waiting: `done` gets the result, and reader_settle() is due. A
 * reader that is not far reads at once, in this thread. */
void reader_submit(struct reader *reader, struct reader_request *request);
/* A read() for those that submit: submits, waits and settles. */
int reader_submit_and_wait(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			   uint64_t needed);

/* To be called once if `done` finds request->settle set, some time after it, in a thread that may
 * wait: the struct and the bytes are still as they were then. `right`: there was no error, and they
 * matched their checksums. */
void reader_settle(struct reader_request *request, bool right);

/* What was submitted is no longer worth waiting for. Until the next reader_prepare(), nothing is
 * tried again, and requests that are ahead end with -ECANCELED. */
void reader_cancel(struct reader *reader);

/* The flag `ahead` of the request that it is a part of, or its own. */
const atomic_bool *reader_ahead(const struct reader_request *request);

/* Reads up to len bytes; fewer only at the end of the file. Returns their number, or -errno. */
ssize_t reader_get(struct reader *reader, void *buf, size_t len, uint64_t offset);
/* As reader_get(), but if the file ends early it returns -ENODATA. Returns 0 or -errno. */
int reader_get_full(struct reader *reader, void *buf, size_t len, uint64_t offset);
/* Appends the whole file. Returns 0, -EFBIG (it has more than `most` bytes) or -errno. */
int reader_get_all(struct reader *reader, uint64_t most, struct buf *ret);

/* Says that reader_get() will read these bytes soon. Does not wait. */
void reader_will_get(struct reader *reader, uint64_t offset, size_t len);
int reader_identity(struct reader *reader, struct reader_identity *ret); /* 0 or -errno */
/* Whether nothing was written to the file between the two. */
bool reader_identity_same(const struct reader_identity *a, const struct reader_identity *b);

struct reader_hints reader_hints(const struct reader *reader);
struct reader_counts reader_counts(const struct reader *reader);

/* The reader of the file itself, if `reader` keeps a copy; otherwise `reader`. */
struct reader *reader_origin(struct reader *reader);

int reader_set_place(struct reader *reader, const char *place); /* 0 or -ENOMEM */
/* Says which file it is. Another one at the same place, a path or the URL that is asked first, of
 * the same size and with the same head, has the same bytes, as far as they have checksums. */
void reader_known(struct reader *reader, const void *head, size_t len);

/* Says that these bytes did not match their checksum. Returns whether to read them once more: they
 * may have come from a copy, which is not used next time. */
bool reader_bad(struct reader *reader, uint64_t offset, uint64_t len);

/* Returns false if the reader is not far. */
bool reader_stats(struct reader *reader, struct reader_stats *ret);

/* Ends the reader's own threads, if it has any, as before a fork, and what it does in those of
 * others. No read may be under way. The next read starts them again. */
void reader_rest(struct reader *reader);

void reader_free(struct reader *reader);     /* NULL is fine */
void reader_release(struct reader **reader); /* for SCOPE() */
