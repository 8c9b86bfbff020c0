/* foldpack: makes packs, and shows, checks and takes out what is in them. */
#include "base/log.h"
#include "pack/tool/cmd.h"
#include <string.h>
#include <sys/resource.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL: delivered by a later version */
	const char *synopsis;
	const char *summary;
} commands[] = {
	{"create", cmd_create, "[options] SOURCE PACK", "pack a folder into one file"},
	{"try", NULL, "[options] SOURCE", "measure what it would bring (not yet)"},
	{"list", cmd_list, "[options] PACK [PATH]", "show the paths in a pack"},
	{"info", cmd_info, "[options] PACK", "show what is in a pack, as a whole"},
	{"verify", cmd_verify, "[options] PACK", "hold every byte against its checksum"},
	{"cat", cmd_cat, "PACK PATH", "write one file to standard output"},
	{"diff", NULL, "DIR PACK", "compare a folder and a pack (not yet)"},
	{"extract", cmd_extract, "[options] PACK DEST [PATH..]", "make a folder again"},
	{"report", NULL, "PACK -o FILE.html", "write a report (not yet)"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("usage: foldpack COMMAND ...\n"
	      "       foldpack COMMAND --help\n\n"
	      "Packs a folder of images into one LMDB file, which foldfs mounts as the folder.\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-7s %-28s %s\n", commands[i].name, commands[i].synopsis,
			commands[i].summary);
	fputs("\noptions:\n"
	      "  --help     show this help\n"
	      "  --version  show the version\n",
	      out);
}

/* One descriptor is open for each level of a tree, and trees may be deep. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[0], commands[i].name) != 0)
			continue;
		if (commands[i].run)
			return commands[i].run(argc, argv);
		log_error("'%s': not yet in this version", argv[0]);
		return EXIT_USAGE;
	}
	log_error("unknown %s '%s'; see 'foldpack --help'",
		  argv[0][0] == '-' ? "option" : "command", argv[0]);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	log_init("foldpack", LOG_LEVEL_NORMAL);
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0) {
		help(stdout);
		return cmd_finish(EXIT_DONE);
	}
	if (strcmp(argv[1], "--version") == 0) {
		cmd_version();
		return cmd_finish(EXIT_DONE);
	}
	raise_descriptor_limit();
	return run(argc - 1, argv + 1);
}
