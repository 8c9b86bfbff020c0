/* How long reads that fail are repeated, on storage that other machines serve.
 *
 * An outage begins with a read that fails, and ends with the next one that succeeds, of whatever
 * part of the file. While it lasts, each thread repeats its read once a second. All are given up so
 * many seconds after it began, and those that come later fail at once: readers are held up once and
 * not for each file. A read that fails while another part of the file can be read is repeated only
 * twice: that is no outage.
 *
 *	do {
 *		r = read(...);
 *		again = outage_again(outage, &tries, r);
 *		tries.works = again && (another part can be read);
 *	} while (again);
 *
 * Any thread may call anything at any time, except that outage_free() is called alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct outage;

/* Of one read; begins as {0}. */
struct outage_tries {
	unsigned count;
	uint64_t first; /* when it failed first, ns */
	bool works;	/* set by the caller, after each pause */
};

/* `name`, which is copied, begins the lines that `notice` gets, if it is not NULL: one for an
 * outage, and one for its end. Nothing is repeated until outage_allow(). Returns 0 or -ENOMEM. */
int outage_new(const char *name, uint64_t seconds, void (*notice)(const char *line),
	       struct outage **ret);
void outage_free(struct outage *outage); /* NULL is fine */

/* Takes the result of a read: 0 or -errno. True: after a pause, it is to be repeated. False: it has
 * succeeded, or failed for good. `outage` NULL: nothing is repeated. */
bool outage_again(struct outage *outage, struct outage_tries *tries, int error);

/* Whether reads that fail are repeated from now on. If not, those that wait fail at once. */
void outage_allow(struct outage *outage, bool repeats); /* NULL is fine */
