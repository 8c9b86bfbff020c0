/* Command lines and --help from one table: base/opt.h. */
#include "base/buf.h"
#include "base/opt.h"
#include "base/scope.h"
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
	OPT_COUNT('j', "jobs", "N", struct settings, jobs, "threads at work"),
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
	char text[400];
	char *argv[WORDS + 2];
	struct settings settings;
	struct opt_result result;
	struct err err;
};

/* The words of a line, between blanks; ~ is a blank in one, and @ an empty one. */
static int parse(struct line *line, const struct opt_command *command, const char *words)
{
	char *rest = line->text, *word;
	int argc = 1;

	*line = (struct line){.settings = defaults, .result = {.nargs = -1}};
	snprintf(line->text, sizeof(line->text), "%s", words);
	line->argv[0] = line->text + strlen(words); /* the program's name */
	while ((word = strsep(&rest, " ")) && *word) {
		assert_true(argc <= WORDS);
		line->argv[argc++] = strcmp(word, "@") == 0 ? memset(word, 0, 1) : word;
		for (char *at = word; (at = strchr(at, '~'));)
			*at = ' ';
	}
	return opt_parse(command, &line->settings, argc, line->argv, &line->result, &line->err);
}

static void add_option(void *context, const char *name, const char *value)
{
	buf_addf(context, value ? "%s=%s " : "%s ", name, value);
}

/* What a line comes to: the options that it sets, in the order of the table; behind ":" arguments,
 * behind "--" a command; or "refused: ", and why. */
static void expect(const struct opt_command *command, const char *words, const char *outcome)
{
	static const char *const wants[] = {"", "help ", "version "};
	SCOPE(buf_release) struct buf said = BUF_INIT;
	struct line line;

	if (parse(&line, command, words) < 0) {
		assert_int_equal(line.result.nargs, -1); /* the result is not touched */
		buf_addf(&said, "refused: %s ", line.err.text);
	} else {
		buf_adds(&said, wants[line.result.want]);
		opt_given(command->table, &line.settings, &defaults, add_option, &said);
		for (int i = 0; i < line.result.nargs; i++)
			buf_addf(&said, i ? "%s " : ": %s ", line.result.args[i]);
		assert_null(line.result.args[line.result.nargs]);
		for (char **word = line.result.command; word && *word; word++)
			buf_addf(&said, word == line.result.command ? "-- %s " : "%s ", *word);
		assert_int_equal(line.err.text[0], 0);
	}
	if (said.len)
		said.data[said.len - 1] = '\0'; /* the blank behind the last word */
	if (strcmp(said.len ? said.data : "", outcome) != 0)
		fail_msg("%s\n\tis: %s\n\tbut: %s", words, said.data, outcome);
}

/* --- GNU rules ------------------------------------------------------------------------ */

TEST(an_empty_line_leaves_the_defaults)
{
	struct line line;

	expect(&plain, "", "");
	assert_int_equal(parse(&line, &plain, ""), 0);
	assert_memory_equal(&line.settings, &defaults, sizeof(defaults));
	assert_null(line.result.command);
}

TEST(a_value_may_be_joined_or_the_next_word)
{
	expect(&plain, "--pool=64K", "pool=65536");
	expect(&plain, "--pool 64K", "pool=65536");
	expect(&plain, "-p64K", "pool=65536");
	expect(&plain, "-p 64K", "pool=65536");
	expect(&plain, "-qp64K", "pool=65536 quiet");
	expect(&plain, "-qp 64K", "pool=65536 quiet");
}

TEST(every_kind_sets_its_field)
{
	expect(&plain,
	       "--pool=1G -j8 --umask=077 --follow -f --allow_other --sub-dir=a=b --io=buffered",
	       "pool=1073741824 jobs=8 umask=77 follow foreground allow_other sub-dir=a=b "
	       "io=buffered");
	expect(&plain, "--jobs=18446744073709551615 --umask=1777777777777777777777",
	       "jobs=18446744073709551615 umask=1777777777777777777777");
}

TEST(flags_are_joined_and_the_last_value_wins)
{
	expect(&plain, "-lqf -j1 --jobs=2 -j 3 -iauto", "jobs=3 follow quiet foreground");
}

TEST(strings_point_into_argv)
{
	struct line line;

	assert_int_equal(parse(&line, &mount, "-o rw,sub-dir=x\\,y,io=auto"), 0);
	assert_ptr_equal(line.settings.dir, line.text + strlen("-o rw,sub-dir="));
	assert_string_equal(line.settings.dir, "x,y");
	assert_int_equal(parse(&line, &plain, "a --sub-dir=x"), 0);
	assert_ptr_equal(line.result.args, line.argv + 1);
	assert_ptr_equal(line.settings.dir, line.text + strlen("a --sub-dir="));
}

