#include "pack/names.h"
#include "base/bytes.h"
#include "base/lines.h"
#include "base/name.h"
#include "base/scope.h"
#include "pack/format.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DIGITS	    "[0-9][0-9][0-9][0-9][0-9]"
#define DIGITS_MOST 18	  /* of a number */
#define WORD_MOST   16384 /* bytes: braces are replaced in copies of the word, in each other */

/* Where a word was found, and where its packs go. */
struct word_at {
	const char *folder; /* that paths are relative to, with its slash; "": the working folder */
	const char *below;
	const char *list; /* has it as a line; NULL: it is on the command line */
	bool placed;	  /* by NAME/= */
	bool found;	  /* by a pattern */
};

static bool by_server(const struct word_at *at)
{
	return at->list && name_scheme(at->list);
}

static bool is_url(const char *name)
{
	return strstr(name, "://") != NULL;
}

/* A path that exists is what it says, not a pattern. Servers do not learn what exists here. */
static bool is_there(const char *name, const struct word_at *at)
{
	return !by_server(at) && !is_url(name) && access(name, F_OK) == 0;
}

static int refuse_word(const char *word, int error, const char *why, struct err *err)
{
	SCOPE_FREE char *shown = name_shown(word);

	return err_set(err, error, "'%s': %s", shown ? shown : "", why);
}

/* --- names of sets ---------------------------------------------------------------------------- */

/* Parses a number, and passes it: its value, and how many digits it has. */
static bool set_name_number(const char **at, uint64_t *ret, int *ret_digits)
{
	const char *start = *at;

	*ret = 0;
	while (**at >= '0' && **at <= '9' && *at - start < DIGITS_MOST)
		*ret = *ret * 10 + (uint64_t)(*(*at)++ - '0');
	*ret_digits = (int)(*at - start);
	return *ret_digits > 0;
}

/* push_to_hub() of Hugging Face datasets before 2.15 put a hash behind the count, of each file
 * another: train-00000-of-00002-6f3344faa23e9b0a.parquet. */
static const char *after_hash(const char *at)
{
	return *at == '-' && strspn(at + 1, "0123456789abcdef") == 16 ? at + 17 : at;
}

bool set_name_parse(const char *name, struct set_name *ret)
{
	const char *end_of_name = name + name_query(name);
	const char *slash = memrchr(name, '/', (size_t)(end_of_name - name));
	const char *base = slash ? slash + 1 : name;

	for (const char *at = strchr(base, '-'); at && at < end_of_name; at = strchr(at + 1, '-')) {
		const char *end = at + 1;
		int digits;

		*ret = (struct set_name){
			.name = name, .base = (size_t)(base - name), .before = (size_t)(at - name)};
		if (!set_name_number(&end, &ret->number, &ret->digits) ||
		    strncmp(end, "-of-", 4) != 0)
			continue;
		end += 4;
		ret->after = end;
		if (!set_name_number(&ret->after, &ret->of, &digits) || ret->number >= ret->of ||
		    ret->of > NAMES_MOST)
			continue;
		ret->after = after_hash(ret->after);
		ret->after_len = (size_t)(end_of_name - ret->after);
		return true;
	}
	return false;
}

/* 0: but for their counts. */
static int compare_names(const struct set_name *a, const struct set_name *b)
{
	int r = bytes_compare(a->name, a->before, b->name, b->before);

	return r ? r : bytes_compare(a->after, a->after_len, b->after, b->after_len);
}

/* 0: of one set. */
static int compare_sets(const void *left, const void *right)
{
	const struct set_name *a = left, *b = right;
	int r = compare_names(a, b);

	return r ? r : (a->of > b->of) - (a->of < b->of);
}

static int compare_members(const void *left, const void *right)
{
	const struct set_name *a = left, *b = right;
	int r = compare_sets(left, right);

	return r ? r : (a->number > b->number) - (a->number < b->number);
}

