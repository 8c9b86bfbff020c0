/* How files of other formats are to be read, and who is asked or told meanwhile. */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum foreign_layout_of_tar { FOREIGN_AUTO, FOREIGN_TREE, FOREIGN_CLASSES };
/* What the folder of a class is called, where its label is known: by its name, or by its label and
 * name. AUTO: by both only where names are sorted otherwise than labels, or one is that of two. */
enum foreign_folders { FOREIGN_FOLDERS_AUTO, FOREIGN_FOLDERS_NAMES, FOREIGN_FOLDERS_NUMBERS };

struct members;
struct notices;

/* Unpacked pages (pages.h) of all files of a mount, or of a command. Nothing is to be released once
 * these are closed. */
struct pages {
	pthread_mutex_t lock;
	pthread_cond_t ready;	  /* a page has become it */
	struct pages_kept *first; /* protected by lock: the one used last */
};

#define PAGES_INIT                                                                   \
	{                                                                            \
		.lock = PTHREAD_MUTEX_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER \
	}

/* Scripts (maker.h) that are done with a file, and take the next one of a set: to start one takes
 * as long as many small files. Any thread. */
#define MAKERS_MOST 16

struct makers {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* one is not busy any more */
	/* What follows is protected by lock: */
	struct maker_process *resting[MAKERS_MOST];
	unsigned count, busy;
};

#define MAKERS_INIT                                                                    \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
	}

void makers_release(struct makers *makers); /* their scripts end */

/* Who makes checksums. Any thread. */
struct foreign_checking {
	/* Announces how many bytes will be read. Returns 0, or -errno, which becomes the result. */
	int (*begin)(void *context, uint64_t bytes);
	void (*add)(void *context, uint64_t bytes);
	bool (*stops)(void *context);
	void *context;
};

enum foreign_flaw {
	FOREIGN_BAD,	  /* no tree can hold it */
	FOREIGN_SPECIAL,  /* a device or its like: `what` says which */
	FOREIGN_UNWANTED, /* the settings leave it out, although its path does not say so */
};

/* Bytes of a file that are compressed. */
struct foreign_compressed {
	struct reader *reader;
	uint64_t offset, len;
	unsigned method; /* that a zip says; 0: what their first bytes say, and no more counts */
	bool ends;	 /* lzma, with a mark at its end */
	uint64_t size;	 /* when unpacked */
	uint32_t crc;	 /* the same */
};

/* Is told of what an archive has that its tree has not. Any thread. */
struct foreign_watch {
	/* A member that is left out. Returns 0, or what the scan is to return. */
	int (*left_out)(void *context, const char *path, const char *what, enum foreign_flaw flaw);
	/* Called from time to time; the same. */
	int (*tick)(void *context);
	/* The archive is damaged, or cut off. Returns 0 to go on with what came before, or `error`.
	 */
	int (*broken)(void *context, int error, const struct err *err);
	/* Unpacks bytes to the end of a file of its own: *spool, which it makes if that is NULL.
	 * Returns 0, and where they lie in it; -EBADMSG (damaged); -EOPNOTSUPP (another
	 * compression); or another failure. NULL: that cannot be done. */
	int (*unpack)(void *context, const struct foreign_compressed *from, struct reader **spool,
		      uint64_t *ret_start, uint64_t *ret_len, struct err *err);
	/* Copies a remote file that a scan is going to read as a whole, so that it is read once.
	 * Returns 0 and the copy; 1: it stays where it is; or a failure. NULL: the same. */
	int (*copy)(void *context, struct reader *from, const char *name, struct reader **ret,
		    struct err *err);
	void *context;
	atomic_bool archive; /* set: there is one */
};

struct foreign_settings {
	const char *schema;  /* name of a format; NULL: the first that recognises it */
	const char *classes; /* file of class names, a line a label; NULL: none */
	const char *names;   /* file of file names, a line a record; NULL: none */
	int layout;	     /* of a tar: enum foreign_layout_of_tar */
	unsigned strip;	     /* leading folders to cut off paths in archives */
	int class_folders;   /* enum foreign_folders */
	bool empty_classes;  /* labels without an image have a folder, too */
	const char *image_key, *label_key, *name_key; /* fields of a record; NULL: the usual ones */

