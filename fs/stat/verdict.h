/* What an interval of a mount's life means for its readers, in words. Pure.
 *
 * The measure is the time that reads were parked until their bytes came, divided by the time that
 * passed. Waits of several readers add up, and the number of readers is unknown. Below a few per
 * cent, no reader can have waited longer, and storage is not the limit. Near or above 100 %, a read
 * was always waiting, and storage is the limit. In between, many readers may have waited a little,
 * or one a lot: storage costs something. */
#pragma once

#include "base/buf.h"
#include "base/size.h"
#include "fs/stat/snapshot.h"

enum verdict_kind {
	VERDICT_NOTHING, /* nothing was read since the mount was made */
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
	LIMIT_LINK, /* the link to a server: reads ahead fill it */
	LIMIT_LATENCY,
	LIMIT_MEMORY, /* memory for what is read ahead in a known order */
	LIMIT_SERVER, /* the server says that it is overloaded */
};

struct verdict {
	enum verdict_kind kind;
	enum limit limit;
	const char *advice;	   /* a line about the order of readers that wait, or "" */
	double waiting;		   /* share of the time; over 1: reads waiting at any time */
	double device_rate;	   /* bytes a second */
	uint64_t bad_files;	   /* that became known in the interval */
	bool lost;		   /* a server did not deliver some of them */
	bool changed;		   /* the pack was written to: more important than all else */
	uint64_t parked, oldest_s; /* reads that wait at the end, and how long the first of them has
				      waited */
};

struct verdict verdict_of(const struct snapshot *before, const struct snapshot *after);

/* At most 17 columns: "disk is the limit", "server overloaded". */
const char *verdict_word(const struct verdict *verdict);

/* The verdict in a line. Before it, what could not be read; after it, what is known of the order of
 * readers that wait. Returns 0 or -ENOMEM. */
int verdict_text(const struct verdict *verdict, const char *pack, struct buf *buf);

/* What is known of the readers' order, without a newline; nothing if no order is looked for and
 * none was given. Returns 0 or -ENOMEM. */
int verdict_order_text(const struct snapshot *s, struct buf *buf);

/* What the copy on the disk is and does; "" if there is none. */
const char *verdict_disk_text(const struct snapshot *s);

/* "3 d 4 h", "2 h 5 min", "12 s": the two largest units, less what is 0 of them. Returns buf. */
const char *duration_format(uint64_t seconds, char buf[static SIZE_TEXT]);
/* "12 us", "1.25 ms", "3.4 s": three significant digits. Returns buf. */
const char *latency_format(uint64_t us, char buf[static SIZE_TEXT]);

/* Members of stats as people read them. These texts live until the end of the block that they are
 * made in. */
#define SIZE(s, member)	   size_format(snapshot_count(s, member), (char[SIZE_TEXT]){0})
#define COUNT(s, member)   count_format(snapshot_count(s, member), (char[SIZE_TEXT]){0})
#define LATENCY(s, member) latency_format(snapshot_count(s, member), (char[SIZE_TEXT]){0})
#define COUNT_NOUN(s, member, noun) \
	count_noun(snapshot_count(s, member), noun, (char[SIZE_TEXT]){0})