/* Those of all names, or of those without a NAME/=, sorted. */
static int parse_sets(const struct names *names, bool all, struct set_name **ret, size_t *ret_count)
{
	struct set_name *sets = calloc(names->count + 1, sizeof(*sets));
	size_t count = 0;

	if (!sets)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++)
		if (all || !names->all[i].placed)
			count += set_name_parse(names->all[i].name, &sets[count]);
	qsort(sets, count, sizeof(*sets), compare_members);
	*ret = sets;
	*ret_count = count;
	return 0;
}

/* --- one name --------------------------------------------------------------------------------- */

/* Whether two URLs are of the same scheme, and (below) on the same server. */
static bool same_scheme(const char *a, const char *b)
{
	size_t len = name_scheme(a);

	return len > 0 && len == name_scheme(b) && strncasecmp(a, b, len) == 0;
}

static bool same_server(const char *a, const char *b)
{
	size_t scheme = name_scheme(a) + strlen("://");
	size_t len = scheme + strcspn(a + scheme, "/?#");

	return same_scheme(a, b) && strncasecmp(a, b, len) == 0 && strchr("/?#", b[len]);
}

static int add_found(struct names *names, const char *name, const struct word_at *at,
		     struct err *err)
{
	struct name *all = names->all;
	struct name added;

	if (by_server(at) && !same_scheme(name, at->list))
		return refuse_word(
			name, -EACCES,
			"a list on a server names packs by paths relative to it, or by URLs "
			"of its own scheme",
			err);
	if (names->count == NAMES_MOST)
		return err_set(err, -E2BIG, "more than %d packs", NAMES_MOST);
	/* Room doubles: it is a power of two. */
	if ((names->count & (names->count - 1)) == 0)
		all = reallocarray(all, names->count ? 2 * names->count : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	names->all = all;
	added = (struct name){.name = strdup(name),
			      .below = strdup(at->below),
			      .apart = by_server(at) && !same_server(at->list, name),
			      .found = at->found,
			      .placed = at->placed};
	if (!added.name || !added.below) {
		free(added.name);
		free(added.below);
		return -ENOMEM;
	}
	all[names->count++] = added;
	return 0;
}

/* Where there is no file of that name, a set, or a pack, of that name without ".lmdb", may be what
 * was meant. */
static int check_beside(const char *name, const struct word_at *at, struct err *err)
{
	const char *base = strrchr(name, '/'), *dot = strrchr(base ? base : name, '.');
	SCOPE_FREE char *one = NULL;
	SCOPE_FREE char *shards = NULL;
	size_t stem = dot ? (size_t)(dot - name) : strlen(name);
	glob_t found = {0};
	int r = 0;

	if (by_server(at) || is_url(name) || name[0] == '\0' || is_there(name, at))
		return 0;
	if (asprintf(&one, "%s.lmdb", name) < 0 ||
	    asprintf(&shards, "%.*s-" DIGITS "-of-" DIGITS "%s", (int)stem, name,
		     dot ? dot : ".lmdb") < 0)
		return -ENOMEM;
	if (access(one, F_OK) == 0)
		r = err_set(err, -ENOENT, "'%s' is not here, but '%s' is", name, one);
	else if (glob(shards, 0, NULL, &found) == 0)
		r = err_set(err, -ENOENT, "'%s' is not here, but a set is: '%.*s-*%s'", name,
			    (int)stem, name, found.gl_pathv[0] + stem + strlen("-00000"));
	globfree(&found);
	return r;
}

static int add_glob(struct names *names, const char *pattern, const struct word_at *at,
		    struct err *err)
{
	SCOPE(buf_release) struct buf listed = BUF_INIT;
	struct word_at one = *at;
	glob_t found = {0};
	size_t before = names->count;
	int r = 1;

