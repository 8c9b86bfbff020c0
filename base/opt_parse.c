#include "base/name.h"
#include "base/opt.h"
#include "base/size.h"
#include <errno.h>
#include <string.h>

struct parser {
	const struct opt_command *command;
	void *settings;
	struct err *err;
	char **argv;
	int argc;
	int next; /* the first word not looked at */
	int kept; /* words at the front: the program, and the arguments so far */
	enum opt_want want;
};

/* An option as the user wrote it. */
struct given {
	const char *prefix; /* "--", "-" or "-o " */
	const char *name;   /* len bytes, not NUL-ended */
	size_t len;
	char *value; /* NULL: none */
};

const struct opt opt_builtin[] = {
	{.kind = OPT_KIND_HELP, .letter = 'h', .name = "help", .help = "show this help"},
	{.kind = OPT_KIND_VERSION, .letter = 'V', .name = "version", .help = "show the version"},
	OPT_END,
};

/* --- refusals ------------------------------------------------------------------------- */

static int refuse_option(const struct parser *p, const struct given *given, const char *reason)
{
	return err_set(p->err, -EINVAL, "'%s%.*s': %s", given->prefix, (int)given->len, given->name,
		       reason);
}

static int refuse_value(const struct parser *p, const struct given *given, const char *reason)
{
	return err_set(p->err, -EINVAL, "'%s%.*s': '%s' %s", given->prefix, (int)given->len,
		       given->name, given->value, reason);
}

#define NAME_MOST     40 /* longer names are never near */
#define DISTANCE_MOST 2

/* Edits (insert, delete, replace) between a word and a name: Levenshtein's table, of which
 * only the last row is kept. */
static size_t edit_distance(const char *word, size_t len, const char *name)
{
	size_t name_len = strlen(name), row[NAME_MOST + 1];

	if (name_len > NAME_MOST)
		return SIZE_MAX;
	for (size_t j = 0; j <= name_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= len; i++) {
		size_t corner = row[0]; /* up and left of row[j] */

		row[0] = i;
		for (size_t j = 1; j <= name_len; j++) {
			size_t best = corner + (word[i - 1] != name[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[name_len];
}

/* With as many edits as it has letters, a word can become any other. */
void opt_nearest(struct opt_nearest *nearest, const char *name)
{
	size_t distance = edit_distance(nearest->word, nearest->len, name);
	size_t least = nearest->name ? nearest->distance : DISTANCE_MOST + 1;

	if (distance >= least || distance >= nearest->len)
		return;
	nearest->name = name;
	nearest->distance = distance;
}

/* The option is unknown: suggests one that may have been meant. */
static int refuse_unknown(const struct parser *p, const struct given *given)
{
	bool mount = strcmp(given->prefix, "-o ") == 0;
	/* It may be that of a command: what that works on has been named. */
	const char *command =
		p->command->stop_at_dashes && p->kept > 3 ? "; a COMMAND goes after '--'" : "";
	struct opt_nearest nearest = {.word = given->name, .len = given->len};

	for (const struct opt *row = p->command->table; row->kind != OPT_KIND_END; row++)
		if (row->name && (mount || !row->letter_only))
			opt_nearest(&nearest, row->name);
	for (const struct opt *row = opt_builtin; !mount && row->kind != OPT_KIND_END; row++)
		opt_nearest(&nearest, row->name);
	if (!nearest.name)
		return err_set(p->err, -EINVAL, "unknown option '%s%.*s'%s", given->prefix,
			       (int)given->len, given->name, command);
	return err_set(p->err, -EINVAL, "unknown option '%s%.*s'; did you mean '%s%s'?%s",
		       given->prefix, (int)given->len, given->name, given->prefix, nearest.name,
		       command);
}

/* --- values --------------------------------------------------------------------------- */

/* Only digits of base 8 or 10. */
static int parse_digits(const char *text, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	bool over = false;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit >= base)
			return -EINVAL;
		over |= __builtin_mul_overflow(value, base, &value);
		over |= __builtin_add_overflow(value, digit, &value);
	}
	if (over)
		return -ERANGE;
	*ret = value;
	return 0;
}

static int set_count(const struct parser *p, const struct opt *row, const struct given *given,
		     uint64_t *field)
{
	const char *what = row->kind == OPT_KIND_NUMBER	 ? "is not a number"
			   : row->kind == OPT_KIND_OCTAL ? "is not an octal number"
							 : "is not a size";
	int r = row->kind == OPT_KIND_SIZE
			? size_parse(given->value, field)
			: parse_digits(given->value, row->kind == OPT_KIND_OCTAL ? 8 : 10, field);

	if (r == 0 && row->some && *field == 0)
		return refuse_value(p, given, "is too small");
	return r < 0 ? refuse_value(p, given, r == -ERANGE ? "is too large" : what) : 0;
}

static int set_choice(const struct parser *p, const struct opt *row, const struct given *given,
		      int *field)
{
	char known[256] = "";
	size_t len = 0;

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], given->value) == 0) {
			*field = i;
			return 0;
		}
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "is not one of ", row->choices[i]);
	}
	return refuse_value(p, given, known);
}

