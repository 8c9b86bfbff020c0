/* Command lines from one table: parsing, defaults and --help.
 *
 * A table is an array of struct opt, ended by OPT_END. Each row names an option and the field of
 * the caller's settings for its value. The settings hold the defaults before parsing:
 *
 *	struct settings { uint64_t pool; bool follow; const char *dir; };
 *	static const struct opt table[] = {
 *		OPT_SIZE('p', "pool", "SIZE", struct settings, pool, "memory for the pool"),
 *		OPT_FLAG('f', "follow", struct settings, follow, "follow links"),
 *		OPT_END
 *	};
 *
 * The GNU rules: --name VALUE, --name=VALUE, -xVALUE, -x VALUE, joined flags -abc, options and
 * arguments in any order; `--` ends the options. No abbreviations. -h, --help, -V and --version
 * need no row. The last of repeated options wins, except for lists.
 *
 * With mount_style, `-o a,b=c` sets the same rows by name, so that each option exists once. A comma
 * in a value is written \,. So is one in a value in double quotes, which stay, as mount(8) has
 * them. In names, - and _ are the same. Words that begin with x- or X- are ignored, as mount(8)
 * expects.
 *
 * The URL of a file on this machine is the same as its path: name_take_file().
 *
 * Strings point into argv. The words of -o are split in place, so argv must be writable. Nothing is
 * allocated. Only opt_help() prints. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_kind {
	OPT_KIND_END,
	OPT_KIND_GROUP,	  /* no option: the heading of those that follow, in help */
	OPT_KIND_SHARED,  /* the same, of options that several commands have */
	OPT_KIND_FLAG,	  /* bool */
	OPT_KIND_CLEAR,	  /* bool: sets it to false */
	OPT_KIND_NONE,	  /* no field: is taken, with or without a value, and changes nothing */
	OPT_KIND_REFUSED, /* no field: `help` says why, and the way out */
	OPT_KIND_HELP,	  /* no field: what is wanted, see opt_builtin */
	OPT_KIND_VERSION,
	OPT_KIND_SIZE,	 /* uint64_t, bytes: size_parse() */
	OPT_KIND_NUMBER, /* uint64_t */
	OPT_KIND_OCTAL,	 /* uint64_t, as 022 */
	OPT_KIND_STRING, /* const char * */
	OPT_KIND_CHOICE, /* int: the index in choices */
	OPT_KIND_LIST,	 /* struct opt_list: may be given several times; no item is empty */
};

#define OPT_LIST_MAX 64

struct opt_list {
	const char *items[OPT_LIST_MAX];
	size_t count;
};

struct opt {
	enum opt_kind kind;
	char letter;		    /* 0: long form only */
	bool letter_only;	    /* -f and -d: no long form */
	const char *name;	    /* without dashes; of words, several: "atime|noatime" */
	const char *arg;	    /* the value's name in --help; NULL: takes none */
	const char *const *choices; /* OPT_KIND_CHOICE: ended by NULL */
	size_t offset;		    /* of the field in the settings */
	bool some;		    /* of a size or number: it is at least 1 */
	const char *help;	    /* lower case, no full stop */
};

#define OPT_ROW(k, l, n, a, type, field, h)                          \
	{                                                            \
		.kind = (k), .letter = (l), .name = (n), .arg = (a), \
		.offset = offsetof(type, field), .help = (h)         \
	}
#define OPT_FLAG(l, n, type, field, h)	    OPT_ROW(OPT_KIND_FLAG, l, n, NULL, type, field, h)
#define OPT_SIZE(l, n, a, type, field, h)   OPT_ROW(OPT_KIND_SIZE, l, n, a, type, field, h)
#define OPT_NUMBER(l, n, a, type, field, h) OPT_ROW(OPT_KIND_NUMBER, l, n, a, type, field, h)
#define OPT_OCTAL(l, n, a, type, field, h)  OPT_ROW(OPT_KIND_OCTAL, l, n, a, type, field, h)
#define OPT_SOME(k, l, n, a, type, field, h)                               \
	{                                                                  \
		.kind = (k), .letter = (l), .name = (n), .arg = (a),       \
		.offset = offsetof(type, field), .some = true, .help = (h) \
	}