	if (is_url(pattern)) {
		if (names->list && !by_server(at))
			r = names->list(names->context, pattern, &listed, err);
		if (r == 1)
			return add_found(names, pattern, at, err);
		names->patterns = one.found = true;
		for (size_t i = 0; r == 0 && i < listed.len; i += strlen(listed.data + i) + 1)
			r = add_found(names, listed.data + i, &one, err);
		return r;
	}
	if (by_server(at) || !strpbrk(pattern, "*?[") || is_there(pattern, at)) {
		r = check_beside(pattern, at, err);
		return r < 0 ? r : add_found(names, pattern, at, err);
	}
	names->patterns = one.found = true;
	r = glob(pattern, 0, NULL, &found) == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		if (!name_is_index(found.gl_pathv[i]))
			r = add_found(names, found.gl_pathv[i], &one, err);
	if (r == 0 && names->count == before)
		r = err_set(err, -ENOENT, "'%s' matches no file", pattern);
	globfree(&found);
	return r;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* glob(3) takes its characters for themselves. */
static int add_escaped(struct buf *pattern, const char *path)
{
	size_t len = strlen(path);
	int r = 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (const char *end = path + len; r == 0 && path < end; path++)
		r = buf_addf(pattern, "%s%c", strchr("*?[\\", *path) ? "\\" : "", *path);
	return r;
}

/* What save_to_disk of Hugging Face datasets wrote stands for its files: beside one of these texts,
 * and called as of old, or as since. -ENOENT: it is none. */
static int add_saved(struct names *names, const char *folder, const struct word_at *at,
		     struct err *err)
{
	static const struct {
		const char *text, *files;
	} kinds[] = {{"state.json", "data-" DIGITS "-of-" DIGITS ".arrow"},
		     {"state.json", "dataset[.]arrow"},
		     {"dataset_dict.json", "*/data-" DIGITS "-of-" DIGITS ".arrow"}};
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(kinds) / sizeof(*kinds); i++) {
		SCOPE(buf_release) struct buf text = BUF_INIT;
		SCOPE(buf_release) struct buf pattern = BUF_INIT;

		if (buf_addf(&text, "%s/%s", folder, kinds[i].text) < 0 ||
		    add_escaped(&pattern, folder) < 0 ||
		    buf_addf(&pattern, "/%s", kinds[i].files) < 0)
			return -ENOMEM;
		if (access(text.data, F_OK) == 0)
			r = add_glob(names, pattern.data, at, err);
	}
	return r;
}

/* --- braces ----------------------------------------------------------------------------------- */

static int add_braces(struct names *names, const char *word, const struct word_at *at,
		      struct err *err);

/* Adds the word with `len` bytes of text in place of its braces, from open to close. */
static int add_replaced(struct names *names, const char *word, const char *open, const char *close,
			const char *text, size_t len, const struct word_at *at, struct err *err)
{
	SCOPE_FREE char *made = NULL;

	if (asprintf(&made, "%.*s%.*s%s", (int)(open - word), word, (int)len, text, close + 1) <
	    0) {
		made = NULL;
		return -ENOMEM;
	}
	return add_braces(names, made, at, err);
}

/* "00000..00014": each number gets as many digits as the first one has. */
static bool parse_range(const char *open, const char *close, uint64_t *first, uint64_t *last,
			int *digits)
{
	const char *at = open + 1;
	int other;

	if (!set_name_number(&at, first, digits) || strncmp(at, "..", 2) != 0)
		return false;
	at += 2;
	return set_name_number(&at, last, &other) && at == close;
}

static int add_range(struct names *names, const char *word, const char *open, const char *close,
		     const struct word_at *at, struct err *err)
{
	uint64_t first, last;
	int digits, r = 0;

	if (!parse_range(open, close, &first, &last, &digits) || last < first ||
	    last - first >= NAMES_MOST)
		return refuse_word(word, -EINVAL, "a range goes up, by less than 100000", err);
	for (uint64_t i = first; r == 0 && i <= last; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "%0*llu", digits, (unsigned long long)i);

		r = add_replaced(names, word, open, close, text, (size_t)len, at, err);
	}
	return r;
}