static bool takes_value(const struct opt *row)
{
	return row->kind != OPT_KIND_FLAG && row->kind != OPT_KIND_CLEAR &&
	       row->kind != OPT_KIND_HELP && row->kind != OPT_KIND_VERSION;
}

/* Sets the field of one option. The value is NULL if none was given. */
static int set_row(struct parser *p, const struct opt *row, const struct given *given)
{
	void *field = (char *)p->settings + row->offset;
	struct opt_list *list = field;

	if (row->kind == OPT_KIND_NONE)
		return 0;
	if (row->kind == OPT_KIND_REFUSED)
		return refuse_option(p, given, row->help);
	if (given->value)
		name_take_file(given->value);
	if (!takes_value(row) && given->value)
		return refuse_option(p, given, "takes no value");
	if (takes_value(row) && !given->value)
		return refuse_option(p, given, "needs a value");
	switch (row->kind) {
	case OPT_KIND_FLAG:
	case OPT_KIND_CLEAR:
		*(bool *)field = row->kind == OPT_KIND_FLAG;
		return 0;
	case OPT_KIND_HELP:
	case OPT_KIND_VERSION:
		p->want = row->kind == OPT_KIND_HELP ? OPT_HELP : OPT_VERSION;
		return 0;
	case OPT_KIND_STRING:
		*(const char **)field = given->value;
		return 0;
	case OPT_KIND_LIST:
		if (list->count == OPT_LIST_MAX)
			return refuse_option(p, given, "given too often");
		if (!*given->value)
			return refuse_option(p, given,
					     "is empty, as of a variable that is not set");
		list->items[list->count++] = given->value;
		return 0;
	case OPT_KIND_CHOICE:
		return set_choice(p, row, given, field);
	default:
		return set_count(p, row, given, field);
	}
}

/* --- names ---------------------------------------------------------------------------- */

/* Words of mount(8) have underscores where GNU options have dashes: a mount table takes both. */
static bool name_is(const struct parser *p, const struct given *given, const char *name)
{
	const char *end = strchrnul(name, '|');
	size_t i = 0;

	for (; i < given->len && name + i < end; i++) {
		bool dashes = strchr("-_", name[i]) && strchr("-_", given->name[i]);

		if (given->name[i] != name[i] && !(p->command->mount_style && dashes))
			break;
	}
	return (i == given->len && name + i == end) || (*end && name_is(p, given, end + 1));
}

static const struct opt *find_in(const struct parser *p, const struct opt *row,
				 const struct given *given, bool mount)
{
	for (; row && row->kind != OPT_KIND_END; row++)
		if (row->name && name_is(p, given, row->name) && (mount || !row->letter_only))
			return row;
	return NULL;
}

/* The row of --name, or with `mount` of -o name; NULL if there is none. */
static const struct opt *find_name(const struct parser *p, const struct given *given, bool mount)
{
	const struct opt *row = find_in(p, p->command->table, given, mount);

	return row ? row : find_in(p, mount ? p->command->words : opt_builtin, given, mount);
}

static const struct opt *find_letter(const struct parser *p, char letter)
{
	const struct opt *const tables[] = {p->command->table, opt_builtin};

	for (size_t i = 0; i < 2; i++)
		for (const struct opt *row = tables[i]; row->kind != OPT_KIND_END; row++)
			if (row->letter == letter)
				return row;
	return NULL;
}

/* Splits a word "name=value". */
static struct given given_split(const char *prefix, char *text)
{
	char *equals = strchr(text, '=');

	return (struct given){
		.prefix = prefix,
		.name = text,
		.len = equals ? (size_t)(equals - text) : strlen(text),
		.value = equals ? equals + 1 : NULL,
	};
}