	/* Opens a further file by its name or URL; `how`: flags of base/reader.h. Returns 0, or 1:
	 * the file was decompressed, so that no index of it is kept, and its name loses the suffix
	 * of the compression; or -errno. Called by several threads at once. */
	int (*open)(void *context, const char *name, unsigned how, struct reader **ret,
		    struct err *err);
	/* A folder on a server. Returns 0; 1: it is none by its name; or -errno. NULL: none is. */
	int (*open_prefix)(void *context, const char *name, struct members **ret, struct err *err);
	void *context, *prefix_context;
	unsigned how;	     /* with which flags a file, and what lies beside it, is opened */
	struct pages *pages; /* unpacked ones of all files that are opened with it */
	/* Scripts of the files that are opened with it; NULL: each has its own. */
	struct makers *makers;
	void (*notice)(const char *line); /* tells the user; NULL: nobody listens */
	/* Takes what is to be said once of all files that are opened; NULL: it is told at once. */
	struct notices *notices;
	/* Adds checksums to an index that lacks some, by reading all of the file; or NULL. */
	const struct foreign_checking *checking;
	/* Folder for indexes that cannot lie beside their files; NULL: there is only the user's. */
	const char *index_folder;
	uint64_t retry;	  /* s to repeat reads of a folder of other machines that fail */
	bool relist;	  /* of a folder or a prefix: the listing that is kept does not count */
	bool unpublished; /* an index that a publisher has laid beside the file does not count */
	/* NULL: what an archive lacks is noted. Else it is read each time; no index is kept. */
	struct foreign_watch *watch;
};

extern const char *const foreign_layout_names[];  /* by enum foreign_layout_of_tar */
extern const char *const foreign_folders_names[]; /* by enum foreign_folders */

/* Whether any of the options below was given, but --empty-classes. */
bool foreign_asked(const struct foreign_settings *settings);
bool foreign_numbers_files(const struct foreign_settings *settings); /* by an empty name_key */

/* Which options say something to a format. */
enum {
	FOREIGN_TAKES_IMAGE_KEY = 1 << 0,
	FOREIGN_TAKES_LABEL_KEY = 1 << 1,
	FOREIGN_TAKES_NAME_KEY = 1 << 2,
	FOREIGN_TAKES_KEYS = (1 << 3) - 1,
	FOREIGN_TAKES_TREE = 1 << 3, /* as --layout */
	FOREIGN_TAKES_CLASSES = 1 << 4,
};

/* `takes`: bits of these. Returns 0; or -EINVAL with a sentence: an option was given that says
 * nothing to the format. */
int foreign_settings_check(const struct foreign_settings *settings, unsigned takes,
			   const char *format, struct err *err);

/* Rows for a table of options whose settings have these as `member`. */
#define FOREIGN_OPTIONS(type, member)                                                             \
	OPT_SHARED("files of other formats"),                                                     \
		OPT_STRING(0, "schema", "NAME", type, member.schema,                              \
			   "format of a file that is not a pack: see foldpack-formats(7)"),       \
		OPT_STRING(0, "classes", "FILE", type, member.classes,                            \
			   "names of the classes, one per line"),                                 \
		OPT_CHOICE(0, "class-folders", foreign_folders_names, type, member.class_folders, \
			   "what folders of classes are called: by their names, or by "           \
			   "labels and names (default: where ImageFolder would else "             \
			   "give other numbers)"),                                                \
		OPT_FLAG(0, "empty-classes", type, member.empty_classes,                          \
			 "make folders of classes without an image"),                             \
		OPT_STRING(0, "names", "FILE", type, member.names,                                \
			   "names of the files, one per line"),                                   \
		OPT_CHOICE(0, "layout", foreign_layout_names, type, member.layout,                \
			   "what a tar becomes: the tree of its members, or the "                 \
			   "classes of its samples"),                                             \
		OPT_STRING(0, "image-key", "NAME", type, member.image_key,                        \
			   "field of a record with the image"),                                   \
		OPT_STRING(0, "label-key", "NAME", type, member.label_key,                        \
			   "field with the label"),                                               \
		OPT_STRING(0, "name-key", "NAME", type, member.name_key,                          \
			   "field with the name of the file; '': none"),                          \
		OPT_FLAG(0, "relist", type, member.relist,                                        \
			 "list a folder, or a prefix of a server, anew")
