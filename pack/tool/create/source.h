/* SOURCE, opened as what it is: a folder, a file that a script reads, or anything that a mount
 * could read, also from a pipe. */
#pragma once

#include "pack/dataset.h"
#include "pack/tool/create/report.h"
#include "pack/write/builder.h"

/* What is pointed to by the first four stays the caller's. */
struct create_source {
	char **names; /* as the user wrote them; the first stands for all in messages */
	size_t count;
	const char *pack; /* the future one */
	struct create_options *options;
	int root;		    /* open on a folder, a file or a pipe; or /dev/null, or -1 */
	bool stream;		    /* that is a pipe: all of it is read as it is opened */
	struct dataset *dataset;    /* of anything but a folder */
	struct create_flaws *flaws; /* of what is no folder */
};

/* With all before `root` set: sets that and `stream`, and reads nothing. */
int create_source_find(struct create_source *source);
/* Then, opens the dataset. Both return EXIT_DONE, or the status to end with after an error was
 * printed; the source is to be released either way. */
int create_source_open(struct create_source *source);
void create_source_release(struct create_source *source);

/* Whether it is a tar or zip, or several, as a dataset. */
bool create_source_is_archive(const struct create_source *source);

/* Once the pack is begun: reports what the source has and a pack cannot hold. 0, or as
 * report_unreadable(). */
int create_source_tell_flaws(const struct create_source *source, struct report *report);
/* Once all is stored: reports that the source had broken off. 0, CREATE_REPORTED or _DAMAGED. */
int create_source_tell_broken(const struct create_source *source, struct report *report,
			      struct builder *builder);
