/* What an interval of a mount's life means for its readers, in words. Pure.
 *
 * The measure is the time that reads were parked until their bytes came, over the time that
 * passed. Waits of several readers add up, and how many readers there are is not known. So
 * below a few per cent no reader can have waited longer, and the storage is not the limit;
 * near or above 100 % there was always a read waiting, and it is; in between, which holds for
 * many readers that wait a little as for one that waits much, it is said to cost something. */
#ifndef FS_STAT_VERDICT_H
#define FS_STAT_VERDICT_H

#include "base/buf.h"
#include "fs/stat/snapshot.h"

enum verdict_kind {
	VERDICT_NOTHING, /* read since the mount was made */
	VERDICT_KERNEL,	 /* files were used, yet no read came here */
	VERDICT_SILENT,	 /* no read came here: as above, or nothing is read */
	VERDICT_FREE,	 /* storage is not the limit */
	VERDICT_SLOWED,	 /* it costs something */
	VERDICT_LIMIT,	 /* it is the limit */
	VERDICT_HANGS,	 /* it has not answered for seconds */
};

/* What readers wait for. */
enum limit {
	LIMIT_DISK,
	LIMIT_LINK, /* to a server: reads ahead fill it */
	LIMIT_LATENCY,
	LIMIT_MEMORY, /* for what is read ahead in a known order */
	LIMIT_SERVER, /* is overloaded, and says so */
};

struct verdict {
	enum verdict_kind kind;
	enum limit limit;
	const char *advice; /* for readers that wait: a line on their order, or "" */
	double waiting;	    /* share of the time; over 1: reads waiting at any time */
	double device_rate; /* bytes a second */
	uint64_t bad_files; /* that became known in the interval */
	bool changed;	    /* the pack was written to: this comes before all else */
	uint64_t parked,
		oldest_s; /* reads that wait at the end, and the first of them for so long */
};

struct verdict verdict_of(const struct snapshot *before, const struct snapshot *after);

/* At most 17 columns: "disk is the limit", "server overloaded". */
const char *verdict_word(const struct verdict *verdict);

/* A line; before it what could not be read, after it what is known of the order of readers that
 * wait. Returns 0 or -ENOMEM. */
int verdict_text(const struct verdict *verdict, const char *pack, struct buf *buf);

/* What is known of the readers' order, in words without a line's end; nothing where none is looked
 * for and none was given. Returns 0 or -ENOMEM. */
int verdict_order_text(const struct snapshot *s, struct buf *buf);

#endif
