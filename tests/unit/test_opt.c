/* Command lines and --help from one table: base/opt.h. */
#include "base/opt.h"
#include "base/scope.h"
#include "base/size.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

struct settings {
	uint64_t pool, jobs, mask;
	bool follow, quiet, foreground, others;
	const char *dir;
	int io;
};

static const struct settings defaults = {.pool = 42, .jobs = 2, .mask = 022, .dir = "none"};

static const char *const io_names[] = {"auto", "direct", "buffered", NULL};

static const struct opt table[] = {
	OPT_SIZE('p', "pool", "SIZE", struct settings, pool, "memory for the pool"),
	OPT_NUMBER('j', "jobs", "N", struct settings, jobs, "threads at work"),
	OPT_OCTAL(0, "umask", "MASK", struct settings, mask, "bits taken off"),
	OPT_FLAG('l', "follow", struct settings, follow, "follow links"),
	OPT_FLAG('q', "quiet", struct settings, quiet, "say nothing"),
	{.kind = OPT_KIND_FLAG,
	 .letter = 'f',
	 .letter_only = true,
	 .name = "foreground",
	 .offset = offsetof(struct settings, foreground),
	 .help = "stay in the foreground"},
	OPT_FLAG(0, "allow_other", struct settings, others, "let other users in"),
	OPT_STRING(0, "sub-dir", "PATH", struct settings, dir, "show this directory only"),
	OPT_CHOICE('i', "io", io_names, struct settings, io, "how to read"),
	OPT_END,
};

static const struct opt mount_words[] = {
	{.kind = OPT_KIND_NONE, .name = "rw"},
	OPT_ROW(OPT_KIND_CLEAR, 0, "loud", NULL, struct settings, quiet, NULL),
	OPT_STRING(0, "context", "TEXT", struct settings, dir, NULL),
	OPT_END,
};

static const struct opt_command plain = {
	.name = "tool", .synopsis = "[options] A B", .summary = "Does it.", .table = table};
static const struct opt_command mount = {.name = "mnt",
					 .synopsis =
						 "[options] PACK DIR\n"
						 "[options] PACK DIR -- COMMAND [ARG...]",
					 .summary = "Mounts it.",
					 .table = table,
					 .mount_style = true,
					 .words = mount_words,
					 .stop_at_dashes = true};

/* --- a command line, read ------------------------------------------------------------- */

#define WORDS 12

/* One parsed line: the words are copied, for -o is split in place. */
struct line {
	char text[WORDS][80];
	char *argv[WORDS + 1];
	struct settings settings;
	struct opt_result result;
	struct err err;
};

FIXTURE(line, struct line, (void), (void));

static int parse(struct line *line, const struct opt_command *command, const char *const *words)
{
	int argc = 0;

	*line = (struct line){.settings = defaults, .result = {.nargs = -1}};
	for (; words[argc]; argc++) {
		snprintf(line->text[argc], sizeof(line->text[argc]), "%s", words[argc]);
		line->argv[argc] = line->text[argc];
	}
	return opt_parse(command, &line->settings, argc, line->argv, &line->result, &line->err);
}

#define LINE(...) ((const char *const[]){"prog", __VA_ARGS__, NULL})

static void assert_parses(struct line *line, const struct opt_command *command,
			  const char *const *words)
{
	int r = parse(line, command, words);

	if (r < 0)
		print_error("%s\n", line->err.text);
	assert_int_equal(r, 0);
	assert_int_equal(line->err.text[0], 0);
}

static void assert_refused(const struct opt_command *command, const char *const *words,
			   const char *reason)
{
	struct line line;

	assert_int_equal(parse(&line, command, words), -EINVAL);
	assert_string_equal(line.err.text, reason);
	assert_int_equal(line.result.nargs, -1); /* the result is not touched */
}

