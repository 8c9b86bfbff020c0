/* The packs that a command line names, opened as one dataset. */
#pragma once

#include "pack/dataset.h"
#include "pack/names.h"
#include <stddef.h>
#include <sys/types.h>

struct packs_params {
	const char *const *words; /* pack/names.h */
	size_t count;
	/* Open a pack and a list by name. Several packs may be opened at the same time, in threads
	 * that end before packs_open() returns. `how`: flags of base/reader.h. */
	int (*open)(void *context, const struct name *name, struct dataset **ret, struct err *err);
	int (*open_list)(void *context, const char *name, unsigned how, struct reader **ret,
			 struct err *err);
	/* pack/names.h; may be NULL. */
	int (*list)(void *context, const char *name, struct buf *ret, struct err *err);
	void *context;
	bool missing_ok;  /* a set need not be complete */
	bool alone_ok;	  /* one pack of a set may be named alone */
	bool makes_packs; /* the caller does: that is no way out then */
	bool delta_ok;	  /* a single delta may be without its base: only its index is read */
	const char *missing_hint; /* ends the message about missing packs of a set; or NULL */
	void (*notice)(const char *line); /* tells the user how packs are put together; or NULL */
	/* Patterns, and @FILE with a pattern on each line: see pack/select.h. */
	const char *const *select;
	size_t select_count;
};

/* The packs in a few words, without anything secret: "FIRST", or "FIRST and 14 more". */
struct packs_label {
	char *name;   /* as the user gave it */
	char *path;   /* the same, absolute */
	dev_t device; /* of the first; 0: it is no local file */
};

void packs_label_release(struct packs_label *label);

/* The packs that the words name. Returns 0, or as names_add() and names_check_sets(). `ret` must be
 * released in any case. */
int packs_names(const struct packs_params *params, struct names *ret, struct err *err);

/* Opens the packs. Those whose names say that they are of different sets (pack/splits.h) go into
 * folders of their own, and a line says so; but where NAME/= says the folder, where a word names a
 * pack without a number, where it is a delta, and where all of a set is in such a folder already.
 *
 * A delta (pack/delta.h) is put on the packs before it that go into its folder,
 * or below it. A single pack is opened as it is; several, or a selection, are merged. Returns 0, or
 * as dataset_open(), delta_apply(), dataset_merge() and names_add(). err has a sentence that begins
 * with the name. */
int packs_open(const struct packs_params *params, struct dataset **ret,
	       struct packs_label *ret_label, struct err *err);
/* The same of what packs_names() gave, or some of it. */
int packs_open_names(const struct packs_params *params, const struct names *names,
		     struct dataset **ret, struct packs_label *ret_label, struct err *err);
