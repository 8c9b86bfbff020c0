/* A call of a job, and what its path means: what all answers to calls share. */
#pragma once

#include "fs/mount.h"
#include "fs/nofuse/cursors.h"
#include "fs/nofuse/listener.h"
#include "fs/nofuse/resolve.h"
#include "fs/nofuse/skeleton.h"
#include "fs/nofuse/store.h"

/* What answers are made from; all of it borrowed. */
struct answers {
	struct mount *mount;
	const struct tree *tree;
	struct resolver resolver;
	const struct skeleton *skeleton;
	struct store *store;
	struct cursors *cursors;
	struct listener listener;
	char space[JOB_NAME]; /* the user namespace of this process */
	bool root;	      /* this process can write to those of others */
};

#define PASS	  INT64_MAX /* the kernel is to do the call */
#define NO	  (-1)
#define NULL_PATH 0x40000000 /* of row.fixed: NULL means the descriptor */

struct call;
typedef int64_t call_fn(struct call *call);

/* A row of the table: where a call has its arguments, or NO. */
struct row {
	uint32_t number;
	call_fn *answer;
	int8_t fd; /* the descriptor that a path begins at; without a path, that is meant */
	int8_t path;
	int8_t flags; /* of open(2), or AT_... */
	int8_t rest;  /* the first of what is left */
	int fixed;    /* flags that the call has by itself */
	int known;    /* of the flags, where the kernel refuses others; 0: it takes any */
};

/* A call with what its first path means. */
struct call {
	const struct answers *answers;
	const struct asked *asked;
	const struct row *row;
	pid_t pid;
	uint64_t flags;
	bool empty; /* an empty path means the descriptor */
	struct resolved to;
	struct opener opener;
};

/* What to return where memory of the caller cannot be read: the kernel finds out why, unless it is
 * foldfs that is short of something. */
static inline int64_t call_unread(int error)
{
	return job_is_short(error) ? error : PASS;
}

uint64_t call_argument(const struct call *call, int index);
/* Of those that the row has no place for. */
uint64_t call_rest(const struct call *call, int index);

/* What the path in these arguments names. Returns 0, PASS, or -errno: also in *ret. */
int64_t call_find_path(const struct call *call, int fd, int path, enum follow follow,
		       struct resolved *ret);
/* The same of a path that was read, and is not empty. */
int64_t call_find_text(const struct call *call, int from, const char *text, enum follow follow,
		       struct resolved *ret);
/* What the first path names, as call->to. */
int64_t call_find(struct call *call, enum follow follow);
/* The same, by AT_SYMLINK_NOFOLLOW of the flags. */
int64_t call_find_at(struct call *call);
bool call_is_folder(const struct call *call);
struct dataset_entry call_entry(const struct call *call);
/* Whether who called may use the entry so: 0, -EACCES or another -errno. */
int call_check_access(const struct call *call, uint32_t entry, int access);

/* The number of an inode. The folder has the one that it has for everybody: by that, foldstat finds
 * the job. */
uint64_t call_number(const struct call *call, uint64_t ino);
/* Writes to the memory of who called, and returns `result`; or -EFAULT. */
int64_t call_give(const struct call *call, uint64_t address, const void *bytes, size_t len,
		  int64_t result);

/* Calls that would change something, execute or watch it: the errors that a read-only mount gives,
 * or others where it could do it. */
call_fn refuse_change, refuse_times, refuse_truncate, refuse_making, refuse_symlink, refuse_socket,
	refuse_removal, refuse_rename, refuse_link, refuse_execution, refuse_watch, enter_folder;