/* Replaces the first braces that hold a range or a list. Other braces are ordinary characters. */
static int add_braces(struct names *names, const char *word, const struct word_at *at,
		      struct err *err)
{
	if (is_there(word, at)) {
		struct err why = {0};
		int r = add_saved(names, word, at, &why);

		return r == -ENOENT ? add_found(names, word, at, err)
		       : r < 0	    ? err_set(err, r, "%s", err_text(&why, r))
				    : 0;
	}
	for (const char *open = strchr(word, '{'); open; open = strchr(open + 1, '{')) {
		const char *close = open + strcspn(open, "}"), *end;
		uint64_t first, last;
		int digits, r = 0;

		if (!*close)
			break;
		if (parse_range(open, close, &first, &last, &digits))
			return add_range(names, word, open, close, at, err);
		if (!memchr(open, ',', (size_t)(close - open)))
			continue;
		for (const char *text = open + 1; r == 0 && text <= close; text = end + 1) {
			end = text + strcspn(text, ",}");
			r = add_replaced(names, word, open, close, text, (size_t)(end - text), at,
					 err);
		}
		return r;
	}
	return add_glob(names, word, at, err);
}

/* --- words ------------------------------------------------------------------------------------ */

static int add_word(struct names *names, const char *word, const struct word_at *at,
		    struct err *err);

/* The folder of a file, with its slash. That of a URL is on its server. */
static char *folder_of(const char *file)
{
	size_t scheme = name_scheme(file), root = scheme ? scheme + strlen("://") : 0;
	size_t end = name_query(file);
	const char *slash = memrchr(file + root, '/', end - root);
	char *folder;

	if (slash || !scheme)
		return strndup(file, slash ? (size_t)(slash + 1 - file) : 0);
	return asprintf(&folder, "%.*s/", (int)end, file) < 0 ? NULL : folder;
}

/* `word` is '@' and the name of the list. */
static int add_list(struct names *names, const char *word, const struct word_at *at,
		    struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	SCOPE_FREE char *folder = folder_of(word + 1);
	const struct word_at inside = {
		.folder = folder, .below = at->below, .list = word + 1, .placed = at->placed};
	struct err reason = {0};
	size_t before = names->count, len;
	struct lines lines;
	const char *item;
	int r;

	if (!folder)
		return -ENOMEM;
	if (!names->read || at->list)
		return refuse_word(word, -EINVAL, "a list in a list", err);
	r = names->read(names->context, word + 1, &text, err);
	if (r < 0)
		return r;
	if (lines_begin(text.data, text.len, &lines, &reason) < 0)
		return refuse_word(word, -EINVAL, reason.text, err);
	while (r == 0 && lines_next(&lines, &item, &len)) {
		SCOPE_FREE char *line = strndup(item, len);

		if (line && !by_server(&inside))
			name_take_file(line);
		r = line ? add_word(names, line, &inside, err) : -ENOMEM;
	}
	if (r == 0 && names->count == before)
		r = refuse_word(word, -ENOENT, "names no pack", err);
	return r;
}

/* Appends the components of a path to the folder above it; a dot is that folder. */
static int join_below(const char *above, const char *path, size_t len, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	const char *end = path + len;
	bool here = len == 1 && *path == '.';
	int r = buf_adds(&made, above);

	while (r == 0 && path < end && !here) {
		size_t name = strcspn(path, "/");

		if (path + name > end)
			name = (size_t)(end - path);
		if (name && !format_name_valid(path, name))
			return err_set(err, -EINVAL, "'%.*s/=': no name for a folder", (int)len,
				       end - len);
		if (name)
			r = buf_addf(&made, "%s%.*s", made.len ? "/" : "", (int)name, path);
		path += name + 1;
	}
	if (r == 0)
		*ret = steal_ptr(&made.data);
	return r;
}

static int add_word(struct names *names, const char *word, const struct word_at *at,
		    struct err *err)
{
	const char *end = strstr(word, "/=");
	SCOPE_FREE char *whole = NULL;

