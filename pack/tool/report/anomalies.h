/* What is worth a look in a dataset of images, except copies (duplicates.h): a list of entries for
 * each kind of anomaly. findings.h tells of both.
 *
 *	anomalies_init -> anomalies_note ... -> anomalies_items_json -> anomalies_release */
#pragma once

#include "base/json.h"
#include "pack/tool/read/classes.h"

#define ANOMALIES_LISTED 100000 /* of one kind; more are only counted */

enum anomaly {
	ANOMALY_DAMAGED,       /* the pack has lost bytes of the file */
	ANOMALY_UNREADABLE,    /* its bytes cannot be read: they may be intact */
	ANOMALY_TRUNCATED,     /* an image that ends too early */
	ANOMALY_CORRUPT,       /* another image that decoders refuse, or misread */
	ANOMALY_EMPTY,	       /* named like an image, no bytes */
	ANOMALY_NOT_IMAGE,     /* named like an image, but not one */
	ANOMALY_NO_SIZE,       /* an image whose header is cut off or makes no sense */
	ANOMALY_LINK_LEAVES,   /* a symbolic link to something outside of the dataset */
	ANOMALY_LINK_DANGLES,  /* one to nothing in it */
	ANOMALY_EMPTY_CLASS,   /* the directory of a class without a file that ImageFolder takes */
	ANOMALY_MISSING_LABEL, /* the directory of a class that other splits lack */
	ANOMALY_IMBALANCE,     /* the directory of a split with classes of very unequal sizes */
	ANOMALY_NOT_TAKEN,     /* an image that ImageFolder does not take, by its name */
	ANOMALY_MISNAMED,      /* an image of another kind than its name says */
	ANOMALY_TINY,	       /* its area is far below the median one */
	ANOMALY_HUGE,	       /* or far above */
	ANOMALY_WIDE,	       /* over 4:1 */
	ANOMALY_HIGH,	       /* under 1:4 */
	ANOMALY_KINDS,
	ANOMALY_NONE = ANOMALY_KINDS
};

struct anomaly_list {
	struct buf entries; /* uint32_t: the first ANOMALIES_LISTED, in the order of notes */
	uint64_t count;
};

static inline const uint32_t *anomaly_entries(const struct anomaly_list *list)
{
	return BUF_ITEMS(&list->entries, const uint32_t);
}

struct anomalies {
	struct anomaly_list lists[ANOMALY_KINDS];
	uint8_t *unread; /* a bit for each entry: the first two kinds are noted once a file */
};

int anomalies_init(struct anomalies *anomalies, uint32_t entries); /* 0 or -ENOMEM */
void anomalies_release(struct anomalies *anomalies);		   /* {0} is fine */
void anomalies_note(struct anomalies *anomalies, enum anomaly kind, uint32_t entry);

/* Notes a file that reading failed for: DAMAGED by -EBADMSG, else UNREADABLE. */
void anomalies_note_unread(struct anomalies *anomalies, int error, uint32_t entry);

/* Adds an array for each entry that has a list, up to ANOMALIES_LISTED, to the open one: the number
 * of the entry's class + 1, or 0; its path; the target of a link. 0 or -ENOMEM. */
int anomalies_items_json(const struct anomalies *anomalies, enum anomaly kind,
			 struct dataset *dataset, const struct classes *classes, struct json *json);

/* Adds the class of an entry and its path to the open array. 0 or -ENOMEM. */
int anomalies_path(struct dataset *dataset, const struct classes *classes, uint32_t entry,
		   struct json *json);

/* --- what is anomalous: pure --------------------------------------------------------------- */

/* What the index says of a file: EMPTY to NO_SIZE, NOT_TAKEN, MISNAMED or NONE. A file that neither
 * is an image nor is named like one has no anomaly. An image of unknown size counts as sound if the
 * file is longer than the head that was inspected (image.h). */
enum anomaly anomaly_of_file(const struct dataset_entry *entry, const struct dataset_image *image);

/* LINK_LEAVES, LINK_DANGLES or NONE. A link that leads through another link counts as sound. */
enum anomaly anomaly_of_link(const struct dataset *dataset, uint32_t link);

/* Whether a file is an image, by its name or by its content. */
bool anomaly_is_image(const struct dataset_entry *entry, const struct dataset_image *image);