TEST(an_empty_value_is_a_value)
{
	expect(&plain, "--sub-dir=", "sub-dir=");
	expect(&plain, "--sub-dir @", "sub-dir=");
	expect(&plain, "--pool=", "refused: '--pool': '' is not a size");
	expect(&plain, "--jobs=", "refused: '--jobs': '' is not a number");
}

TEST(a_value_may_look_like_an_option)
{
	expect(&plain, "--sub-dir -- --sub-dir -q x", "sub-dir=-q : x");
}

/* --- arguments ------------------------------------------------------------------------ */

TEST(arguments_and_options_mix)
{
	expect(&plain, "a -q - --jobs 4 -l b", "jobs=4 follow quiet : a - b");
}

TEST(an_empty_argument_is_refused)
{
	static const char said[] =
		"refused: an argument is empty, as of a variable that is not set";

	expect(&plain, "a @", said);
	expect(&plain, "-- @ a", said);
	expect(&mount, "pack dir -- cmd @", ": pack dir -- cmd ");
}

TEST(two_dashes_end_the_options)
{
	expect(&plain, "a -- -q -- --nope", ": a -q -- --nope");
}

TEST(a_command_behind_the_dashes_stays_as_it_is)
{
	struct line line;

	expect(&mount, "pack -q dir -- cmd -q -- --help -o a,b",
	       "quiet : pack dir -- cmd -q -- --help -o a,b");
	expect(&mount, "pack dir --", ": pack dir");
	parse(&line, &mount, "pack dir --");
	assert_non_null(line.result.command); /* an empty one */
}

/* --- refusals ------------------------------------------------------------------------- */

TEST(values_of_the_wrong_form_are_refused)
{
	expect(&plain, "--pool x", "refused: '--pool': 'x' is not a size");
	expect(&plain, "-p9x", "refused: '-p': '9x' is not a size");
	expect(&plain, "-qp9x", "refused: '-p': '9x' is not a size");
	expect(&plain, "--pool=9999999999T", "refused: '--pool': '9999999999T' is too large");
	expect(&plain, "--jobs=-1", "refused: '--jobs': '-1' is not a number");
	expect(&plain, "--jobs=~1", "refused: '--jobs': ' 1' is not a number");
	expect(&plain, "--jobs=0x1", "refused: '--jobs': '0x1' is not a number");
	expect(&plain, "--jobs=18446744073709551616",
	       "refused: '--jobs': '18446744073709551616' is too large");
	expect(&plain, "--jobs=0", "refused: '--jobs': '0' is too small");
	expect(&plain, "--umask=8", "refused: '--umask': '8' is not an octal number");
	expect(&plain, "--io=fast", "refused: '--io': 'fast' is not one of auto, direct, buffered");
}

TEST(a_value_missing_or_too_many_is_refused)
{
	expect(&plain, "--pool", "refused: '--pool': needs a value");
	expect(&plain, "-qp", "refused: '-p': needs a value");
	expect(&plain, "--quiet=yes", "refused: '--quiet': takes no value");
	expect(&plain, "--help=yes", "refused: '--help': takes no value");
	expect(&mount, "-o", "refused: '-o': needs a value");
}

TEST(an_unknown_option_is_named_with_a_guess)
{
	expect(&plain, "--pol", "refused: unknown option '--pol'; did you mean '--pool'?");
	expect(&plain, "--pol=1G", "refused: unknown option '--pol'; did you mean '--pool'?");
	expect(&plain, "--qiuet", "refused: unknown option '--qiuet'; did you mean '--quiet'?");
	expect(&plain, "--halp", "refused: unknown option '--halp'; did you mean '--help'?");
	expect(&plain, "--versoin",
	       "refused: unknown option '--versoin'; did you mean '--version'?");
	expect(&plain, "--follo", "refused: unknown option '--follo'; did you mean '--follow'?");
	expect(&plain, "--ib", "refused: unknown option '--ib'; did you mean '--io'?");
	expect(&plain, "--Jobs", "refused: unknown option '--Jobs'; did you mean '--jobs'?");
}