static void assert_list(char *const *list, const char *const *words)
{
	size_t i = 0;

	for (; words[i]; i++) {
		assert_non_null(list[i]);
		assert_string_equal(list[i], words[i]);
	}
	assert_null(list[i]);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- GNU rules ------------------------------------------------------------------------ */

TEST_OF(line, an_empty_line_leaves_the_defaults)
{
	assert_parses(line, &plain, LIST("prog"));
	assert_memory_equal(&line->settings, &defaults, sizeof(defaults));
	assert_int_equal(line->result.want, OPT_RUN);
	assert_int_equal(line->result.nargs, 0);
	assert_null(line->result.args[0]);
	assert_null(line->result.command);
}

TEST_OF(line, a_value_may_be_joined_or_the_next_word)
{
	static const char *const lines[][4] = {
		{"prog", "--pool=64K"}, {"prog", "--pool", "64K"}, {"prog", "-p64K"},
		{"prog", "-p", "64K"},	{"prog", "-qp64K"},	   {"prog", "-qp", "64K"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_parses(line, &plain, lines[i]);
		assert_true(line->settings.pool == 64 * KIB);
		assert_int_equal(line->result.nargs, 0);
	}
}

TEST_OF(line, every_kind_sets_its_field)
{
	assert_parses(line, &plain,
		      LINE("--pool=1G", "-j8", "--umask=077", "--follow", "-f", "--allow_other",
			   "--sub-dir=a=b", "--io=buffered"));
	assert_true(line->settings.pool == GIB);
	assert_int_equal(line->settings.jobs, 8);
	assert_int_equal(line->settings.mask, 077);
	assert_true(line->settings.follow && line->settings.foreground && line->settings.others);
	assert_false(line->settings.quiet);
	assert_string_equal(line->settings.dir, "a=b");
	assert_int_equal(line->settings.io, 2);
}

TEST_OF(line, flags_are_joined_and_the_last_value_wins)
{
	assert_parses(line, &plain, LINE("-lqf", "-j1", "--jobs=2", "-j", "3", "-iauto"));
	assert_true(line->settings.follow && line->settings.quiet && line->settings.foreground);
	assert_int_equal(line->settings.jobs, 3);
	assert_int_equal(line->settings.io, 0);
}

TEST_OF(line, strings_point_into_argv)
{
	assert_parses(line, &plain, LINE("--sub-dir=x"));
	assert_ptr_equal(line->settings.dir, line->text[1] + strlen("--sub-dir="));
	assert_parses(line, &mount, LINE("-o", "rw,sub-dir=x\\,y,io=auto"));
	assert_ptr_equal(line->settings.dir, line->text[2] + strlen("rw,sub-dir="));
	assert_string_equal(line->settings.dir, "x,y");
}

TEST_OF(line, an_empty_value_is_a_value)
{
	assert_parses(line, &plain, LINE("--sub-dir="));
	assert_string_equal(line->settings.dir, "");
	assert_parses(line, &plain, LINE("--sub-dir", ""));
	assert_string_equal(line->settings.dir, "");
	assert_refused(&plain, LINE("--pool="), "'--pool': '' is not a size");
	assert_refused(&plain, LINE("--jobs="), "'--jobs': '' is not a number");
}

TEST_OF(line, a_value_may_look_like_an_option)
{
	assert_parses(line, &plain, LINE("--sub-dir", "--", "--sub-dir", "-q", "x"));
	assert_string_equal(line->settings.dir, "-q");
	assert_false(line->settings.quiet);
	assert_list(line->result.args, LIST("x"));
}

/* --- arguments ------------------------------------------------------------------------ */

TEST_OF(line, arguments_and_options_mix)
{
	assert_parses(line, &plain, LINE("a", "-q", "-", "--jobs", "4", "-l", "b"));
	assert_int_equal(line->result.nargs, 3);
	assert_list(line->result.args, LIST("a", "-", "b"));
	assert_int_equal(line->settings.jobs, 4);
	assert_ptr_equal(line->result.args, line->argv + 1);
	assert_string_equal(line->argv[0], "prog");
}

TEST_OF(line, an_empty_argument_is_refused)
{
	static const char said[] = "an argument is empty, as of a variable that is not set";

	assert_refused(&plain, LINE("a", ""), said);
	assert_refused(&plain, LINE("--", "", "a"), said);
	assert_parses(line, &mount, LINE("pack", "dir", "--", "cmd", ""));
	assert_list(line->result.command, LIST("cmd", ""));
}

TEST_OF(line, two_dashes_end_the_options)
{
	assert_parses(line, &plain, LINE("a", "--", "-q", "--", "--nope"));
	assert_list(line->result.args, LIST("a", "-q", "--", "--nope"));
	assert_int_equal(line->result.nargs, 4);
	assert_false(line->settings.quiet);
	assert_null(line->result.command);
}

TEST_OF(line, a_command_behind_the_dashes_stays_as_it_is)
{
	assert_parses(line, &mount,
		      LINE("pack", "-q", "dir", "--", "cmd", "-q", "--", "--help", "-o", "a,b"));
	assert_list(line->result.args, LIST("pack", "dir"));
	assert_int_equal(line->result.nargs, 2);
	assert_list(line->result.command, LIST("cmd", "-q", "--", "--help", "-o", "a,b"));
	assert_int_equal(line->result.want, OPT_RUN);
}

TEST_OF(line, nothing_behind_the_dashes_is_an_empty_command)
{
	assert_parses(line, &mount, LINE("pack", "dir", "--"));
	assert_list(line->result.args, LIST("pack", "dir"));
	assert_non_null(line->result.command);
	assert_null(line->result.command[0]);
}

/* --- refusals ------------------------------------------------------------------------- */

TEST(values_of_the_wrong_form_are_refused)
{
	assert_refused(&plain, LINE("--pool", "x"), "'--pool': 'x' is not a size");
	assert_refused(&plain, LINE("-p9x"), "'-p': '9x' is not a size");
	assert_refused(&plain, LINE("-qp9x"), "'-p': '9x' is not a size");
	assert_refused(&plain, LINE("--pool=9999999999T"), "'--pool': '9999999999T' is too large");
	assert_refused(&plain, LINE("--jobs=-1"), "'--jobs': '-1' is not a number");
	assert_refused(&plain, LINE("--jobs= 1"), "'--jobs': ' 1' is not a number");
	assert_refused(&plain, LINE("--jobs=0x1"), "'--jobs': '0x1' is not a number");
	assert_refused(&plain, LINE("--jobs=18446744073709551616"),
		       "'--jobs': '18446744073709551616' is too large");
	assert_refused(&plain, LINE("--umask=8"), "'--umask': '8' is not an octal number");
	assert_refused(&plain, LINE("--io=fast"),
		       "'--io': 'fast' is not one of auto, direct, buffered");
}

TEST_OF(line, the_largest_numbers_are_taken)
{
	assert_parses(line, &plain,
		      LINE("--jobs=18446744073709551615", "--umask=1777777777777777777777"));
	assert_true(line->settings.jobs == UINT64_MAX);
	assert_true(line->settings.mask == UINT64_MAX);
}

TEST(a_value_missing_or_too_many_is_refused)
{
	assert_refused(&plain, LINE("--pool"), "'--pool': needs a value");
	assert_refused(&plain, LINE("-qp"), "'-p': needs a value");
	assert_refused(&plain, LINE("--quiet=yes"), "'--quiet': takes no value");
	assert_refused(&plain, LINE("--help=yes"), "'--help': takes no value");
	assert_refused(&mount, LINE("-o"), "'-o': needs a value");
}

TEST(an_unknown_option_is_named_with_a_guess)
{
	assert_refused(&plain, LINE("--pol"), "unknown option '--pol'; did you mean '--pool'?");
	assert_refused(&plain, LINE("--pol=1G"), "unknown option '--pol'; did you mean '--pool'?");
	assert_refused(&plain, LINE("--qiuet"),
		       "unknown option '--qiuet'; did you mean '--quiet'?");
	assert_refused(&plain, LINE("--halp"), "unknown option '--halp'; did you mean '--help'?");
	assert_refused(&plain, LINE("--versoin"),
		       "unknown option '--versoin'; did you mean '--version'?");
	assert_refused(&plain, LINE("--ib"), "unknown option '--ib'; did you mean '--io'?");
	assert_refused(&plain, LINE("--Jobs"), "unknown option '--Jobs'; did you mean '--jobs'?");
}

TEST(a_wild_word_gets_no_guess)
{
	assert_refused(&plain, LINE("--xyzzy"), "unknown option '--xyzzy'");
	assert_refused(&plain, LINE("--zz"), "unknown option '--zz'"); /* 2 edits from io */
	assert_refused(&plain, LINE("--poolxyz"), "unknown option '--poolxyz'");
	assert_refused(&plain, LINE("--=x"), "unknown option '--'");
	assert_refused(&plain, LINE("-z"), "unknown option '-z'");
	assert_refused(&plain, LINE("-qz"), "unknown option '-z'");
	assert_refused(&plain, LINE("-1"), "unknown option '-1'");
}

TEST(names_are_not_abbreviated)
{
	assert_refused(&plain, LINE("--follo"),
		       "unknown option '--follo'; did you mean '--follow'?");
	assert_refused(&plain, LINE("--sub"), "unknown option '--sub'");
	assert_refused(&plain, LINE("--pools"), "unknown option '--pools'; did you mean '--pool'?");
}

TEST(a_letter_alone_has_no_long_form)
{
	assert_refused(&plain, LINE("--foreground"), "unknown option '--foreground'");
	assert_refused(&mount, LINE("--foreground"), "unknown option '--foreground'");
}

TEST(mount_words_are_unknown_to_other_tools)
{
	assert_refused(&plain, LINE("--rw"), "unknown option '--rw'");
	assert_refused(&mount, LINE("--rw"), "unknown option '--rw'");
	assert_refused(&plain, LINE("-o", "quiet"), "unknown option '-o'");
	assert_refused(&plain, LINE("--allow-other"),
		       "unknown option '--allow-other'; did you mean '--allow_other'?");
}

TEST(the_reason_is_not_needed)
{
	char name[] = "prog", word[] = "--nope";
	char *argv[] = {name, word, NULL};
	struct settings settings = defaults;
	struct opt_result result;

	assert_int_equal(opt_parse(&plain, &settings, 2, argv, &result, NULL), -EINVAL);
}

TEST(a_very_long_word_is_refused_in_peace)
{
	static char word[100000] = "--";
	char name[] = "prog";
	char *argv[] = {name, word, NULL};
	struct settings settings = defaults;
	struct opt_result result;
	struct err err = {0};

	memset(word + 2, 'a', sizeof(word) - 3);
	assert_int_equal(opt_parse(&plain, &settings, 2, argv, &result, &err), -EINVAL);
	assert_memory_equal(err.text, "unknown option '--aaa", 21);
}

/* --- help and version ----------------------------------------------------------------- */

TEST_OF(line, help_and_version_end_the_reading)
{
	assert_parses(line, &plain, LINE("a", "-q", "--help", "--nope", "b"));
	assert_int_equal(line->result.want, OPT_HELP);
	assert_list(line->result.args, LIST("a"));
	assert_parses(line, &plain, LINE("--version", "--help"));
	assert_int_equal(line->result.want, OPT_VERSION);
	assert_refused(&plain, LINE("--nope", "--help"), "unknown option '--nope'");
	assert_parses(line, &plain, LINE("a", "-qh", "b"));
	assert_int_equal(line->result.want, OPT_HELP);
	assert_parses(line, &plain, LINE("-V", "--nope"));
	assert_int_equal(line->result.want, OPT_VERSION);
}

/* --- -o ------------------------------------------------------------------------------- */

TEST_OF(line, mount_words_set_the_same_rows)
{
	static const char *const lines[][4] = {
		{"prog", "-o", "pool=1G,allow_other,io=buffered,foreground"},
		{"prog", "-opool=1G,allow_other,io=buffered,foreground"},
		{"prog", "-qopool=1G,allow_other,io=buffered,foreground"},
		{"prog", "-o", ",,pool=1G,,allow_other,io=buffered,foreground,"},
		{"prog", "-o", "pool=2G,allow_other,io=auto,pool=1G,io=buffered,foreground"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_parses(line, &mount, lines[i]);
		assert_true(line->settings.pool == GIB);
		assert_true(line->settings.others && line->settings.foreground);
		assert_int_equal(line->settings.io, 2);
		assert_int_equal(line->result.nargs, 0);
	}
}

TEST_OF(line, lists_and_long_options_follow_each_other)
{
	assert_parses(line, &mount, LINE("-o", "jobs=3", "p", "--jobs=4", "d", "-o", "quiet"));
	assert_int_equal(line->settings.jobs, 4);
	assert_true(line->settings.quiet);
	assert_list(line->result.args, LIST("p", "d"));
}

TEST_OF(line, dashes_and_underscores_are_the_same_in_mount_names)
{
	assert_parses(line, &mount, LINE("-o", "allow-other,sub_dir=x"));
	assert_true(line->settings.others);
	assert_string_equal(line->settings.dir, "x");
	assert_parses(line, &mount, LINE("--allow-other", "--sub_dir=x"));
	assert_true(line->settings.others);
	assert_string_equal(line->settings.dir, "x");
}

TEST_OF(line, a_comma_in_a_value_is_escaped)
{
	assert_parses(line, &mount, LINE("-o", "sub-dir=\\,a\\,\\,b\\c\\,,quiet"));
	assert_string_equal(line->settings.dir, ",a,,b\\c,");
	assert_true(line->settings.quiet);
}

TEST_OF(line, words_meant_for_mount_are_passed_over)
{
	assert_parses(line, &mount,
		      LINE("-o", "rw,rw=1,x-systemd.automount,x-what=ever,X-mount.mkdir=1,quiet"));
	assert_true(line->settings.quiet);
	assert_parses(line, &mount, LINE("-o", ""));
}

TEST_OF(line, words_of_mount_set_fields_and_clear_them)
{
	assert_parses(line, &mount, LINE("-o", "quiet,loud"));
	assert_false(line->settings.quiet);
	assert_parses(line, &mount, LINE("-o", "loud,quiet"));
	assert_true(line->settings.quiet);
	assert_refused(&mount, LINE("-o", "loud=1"), "'-o loud': takes no value");
	assert_refused(&mount, LINE("--loud"), "unknown option '--loud'");
}

TEST_OF(line, quotes_hide_the_commas_of_a_value)
{
	assert_parses(line, &mount, LINE("-o", "context=\"u:r:t:s0:c1,c2\",quiet"));
	assert_string_equal(line->settings.dir, "\"u:r:t:s0:c1,c2\"");
	assert_true(line->settings.quiet);
	assert_parses(line, &mount, LINE("-o", "context=a\"b,quiet"));
	assert_string_equal(line->settings.dir, "a\"b");
	assert_parses(line, &mount, LINE("-o", "context=\"open,quiet"));
	assert_string_equal(line->settings.dir, "\"open,quiet");
}

TEST(mount_words_are_refused_by_their_name)
{
	assert_refused(&mount, LINE("-o", "pool=x"), "'-o pool': 'x' is not a size");
	assert_refused(&mount, LINE("-o", "pool"), "'-o pool': needs a value");
	assert_refused(&mount, LINE("-o", "quiet=1"), "'-o quiet': takes no value");
	assert_refused(&mount, LINE("-o", "quiet,pol=1"),
		       "unknown option '-o pol'; did you mean '-o pool'?");
	assert_refused(&mount, LINE("-o", "halp"), "unknown option '-o halp'");
	assert_refused(&mount, LINE("-o", "forground"),
		       "unknown option '-o forground'; did you mean '-o foreground'?");
	assert_refused(&mount, LINE("-o", "q"), "unknown option '-o q'");
	assert_refused(&mount, LINE("-o", "io=fast"),
		       "'-o io': 'fast' is not one of auto, direct, buffered");
}

TEST_OF(line, the_word_help_alone_is_help_where_a_command_says_so)
{
	struct opt_command says = plain;

	assert_parses(line, &plain, LINE("help"));
	assert_int_equal(line->result.want, OPT_RUN);
	says.help_word = true;
	assert_parses(line, &says, LINE("help"));
	assert_int_equal(line->result.want, OPT_HELP);
	assert_parses(line, &says, LINE("help", "dir"));
	assert_int_equal(line->result.want, OPT_RUN);
}

TEST(what_is_missing_has_the_name_that_the_synopsis_gives_it)
{
	struct opt_command command = plain;
	struct err err = {0};

	command.synopsis = "[options] --format=FORMAT PACK.. DEST [PATH..]\n-w [OTHER]";
	assert_int_equal(opt_missing(&command, 0, &err), -EINVAL);
	assert_string_equal(err.text, "PACK is missing");
	opt_missing(&command, 1, &err);
	assert_string_equal(err.text, "DEST is missing");
}

/* --- --help --------------------------------------------------------------------------- */

static char *help_text(const struct opt_command *command)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	opt_help(command, out);
	fclose(out);
	return text;
}

TEST(help_shows_each_row_once_in_the_order_of_the_table)
{
	SCOPE_FREE char *text = help_text(&plain);

	assert_string_equal(text,
			    "usage: tool [options] A B\n"
			    "\n"
			    "Does it.\n"
			    "\n"
			    "options:\n"
			    "  -p, --pool=SIZE           memory for the pool\n"
			    "  -j, --jobs=N              threads at work\n"
			    "      --umask=MASK          bits taken off\n"
			    "  -l, --follow              follow links\n"
			    "  -q, --quiet               say nothing\n"
			    "  -f                        stay in the foreground\n"
			    "      --allow_other         let other users in\n"
			    "      --sub-dir=PATH        show this directory only\n"
			    "  -i, --io=auto|direct|buffered\n"
			    "                            how to read\n"
			    "  -h, --help                show this help\n"
			    "  -V, --version             show the version\n");
}

TEST(help_has_examples_and_groups_and_says_where_shared_ones_are)
{
	static const struct opt rows[] = {
		OPT_GROUP("memory"),
		OPT_SIZE('p', "pool", "SIZE", struct settings, pool, "memory for the pool"),
		OPT_SHARED("servers"),
		OPT_STRING(0, "sub-dir", "PATH", struct settings, dir, "asked for there"),
		OPT_GROUP("speed"),
		OPT_NUMBER('j', "jobs", "N", struct settings, jobs, "threads at work"),
		OPT_END,
	};
	struct opt_command command = {.name = "t",
				      .synopsis = "A",
				      .summary = "S.",
				      .examples = "t a\nt -j 2 b",
				      .table = rows};
	SCOPE_FREE char *whole = help_text(&command);
	SCOPE_FREE char *text = NULL;

	assert_non_null(strstr(whole, "\nservers:\n      --sub-dir=PATH        asked for there\n"));
	command.elsewhere = "For servers: u --help.";
	text = help_text(&command);
	assert_string_equal(text,
			    "usage: t A\n\nS.\n\n"
			    "examples:\n  t a\n  t -j 2 b\n\n"
			    "memory:\n  -p, --pool=SIZE           memory for the pool\n\n"
			    "speed:\n  -j, --jobs=N              threads at work\n\n"
			    "more:\n"
			    "  -h, --help                show this help\n"
			    "  -V, --version             show the version\n\n"
			    "For servers: u --help.\n");
}

TEST(help_of_a_mount_shows_its_forms_and_o)
{
	SCOPE_FREE char *text = help_text(&mount);

	assert_ptr_equal(strstr(text,
				"usage: mnt [options] PACK DIR\n"
				"       mnt [options] PACK DIR -- COMMAND [ARG...]\n\n"),
			 text);
	assert_non_null(strstr(text, "\n  -o NAME[=VALUE],...       the same options by name"));
	assert_null(strstr(text, "rw"));
}

TEST(long_help_is_broken_between_words_at_80_columns)
{
	static const char *const names[] = {"jpeg", "ppm", "bmp", NULL};
	static const struct opt rows[] = {
		/* The first line ends in column 80 exactly. */
		OPT_FLAG('a', "all", struct settings, quiet,
			 "23456789 123456789 123456789 123456789 123456789 123 next line"),
		OPT_CHOICE(0, "store", names, struct settings, io,
			   "how the pictures are kept in the pack when changed"),
		OPT_END,
	};
	const struct opt_command command = {
		.name = "t", .synopsis = "", .summary = "S.", .table = rows};
	SCOPE_FREE char *text = help_text(&command);

	assert_non_null(strstr(text,
			       "  -a, --all                 23456789 123456789 123456789 "
			       "123456789 123456789 123\n"
			       "                            next line\n"));
	assert_non_null(strstr(text,
			       "      --store=jpeg|ppm|bmp  how the pictures are kept in "
			       "the pack when changed\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
}
