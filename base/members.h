/* Many files, or objects of a bucket, as one container: each is a member. What lists and reads them
 * is a folder (pack/foreign/folder.h), or a prefix on a server (remote/prefix.h); what makes one
 * reader of them is base/reader_members.h. Any thread may read; list(), prepare(), rest() and
 * free() are called alone. */
#pragma once

#include "base/err.h"
#include "base/reader.h"

struct members;

struct member {		  /* valid during the call */
	const char *path; /* below the source, without a leading '/' */
	uint64_t size;	  /* bytes, as listed */
	int64_t mtime;	  /* ns since 1970 */
	const char *tag;  /* the ETag as listed, with its quotes; "": none */
};

/* Returns 0, or -errno, which ends the listing. */
typedef int member_found_fn(void *arg, const struct member *member);

struct members_ops {
	/* Lists all members, in any order. Returns 0, what `found` gave, or -errno; err has a
	 * sentence. */
	int (*list)(struct members *members, member_found_fn *found, void *arg, struct err *err);
	/* As those of struct reader_ops, of one member; `offset` is in it. -ESTALE: it is no longer
	 * what was listed (size, tag, time); -ENOENT: it is gone. Either read() or submit() is
	 * there; read_now() may be NULL. */
	int (*read)(struct members *members, const struct member *member, struct iovec *iov,
		    int count, uint64_t offset, uint64_t needed);
	int (*read_now)(struct members *members, const struct member *member, struct iovec *iov,
			int count, uint64_t offset, uint64_t needed);
	/* Reads without waiting. What is pointed to, but for the member, does not change until
	 * `done` was called: once, with what read() would return. While *ahead is true, the read
	 * comes after those that somebody waits for. */
	void (*submit)(struct members *members, const struct member *member,
		       const struct iovec *iov, int count, uint64_t offset, uint64_t needed,
		       const atomic_bool *ahead, reader_done_fn *done, void *arg);
	/* As those of struct reader_ops; may be NULL. */
	int (*prepare)(struct members *members, enum reader_io io);
	void (*cancel)(struct members *members);
	void (*rest)(struct members *members);
	void (*stats)(struct members *members, struct reader_stats *ret);
	void (*free)(struct members *members);
};

struct members {
	const struct members_ops *ops;
	char *place; /* as that of a reader: a path, or a URL without secrets; the members' */
	bool direct; /* reads bypass the page cache at present */
};