#define OPT_COUNT(l, n, a, type, field, h)  OPT_SOME(OPT_KIND_NUMBER, l, n, a, type, field, h)
#define OPT_ROOM(l, n, a, type, field, h)   OPT_SOME(OPT_KIND_SIZE, l, n, a, type, field, h)
#define OPT_STRING(l, n, a, type, field, h) OPT_ROW(OPT_KIND_STRING, l, n, a, type, field, h)
#define OPT_LIST(l, n, a, type, field, h)   OPT_ROW(OPT_KIND_LIST, l, n, a, type, field, h)
#define OPT_CHOICE(l, n, list, type, field, h)                                          \
	{                                                                               \
		.kind = OPT_KIND_CHOICE, .letter = (l), .name = (n), .choices = (list), \
		.offset = offsetof(type, field), .help = (h)                            \
	}
#define OPT_GROUP(h)                                \
	{                                           \
		.kind = OPT_KIND_GROUP, .help = (h) \
	}
#define OPT_SHARED(h)                                \
	{                                            \
		.kind = OPT_KIND_SHARED, .help = (h) \
	}
#define OPT_END                      \
	{                            \
		.kind = OPT_KIND_END \
	}

/* A command, or a sub-command, as --help shows it. */
struct opt_command {
	const char *name;     /* "foldpack create" */
	const char *synopsis; /* "[options] SOURCE PACK"; further forms after \n */
	const char *summary;
	const char *examples; /* a command line each; NULL: none */
	const struct opt *table;
	const char *elsewhere;	 /* said in place of the shared groups; NULL: they are shown */
	bool mount_style;	 /* accepts -o name[=value],... */
	const struct opt *words; /* further rows that only -o knows; NULL: none */
	bool stop_at_dashes;	 /* arguments after `--` are a command: see opt_result */
	bool help_word;		 /* `help` alone is --help */
};

/* -h and -V, which need no row. */
extern const struct opt opt_builtin[];

enum opt_want { OPT_RUN, OPT_HELP, OPT_VERSION };

struct opt_result {
	enum opt_want want;
	char **args; /* the arguments, moved to the front of argv, NULL-ended */
	int nargs;
	char **command; /* after `--` where stop_at_dashes is set, NULL-ended; else NULL */
};

/* Reads argv[1..argc-1] into settings, and changes the order of argv. Returns 0 or -EINVAL with a
 * sentence in err: "unknown option '--pol'; did you mean '--pool'?", "'--pool': 'x' is not a size".
 * What follows --help or --version is ignored. */
int opt_parse(const struct opt_command *command, void *settings, int argc, char **argv,
	      struct opt_result *ret, struct err *err);

/* Calls `each` for the options that differ from the defaults, in the order of the table; for lists,
 * with each item. The value is NULL for a flag; a size is in bytes. */
void opt_given(const struct opt *table, const void *settings, const void *defaults,
	       void (*each)(void *context, const char *name, const char *value), void *context);

/* Which of several names a mistyped word may have meant: one that is at most two edits away, and
 * fewer than the word has letters. Begins with {.word, .len}. */
struct opt_nearest {
	const char *word; /* len bytes */
	size_t len;
	const char *name; /* the nearest so far; NULL: none */
	size_t distance;
};

/* Of equally near names the first wins. `name` is borrowed. */
void opt_nearest(struct opt_nearest *nearest, const char *name);

/* Says in err which argument is missing where `given` are there: its name in the first form of the
 * synopsis. Returns -EINVAL. */
int opt_missing(const struct opt_command *command, int given, struct err *err);

/* Prints usage, summary, examples and an entry for each option, at most 80 columns wide. */
void opt_help(const struct opt_command *command, FILE *out);
/* The entries alone, under their headings; without shared groups if not told. Returns whether there
 * are headings. */
bool opt_help_table(const struct opt *table, bool shared, FILE *out);
