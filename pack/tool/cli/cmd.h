/* What the sub-commands of foldpack share: their entry points, common options, and opening a pack.
 *
 * A sub-command returns its exit status. Results go to standard output, everything else goes
 * through base/log.h. */
#pragma once

#include "base/exit.h"
#include "base/json.h"
#include "base/log.h"
#include "base/opt.h"
#include "pack/foreign/foreign.h"
#include "pack/packs.h"
#include "pack/tool/work/progress.h"
#include "remote/remote.h"

/* argv[0] is the name of the sub-command. */
int cmd_create(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_cat(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_extract(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_fetch(int argc, char **argv);
int cmd_index(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* The settings of every sub-command have these as their member `common`. */
struct cmd_common {
	bool quiet, verbose;
	bool progress, progress_json; /* of commands that show it */
	bool makes_packs;	      /* that it could is no way out */
	bool delta_ok;		      /* the index of a delta is enough: pack/packs.h */
	struct remote_settings remote;
	struct remote engine; /* of all URLs that the command reads */
	struct foreign_settings foreign;
	struct pages pages; /* of all files that the command opens */
};

#define CMD_COMMON_OPTIONS(type)                                                       \
	OPT_FLAG('q', "quiet", type, common.quiet, "print only why something failed"), \
		OPT_FLAG('v', "verbose", type, common.verbose, "print more")

/* For commands that read a pack, which may be a URL. */
#define CMD_PACK_OPTIONS(type)                                         \
	CMD_COMMON_OPTIONS(type), REMOTE_OPTIONS(type, common.remote), \
		FOREIGN_OPTIONS(type, common.foreign)

/* Where help has the options of these that are no command's own. */
#define CMD_ELSEWHERE "For packs on servers and files of other formats: foldpack --help."

/* For commands that show progress. */
#define CMD_PROGRESS_OPTIONS(type)                                             \
	OPT_FLAG(0, "progress", type, common.progress,                         \
		 "print progress every five seconds even without a terminal"), \
		OPT_FLAG(0, "progress-json", type, common.progress_json,       \
			 "for programs: print it as JSON every second, and no summary")

struct cmd_line {
	const struct opt_command *command;
	void *settings;		   /* with the defaults */
	struct cmd_common *common; /* in settings; cmd_parse() sets its defaults */
	int least, most;	   /* arguments; most < 0: any number */
};

/* For settings with the member `common`, and `from` to `to` arguments. */
#define CMD_LINE(c, s, from, to)                                                          \
	{                                                                                 \
		.command = (c), .settings = (s), .common = &(s)->common, .least = (from), \
		.most = (to)                                                              \
	}

#define CMD_RUN (-1)

/* Reads the command line. Returns CMD_RUN, or the status to end with: help or version was shown, or
 * the command line was wrong and an error was printed. */
int cmd_parse(const struct cmd_line *line, int argc, char **argv, char ***ret_args);

/* Says what is wrong with the command line. Returns EXIT_USAGE. */
int cmd_usage_error(const struct opt_command *command, const char *text);

/* Refuses the URL of what is to be written, and says what can be done instead. Returns EXIT_DONE or
 * EXIT_USAGE. NULL is fine. */
int cmd_check_local(const char *output);

/* The status for a library's -errno, after "path: why" was printed, or only why if path is NULL. */
int cmd_status(const char *path, int error, const struct err *err);

/* Prints the name and version, and the versions of the libraries. */
void cmd_version(void);

/* Opens one of cmd_names(), which keeps its secrets: reader_open(). Returns 0 or -errno with a
 * sentence in err. */
int cmd_open_name(const struct name *name, const struct cmd_common *common, struct dataset **ret,
		  struct err *err);
/* Opens what a word names: a pack, or several packs as one; hides secrets as well. Returns
 * EXIT_DONE, or the status to end with after an error was printed. */
int cmd_open(char *word, const struct cmd_common *common, struct dataset **ret);
/* Once all of a dataset is copied: EXIT_DONE, or EXIT_SKIPPED, and it says so, where a file of
 * another format has what no tree can hold. */
int cmd_copied(const char *name, const struct dataset *dataset);
/* Says, after the name, which labels of a dataset are not what ImageFolder gives. */
void cmd_say_labels(const char *name, const struct dataset *dataset);
/* How many words there are before a NULL. */
size_t cmd_count(char *const *words);
/* The packs that words name. Same rules. Must be released in any case. */
int cmd_names(char **words, size_t count, const struct cmd_common *common, struct names *ret);
/* cmd_open() of what cmd_names() gave, or some of it. */
int cmd_open_names(const struct names *names, const struct cmd_common *common,
		   struct dataset **ret);

/* Loads parts of the index, see dataset_load(); same rules. */
int cmd_load(const char *path, struct dataset *dataset, unsigned parts);

/* The entry at a path of the pack; same rules. */
int cmd_find(const char *pack, const struct dataset *dataset, const char *path, uint32_t *ret);

/* Writes a name, which may be any bytes, to standard output, as a terminal may get it. */
void cmd_put_shown(const char *name, size_t len);
/* The same only where that is a terminal: elsewhere the bytes are kept. */
void cmd_put(const char *name, size_t len);

/* Writes JSON and a newline to standard output. 0, or -ENOMEM: some of it found no memory. */
int cmd_print_json(const struct buf *json);

/* What is said on standard error. */
enum log_level cmd_level(const struct cmd_common *common);
/* How a command shows progress: seldom in a log, not at all with -q, and often where it was asked
 * for. */
enum progress_want cmd_progress(const struct cmd_common *common);

static inline void cmd_close(struct dataset **dataset)
{
	dataset_free(*dataset);
}
