/* Operations that are done on two folders, which must answer the same: a plain folder on a
 * filesystem that is read-only, and the mount of its pack.
 *
 * An operation is a function of a side and of arguments. It is called once for each side, with the
 * same arguments, and puts all that a program could see into an outcome. Which operations a thread
 * does depends on the seed and the number of the thread only, so that a part of a run can be
 * repeated. Results that may differ are listed in differences.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define PATH_ROOM     8192	/* bytes of a path: more than the kernel takes */
#define MODEL_SLOTS   8		/* open files of a thread */
#define MODEL_CHANCES 6		/* random numbers of an operation */
#define MODEL_BYTES   (3 << 20) /* that an operation returns at most */

/* One of the two folders, as one thread sees it. */
struct side {
	int root;
	int slots[MODEL_SLOTS]; /* -1: nothing is open */
	int sink;		/* a file in memory, for what is copied out */
	bool speaks;		/* says what it does, for the report of a difference */
	bool no_fuse;		/* of foldfs --no-fuse: opens nothing by O_PATH */
};

struct args {
	const char *path, *fresh; /* below the root; may be missing or malformed */
	unsigned slot;
	uint64_t chance[MODEL_CHANCES];
};

struct outcome {
	int64_t result; /* what the call returned */
	int error;	/* errno; 0 where it succeeded */
	size_t len;
	uint8_t *bytes; /* what it gave; MODEL_BYTES, page aligned */
};

typedef void operation_fn(struct side *side, const struct args *args, struct outcome *ret);

struct operation {
	const char *name;
	operation_fn *run;
	unsigned weight;
};

/* Each ends with a name of NULL. */
extern const struct operation name_operations[];   /* look at names */
extern const struct operation file_operations[];   /* read open files */
extern const struct operation list_operations[];   /* list folders */
extern const struct operation change_operations[]; /* would change something */

/* Notes the result of a call. Negative: errno is the error. Returns whether it succeeded. */
bool outcome_of(struct outcome *ret, int64_t result);
/* Appends what the call gave. */
void outcome_add(struct outcome *ret, const void *bytes, size_t len);
/* Appends what must be the same of a file, of what stat(2) says. */
void outcome_stat(struct outcome *ret, const struct stat *st);

/* Tells of a call and its arguments, if this side speaks. */
__attribute__((format(printf, 2, 3))) void tell(const struct side *side, const char *format, ...);

/* The path for calls that take no folder to begin from. One that is too long stays so. */
void full_path(const struct side *side, const struct args *args, char ret[static PATH_ROOM]);

/* The open file of a slot. If there is none, opens the path first. -1: that failed, as the outcome
 * says. */
int slot_file(struct side *side, const struct args *args, struct outcome *ret);
/* Puts an open file into the slot, and closes what was there. */
void slot_put(struct side *side, unsigned slot, int fd);

/* Whether the two sides may differ so. */
bool difference_allowed(const char *operation, const struct outcome *plain,
			const struct outcome *mount, bool no_fuse);
