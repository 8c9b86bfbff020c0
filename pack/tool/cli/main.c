/* foldpack: makes packs, and shows, checks and takes out what is in them. */
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/name.h"
#include "base/scope.h"
#include "pack/tool/cli/cmd.h"
#include <errno.h>
#include <string.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *synopsis;
	const char *summary;
} commands[] = {
	{"create", cmd_create, "[options] SOURCE PACK", "pack a folder into one file"},
	{"list", cmd_list, "[options] PACK [PATH]", "list the paths in a pack"},
	{"info", cmd_info, "[options] PACK", "print a summary of a pack"},
	{"verify", cmd_verify, "[options] PACK..", "compare every byte with its checksum"},
	{"cat", cmd_cat, "[options] PACK PATH", "write one file to standard output"},
	{"diff", cmd_diff, "[options] DIR|OLD PACK", "compare a folder, or a pack, and a pack"},
	{"extract", cmd_extract, "[options] PACK DEST [PATH..]", "make a folder again"},
	{"export", cmd_export, "[options] PACK TARGET", "write another format"},
	{"fetch", cmd_fetch, "[options] PACK..", "fill the disk cache of foldfs"},
	{"index", cmd_index, "[options] FILE..", "make the index to publish with a file"},
	{"report", cmd_report, "[options] PACK -o FILE", "write a page about a dataset"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	static const struct opt shared[] = {REMOTE_OPTIONS(struct cmd_common, remote),
					    FOREIGN_OPTIONS(struct cmd_common, foreign), OPT_END};

	fputs("usage: foldpack COMMAND ...\n"
	      "       foldpack help COMMAND\n\n"
	      "Packs a folder of images into one LMDB file, which foldfs mounts as the folder.\n\n"
	      "examples:\n"
	      "  foldpack create train/ train.lmdb\n"
	      "  foldpack info https://example.org/train.lmdb\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-7s %-28s %s\n", commands[i].name, commands[i].synopsis,
			commands[i].summary);
	fputs("\nAll take -q and -v; those that read a pack, or a file of another format, also:\n",
	      out);
	opt_help_table(shared, true, out);
	fputs("\nmore:\n"
	      "  -h, --help                show this help, or that of a command\n"
	      "  -V, --version             show the version\n",
	      out);
}

static int run_command(int argc, char **argv)
{
	const char *word = argv[0];
	struct opt_nearest nearest = {.word = word, .len = strlen(word)};

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].run(argc, argv);
		opt_nearest(&nearest, commands[i].name);
	}
	if (word[0] == '-')
		return log_fail(EXIT_USAGE, "unknown option '%s'; see 'foldpack --help'", word);
	if (nearest.name)
		return log_fail(EXIT_USAGE, "unknown command '%s'; did you mean '%s'?", word,
				nearest.name);
	return log_fail(EXIT_USAGE, "unknown command '%s'; see 'foldpack --help'", word);
}

static bool is_option(const char *word, const char *letter, const char *name)
{
	return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

/* `help` and `help COMMAND`. */
static int show_help(int argc, char **argv)
{
	char option[] = "--help", *command[] = {argv[argc - 1], option, NULL};

	if (argc > 2)
		return log_fail(EXIT_USAGE, "unexpected argument '%s'; see 'foldpack --help'",
				argv[2]);
	if (argc == 2)
		return run_command(2, command);
	print_help(stdout);
	return exit_finish(EXIT_DONE);
}

int main(int argc, char **argv)
{
	SCOPE_FREE char *words = NULL;
	struct limits limits;
	struct err err = {0};

	io_fill_standard();
	log_init("foldpack", LOG_LEVEL_NORMAL);
	if (limits_begin(&err) < 0)
		return log_fail(EXIT_FAILED, "%s", err.text);
	if (name_hide_argv(argv, &words) < 0)
		return log_fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (is_option(argv[1], "-h", "--help"))
		return show_help(1, argv + 1);
	if (strcmp(argv[1], "help") == 0)
		return show_help(argc - 1, argv + 1);
	if (is_option(argv[1], "-V", "--version")) {
		cmd_version();
		return exit_finish(EXIT_DONE);
	}
	limits_raise_files(&limits);
	return run_command(argc - 1, argv + 1);
}