/* --zz is two edits from --io. */
TEST(a_wild_word_gets_no_guess)
{
	static const char *const words[] = {"xyzzy", "zz", "poolxyz", "sub", "foreground", "rw"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char word[32], refused[64];

		snprintf(word, sizeof(word), "--%s", words[i]);
		snprintf(refused, sizeof(refused), "refused: unknown option '%s'", word);
		expect(&plain, word, refused);
		expect(&mount, word, refused);
	}
	expect(&plain, "--=x", "refused: unknown option '--'");
	expect(&plain, "-z", "refused: unknown option '-z'");
	expect(&plain, "-qz", "refused: unknown option '-z'");
	expect(&plain, "-1", "refused: unknown option '-1'");
}

TEST(mount_words_are_unknown_to_other_tools)
{
	expect(&plain, "-o quiet", "refused: unknown option '-o'");
	expect(&plain, "--allow-other",
	       "refused: unknown option '--allow-other'; did you mean '--allow_other'?");
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
	assert_int_equal(opt_parse(&plain, &settings, 2, argv, &result, NULL), -EINVAL);
}

/* --- help and version ----------------------------------------------------------------- */

TEST(help_and_version_end_the_reading)
{
	struct opt_command says = plain;

	expect(&plain, "a -q --help --nope b", "help quiet : a");
	expect(&plain, "--version --help", "version");
	expect(&plain, "--nope --help", "refused: unknown option '--nope'");
	expect(&plain, "a -qh b", "help quiet : a");
	expect(&plain, "-V --nope", "version");
	/* The word alone, where a command says so. */
	expect(&plain, "help", ": help");
	says.help_word = true;
	expect(&says, "help", "help : help");
	expect(&says, "help dir", ": help dir");
}

/* --- -o ------------------------------------------------------------------------------- */

TEST(mount_words_set_the_same_rows)
{
	static const char all[] = "pool=1073741824 foreground allow_other io=buffered";

	expect(&mount, "-o pool=1G,allow_other,io=buffered,foreground", all);
	expect(&mount, "-opool=1G,allow_other,io=buffered,foreground", all);
	expect(&mount, "-fopool=1G,allow_other,io=buffered", all);
	expect(&mount, "-o ,,pool=1G,,allow_other,io=buffered,foreground,", all);
	expect(&mount, "-o pool=2G,allow_other,io=auto,pool=1G,io=buffered,foreground", all);
	expect(&mount, "-o jobs=3 p --jobs=4 d -o quiet", "jobs=4 quiet : p d");
}

TEST(dashes_and_underscores_are_the_same_in_mount_names)
{
	expect(&mount, "-o allow-other,sub_dir=x", "allow_other sub-dir=x");
	expect(&mount, "--allow-other --sub_dir=x", "allow_other sub-dir=x");
}

TEST(a_comma_in_a_value_is_escaped)
{
	expect(&mount, "-o sub-dir=\\,a\\,\\,b\\c\\,,quiet", "quiet sub-dir=,a,,b\\c,");
}

TEST(words_meant_for_mount_are_passed_over)
{
	expect(&mount, "-o rw,rw=1,x-systemd.automount,x-what=ever,X-mount.mkdir=1,quiet", "quiet");
	expect(&mount, "-o @", "");
}

TEST(words_of_mount_set_fields_and_clear_them)
{
	expect(&mount, "-o quiet,loud", "");
	expect(&mount, "-o loud,quiet", "quiet");
	expect(&mount, "-o loud=1", "refused: '-o loud': takes no value");
	expect(&mount, "--loud", "refused: unknown option '--loud'");
}

TEST(quotes_hide_the_commas_of_a_value)
{
	expect(&mount, "-o context=\"u:r:t:s0:c1,c2\",quiet", "quiet sub-dir=\"u:r:t:s0:c1,c2\"");
	expect(&mount, "-o context=a\"b,quiet", "quiet sub-dir=a\"b");
	expect(&mount, "-o context=\"open,quiet", "sub-dir=\"open,quiet");
}

TEST(mount_words_are_refused_by_their_name)
{
	expect(&mount, "-o pool=x", "refused: '-o pool': 'x' is not a size");
	expect(&mount, "-o pool", "refused: '-o pool': needs a value");
	expect(&mount, "-o quiet=1", "refused: '-o quiet': takes no value");
	expect(&mount, "-o quiet,pol=1",
	       "refused: unknown option '-o pol'; did you mean '-o pool'?");
	expect(&mount, "-o halp", "refused: unknown option '-o halp'");
	expect(&mount, "-o forground",
	       "refused: unknown option '-o forground'; did you mean '-o foreground'?");
	expect(&mount, "-o q", "refused: unknown option '-o q'");
	expect(&mount, "-o io=fast",
	       "refused: '-o io': 'fast' is not one of auto, direct, buffered");
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
		OPT_COUNT('j', "jobs", "N", struct settings, jobs, "threads at work"),
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