/* The next word of the line, as a value; NULL at the end. */
static char *next_option_word(struct parser *p)
{
	return p->next < p->argc ? p->argv[p->next++] : NULL;
}

/* --- words ---------------------------------------------------------------------------- */

/* Cuts the first word off a list, up to a comma without a backslash before it, and removes such
 * backslashes. Quotes around a value hide its commas. *rest is NULL after the last word. */
static char *cut_mount_word(char **rest)
{
	char *word = *rest, *from = word, *to = word;
	bool quoted = false;

	while (*from && (*from != ',' || quoted)) {
		if (*from == '"' && (quoted || (from > word && from[-1] == '=')))
			quoted = !quoted;
		if (from[0] == '\\' && from[1] == ',')
			from++;
		*to++ = *from++;
	}
	*rest = *from ? from + 1 : NULL;
	*to = '\0';
	return word;
}

/* "ro=recursive": for mounts below it, of which a new one has none. */
static bool is_scope(const char *value)
{
	return strcmp(value, "recursive") == 0 || strcmp(value, "vfs") == 0 ||
	       strcmp(value, "fs") == 0;
}

static int parse_mount_word(struct parser *p, char *word)
{
	struct given given = given_split("-o ", word);
	const struct opt *row = find_name(p, &given, true);

	if (!*word || strncmp(word, "x-", 2) == 0 || strncmp(word, "X-", 2) == 0)
		return 0;
	if (row && !takes_value(row) && given.value && is_scope(given.value))
		given.value = NULL;
	return row ? set_row(p, row, &given) : refuse_unknown(p, &given);
}

static int parse_mount_list(struct parser *p, char *list)
{
	int r = 0;

	if (!list)
		return err_set(p->err, -EINVAL, "'-o': needs a value");
	while (r == 0 && list)
		r = parse_mount_word(p, cut_mount_word(&list));
	return r;
}

static int parse_long(struct parser *p, char *text)
{
	struct given given = given_split("--", text);
	const struct opt *row = find_name(p, &given, false);

	if (!row)
		return refuse_unknown(p, &given);
	if (!given.value && takes_value(row))
		given.value = next_option_word(p);
	return set_row(p, row, &given);
}

/* One word of letters: -v, -qv, -j4, -j 4, -qj4. */
static int parse_letters(struct parser *p, char *text)
{
	int r = 0;

	for (; r == 0 && *text && p->want == OPT_RUN; text++) {
		struct given given = {.prefix = "-", .name = text, .len = 1};
		const struct opt *row = find_letter(p, *text);
		bool list = p->command->mount_style && *text == 'o';

		if (!row && !list)
			return refuse_unknown(p, &given);
		if (list || takes_value(row)) {
			given.value = text[1] ? text + 1 : next_option_word(p);
			return list ? parse_mount_list(p, given.value) : set_row(p, row, &given);
		}
		r = set_row(p, row, &given);
	}
	return r;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int opt_parse(const struct opt_command *command, void *settings, int argc, char **argv,
	      struct opt_result *ret, struct err *err)
{
	struct parser p = {command, settings, err, argv, argc, 1, 1, OPT_RUN};
	char **command_words = NULL;
	bool ended = false; /* by -- */
	int r = 0;

	while (r == 0 && p.want == OPT_RUN && p.next < argc && !command_words) {
		char *word = argv[p.next++];

		if (!*word) {
			r = err_set(err, -EINVAL,
				    "an argument is empty, as of a variable that is not set");
		} else if (ended || !is_option(word)) {
			name_take_file(word);
			argv[p.kept++] = word;
		} else if (strcmp(word, "--") != 0) {
			r = word[1] == '-' ? parse_long(&p, word + 2) : parse_letters(&p, word + 1);
		} else if (command->stop_at_dashes) {
			command_words = argv + p.next;
		} else {
			ended = true;
		}
	}
	if (r < 0)
		return r;
	if (command->help_word && argc == 2 && strcmp(argv[1], "help") == 0)
		p.want = OPT_HELP;
	argv[p.kept] = NULL;
	*ret = (struct opt_result){p.want, argv + 1, p.kept - 1, command_words};
	return 0;
}

/* "[options] PACK DEST [PATH..]": the words that are no options, without their dots. */
int opt_missing(const struct opt_command *command, int given, struct err *err)
{
	const char *word = command->synopsis;

	word += strspn(word, " ");
	while (*word == '[' || *word == '-' || given-- > 0) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	return err_set(err, -EINVAL, "%.*s is missing", (int)strcspn(word, " .\n"), word);
}