	if (strlen(word) > WORD_MOST) {
		SCOPE_FREE char *shown = name_shown(word);

		return err_set(err, -EINVAL, "'%.40s...': an argument of over 16 KiB",
			       shown ? shown : "");
	}
	if (end && end > word && !is_there(word, at)) {
		SCOPE_FREE char *below = NULL;
		struct word_at inside = *at;
		int r = join_below(at->below, word, (size_t)(end - word), &below, err);

		inside.below = below;
		inside.placed = true;
		if (r == 0 && !end[2])
			r = refuse_word(word, -EINVAL, "names no pack", err);
		return r ? r : add_word(names, end + 2, &inside, err);
	}
	if (word[0] == '@' && word[1] && !is_there(word, at))
		return add_list(names, word, at, err);
	if (*word == '/' || is_url(word))
		return add_braces(names, word, at, err);
	if (asprintf(&whole, "%s%s", at->folder, word) < 0) {
		whole = NULL;
		return -ENOMEM;
	}
	return add_braces(names, whole, at, err);
}

int names_add(struct names *names, const char *word, struct err *err)
{
	return add_word(names, word, &(struct word_at){.folder = "", .below = ""}, err);
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->all[i].name);
		free(names->all[i].below);
	}
	free(names->all);
	names->all = NULL;
	names->count = 0;
}

/* --- sets ------------------------------------------------------------------------------------- */

#define MISSING_SHOWN 3

/* Checks that all packs of a set are there. */
static int check_set(const struct set_name *set, size_t count, struct err *err)
{
	SCOPE_FREE bool *there = calloc(set->of, 1);
	SCOPE(buf_release) struct buf text = BUF_INIT;
	uint64_t missing = 0;
	char more[40] = "";

	if (!there)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		there[set[i].number] = true;
	for (uint64_t i = 0; i < set->of; i++)
		if (!there[i] && missing++ < MISSING_SHOWN)
			/* Without the folder: a URL may have a password there. */
			buf_addf(&text, "%s%.*s-%0*llu-of-%0*llu%.*s", text.len ? ", " : "",
				 (int)(set->before - set->base), set->name + set->base, set->digits,
				 (unsigned long long)i, set->digits, (unsigned long long)set->of,
				 (int)set->after_len, set->after);
	if (missing == 0 || buf_error(&text) < 0)
		return buf_error(&text);
	if (missing > MISSING_SHOWN)
		snprintf(more, sizeof(more), " and %llu more",
			 (unsigned long long)missing - MISSING_SHOWN);
	return err_set(err, -ENOENT, "%s%s %s missing of a set of %llu", text.data, more,
		       missing > 1 ? "are" : "is", (unsigned long long)set->of);
}

int names_check_sets(const struct names *names, struct err *err)
{
	SCOPE_FREE struct set_name *sets = NULL;
	size_t count = 0, next;
	int r = parse_sets(names, true, &sets, &count);

	for (size_t i = 0; r == 0 && i < count; i = next) {
		for (next = i + 1; next < count && compare_sets(&sets[i], &sets[next]) == 0;)
			next++;
		r = check_set(&sets[i], next - i, err);
	}
	return r;
}

int names_check_mixed(const struct names *names, struct err *err)
{
	SCOPE_FREE struct set_name *sets = NULL;
	size_t count = 0;
	int r = parse_sets(names, false, &sets, &count);

	for (size_t i = 1; r == 0 && i < count; i++) {
		const struct set_name *a = &sets[i - 1], *b = &sets[i];
		const char *from = a->name + a->base, *other = b->name + b->base;
		size_t len = (size_t)(a->after + a->after_len - from);

		if (compare_names(a, b) != 0 || (a->of == b->of && a->number != b->number) ||
		    strcmp(a->name, b->name) == 0)
			continue;
		/* Without the folder: a URL may have a password there. */
		r = err_set(err, -EEXIST,
			    "%.*s and %.*s are of two sets, of which an earlier run may have left "
			    "one: name the packs of one, or give each set a folder by NAME/=",
			    (int)len, from, (int)(b->after + b->after_len - other), other);
	}
	return r;
}
