/* How a text names files is found out from how it names one file whose path is known:
 *
 *	the file	VOC2012/JPEGImages/2007_000027.jpg
 *	a line		2007_000027 -1			its first word, without a suffix
 *	so		VOC2012/JPEGImages/ is before, .jpg after each first word of a line
 *
 *	the file	coco/images/train/1.jpg
 *	a line		/home/me/coco/images/train/1.jpg
 *	so		what follows /home/me/ in the text is a path from here
 *
 * That is: word and path have equal ends, in as many components as possible. The rest of the word
 * is its prefix, which the other words share. The rest of the path is the base, in which they are
 * looked up. In lines, words are what is in the same column. In JSON, words are strings that are
 * values of the same key, or, like the one found, of no key. */
#include "lists/text.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/math.h"
#include "base/scope.h"
#include <ctype.h>
#include <string.h>
#include <xxhash.h>

/* Lines of one file: boxes of an image may be a few hundred, but memory is for the files. A text
 * with more lines than these is no list. */
#define LINES_MOST ((size_t)4 << 20)
#define LINES_EACH 16

/* How the text names files. */
struct name_reading {
	bool found;
	bool stem;		  /* words lack the suffix */
	unsigned components;	  /* how many are equal */
	struct lists_word prefix; /* of a word, with the slash at its end */
	uint32_t base;		  /* the directory in which the rest is looked up */
	char delimiter;		  /* of lines: between words; 0: none */
	unsigned column;
	uint64_t key; /* of JSON */
};

struct list_text {
	const struct dataset *dataset;
	uint32_t file;
	struct lists_word name, suffix; /* of the file; the suffix with its dot */
	const char *data, *end;
	lists_text_fn *found;
	void *context;
	struct name_reading reading;

	/* what was looked up last: words in a row often share it */
	struct buf folder;
	uint32_t folder_entry; /* LISTS_NONE: there is no such folder */
	bool folder_known;

	struct buf lines; /* entries in the order of the text, struct text_line */
	size_t count, most;
	size_t missed; /* words that do not name a file */
};

struct text_line {
	uint64_t word; /* its offset in the text */
	uint32_t len;
	uint32_t entry; /* or LISTS_NONE */
};

static bool equal(struct lists_word a, struct lists_word b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

static struct lists_word stem_of(const struct list_text *t)
{
	return (struct lists_word){t->name.text, t->name.len - t->suffix.len};
}

/* --- how the text names the file ----------------------------------------------------------- */

static struct lists_word base_name(struct lists_word path)
{
	const char *slash = path.len ? memrchr(path.text, '/', path.len) : NULL;
	size_t before = slash ? (size_t)(slash + 1 - path.text) : 0;

	return (struct lists_word){path.text + before, path.len - before};
}

/* Compares the word and the file's path from their ends, and fills in how far they are equal. */
static bool match(const struct list_text *t, struct lists_word word, struct name_reading *ret)
{
	struct lists_word last = base_name(word);
	struct dataset_entry entry, parent;

	ret->found = true;
	ret->components = 1;
	if (!equal(last, t->name)) {
		ret->stem = t->suffix.len > 0 && equal(last, stem_of(t));
		if (!ret->stem)
			return false;
	}
	word.len -= last.len;
	entry = dataset_entry(t->dataset, t->file);
	while (word.len > 0 && entry.parent != DATASET_ROOT) {
		parent = dataset_entry(t->dataset, entry.parent);
		last = base_name((struct lists_word){word.text, word.len - 1});
		if (!equal(last, (struct lists_word){parent.name, parent.name_len}))
			break;
		word.len -= last.len + 1;
		ret->components++;
		entry = parent;
	}
	ret->prefix = word;
	ret->base = entry.parent;
	return true;
}

/* What is compared first decides: a name is better than a stem, which may be just a number; a path
 * is better than a URL or a line that ends in it; a longer part of the path is better than a
 * shorter one; the first column is better than the next, as identifiers come before labels. */
static bool better_reading(const struct name_reading *a, const struct name_reading *b)
{
	if (!b->found || a->stem != b->stem)
		return !b->found || b->stem;
	if (a->prefix.len != b->prefix.len)
		return a->prefix.len < b->prefix.len;
	if (a->components != b->components)
		return a->components > b->components;
	return a->delimiter == b->delimiter && a->column < b->column;
}

/* Tries a word as the name of the file. `place` says only where the word is. */
static void try_word(struct list_text *t, struct lists_word word, const struct name_reading *place)
{
	struct name_reading reading = *place;

	if (match(t, word, &reading) && better_reading(&reading, &t->reading))
		t->reading = reading;
}

/* --- what else it names -------------------------------------------------------------------- */

/* Looks up the folder of a word, which often is that of the word before. */
static int look_up_folder(struct list_text *t, struct lists_word folder)
{
	struct lists_word before = {t->folder.data, t->folder.len};

	if (t->folder_known && equal(folder, before))
		return 0;
	t->folder.len = 0;
	t->folder_known = false;
	if (folder.len > 0 && buf_add(&t->folder, folder.text, folder.len) < 0)
		return -ENOMEM;
	if (lists_resolve(t->dataset, t->reading.base, folder, &t->folder_entry) < 0)
		t->folder_entry = LISTS_NONE;
	t->folder_known = true;
	return 0;
}

static int look_up_name(const struct list_text *t, struct lists_word name, uint32_t *ret)
{
	char with_suffix[2 * FORMAT_NAME_MAX];
	uint32_t found;
	int r;

	if (t->folder_entry == LISTS_NONE || name.len > FORMAT_NAME_MAX)
		return -ENOENT;
	if (t->reading.stem) {
		memcpy(with_suffix, name.text, name.len);
		memcpy(with_suffix + name.len, t->suffix.text, t->suffix.len);
		name = (struct lists_word){with_suffix, name.len + t->suffix.len};
	}
	r = dataset_lookup(t->dataset, t->folder_entry, name.text, name.len, &found);
	if (r < 0)
		return r;
	if (lists_follow(t->dataset, found, ret) < 0) {
		*ret = LISTS_NONE; /* a link to outside of the pack */
		return 0;
	}
	return dataset_child(t->dataset, *ret).kind == FORMAT_DIRECTORY ? -ENOENT : 0;
}

/* Takes the entry that a word names, if it names one. */
static int take_word(struct list_text *t, struct lists_word word)
{
	const struct lists_word *prefix = &t->reading.prefix;
	struct lists_word rest, name;
	struct text_line line;
	uint32_t entry;

	t->missed++;
	if (word.len <= prefix->len || !equal((struct lists_word){word.text, prefix->len}, *prefix))
		return 0;
	rest = (struct lists_word){word.text + prefix->len, word.len - prefix->len};
	name = base_name(rest);
	if (name.len == 0)
		return 0;
	if (look_up_folder(t, (struct lists_word){rest.text, rest.len - name.len}) < 0)
		return -ENOMEM;
	if (look_up_name(t, name, &entry) < 0)
		return 0;
	t->missed--;
	if (t->count++ >= t->most)
		return -EFBIG;
	line = (struct text_line){(uint64_t)(word.text - t->data), (uint32_t)word.len, entry};
	return buf_add(&t->lines, &line, sizeof(line));
}

/* --- lines --------------------------------------------------------------------------------- */

static struct lists_word trim(struct lists_word word)
{
	while (word.len > 0 && isspace((unsigned char)word.text[0])) {
		word.text++;
		word.len--;
	}
	while (word.len > 0 && isspace((unsigned char)word.text[word.len - 1]))
		word.len--;
	return word;
}

static struct lists_word unquote(struct lists_word word)
{
	word = trim(word);
	if (word.len >= 2 && (word.text[0] == '"' || word.text[0] == '\'') &&
	    word.text[word.len - 1] == word.text[0])
		return (struct lists_word){word.text + 1, word.len - 2};
	return word;
}

/* Where the first word of a line ends: at a delimiter that is not inside quotes. */
static const char *word_end(struct lists_word line, char delimiter)
{
	const char *end = line.text + line.len, *stop = line.text;

	if (line.len > 0 && *stop == '"') {
		stop = memchr(stop + 1, '"', line.len - 1);
		if (!stop)
			stop = line.text;
	}
	if (delimiter == ' ') {
		while (stop < end && !isspace((unsigned char)*stop))
			stop++;
		return stop;
	}
	stop = delimiter ? memchr(stop, delimiter, (size_t)(end - stop)) : NULL;
	return stop ? stop : end;
}

/* Takes the first word off a line. False: there is none left. Any number of blanks is one
 * delimiter; between other delimiters a word may be empty. */
static bool next_column(struct lists_word *line, char delimiter, struct lists_word *ret)
{
	const char *end, *stop;

	if (delimiter == ' ')
		*line = trim(*line);
	if (!line->text || (delimiter == ' ' && line->len == 0))
		return false;
	end = line->text + line->len;
	stop = word_end(*line, delimiter);
	*ret = unquote((struct lists_word){line->text, (size_t)(stop - line->text)});
	*line = stop == end ? (struct lists_word){NULL, 0}
			    : (struct lists_word){stop + 1, (size_t)(end - stop - 1)};
	return true;
}

static struct lists_word text_line_at(const struct list_text *t, const char *begin)
{
	const char *stop = memchr(begin, '\n', (size_t)(t->end - begin));

	return (struct lists_word){begin, (size_t)((stop ? stop : t->end) - begin)};
}

/* Where the next line begins, or the end of the text. */
static const char *text_behind(const struct list_text *t, struct lists_word line)
{
	const char *end = line.text + line.len;

	return end < t->end ? end + 1 : t->end;
}

/* Tries the whole line, and each of its columns with each delimiter. */
static void try_line(struct list_text *t, struct lists_word line)
{
	static const char delimiters[] = {0, '\t', ',', ';', ' '};

	for (size_t i = 0; i < sizeof(delimiters); i++) {
		struct name_reading place = {.delimiter = delimiters[i]};
		struct lists_word rest = line, word;

		for (; next_column(&rest, place.delimiter, &word); place.column++)
			try_word(t, word, &place);
	}
}

/* Tries the lines that may name the file, until one is beyond doubt. */
static void find_reading(struct list_text *t, struct lists_word wanted)
{
	const char *at = t->data;

	while (at < t->end && (!t->reading.found || (t->reading.stem && t->reading.column > 0))) {
		const char *found = memmem(at, (size_t)(t->end - at), wanted.text, wanted.len);
		const char *newline;
		struct lists_word line;

		if (!found)
			return;
		newline = found > at ? memrchr(at, '\n', (size_t)(found - at)) : NULL;
		line = text_line_at(t, newline ? newline + 1 : at);
		try_line(t, line);
		at = text_behind(t, line);
	}
}

static bool word_of_column(struct lists_word line, char delimiter, unsigned column,
			   struct lists_word *ret)
{
	do {
		if (!next_column(&line, delimiter, ret))
			return false;
	} while (column-- > 0);
	return true;
}

static int take_lines(struct list_text *t)
{
	struct lists_word line, word;
	int r = 0;

	for (const char *at = t->data; at < t->end && r == 0; at = text_behind(t, line)) {
		line = text_line_at(t, at);
		if (trim(line).len > 0 &&
		    word_of_column(line, t->reading.delimiter, t->reading.column, &word))
			r = take_word(t, word);
	}
	return r;
}

static int of_lines(struct list_text *t)
{
	find_reading(t, t->name);
	if (!t->reading.found && t->suffix.len > 0)
		find_reading(t, stem_of(t));
	return t->reading.found ? take_lines(t) : 0;
}

/* --- JSON ---------------------------------------------------------------------------------- */

#define KEY_NONE 1 /* of a string that is in an array */
#define KEY_SELF 2 /* of a key */

struct json_text {
	const char *at, *end;
	uint64_t key; /* the last one seen */
};

/* Escapes are not decoded: a name that has any is not recognised. */
static const char *closing_quote(const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at == '"')
			return at;
		if (*at == '\\')
			at++;
	}
	return NULL;
}

/* Finds the next string, and the key whose value it is. */
static bool next_string(struct json_text *json, struct lists_word *ret, uint64_t *ret_key)
{
	const char *open = memchr(json->at, '"', (size_t)(json->end - json->at));
	const char *close = open ? closing_quote(open + 1, json->end) : NULL;
	const char *before = open;

	if (!close)
		return false;
	while (before > json->at && isspace((unsigned char)before[-1]))
		before--;
	*ret_key = before > json->at && before[-1] == ':' ? json->key : KEY_NONE;
	*ret = (struct lists_word){open + 1, (size_t)(close - open - 1)};
	for (json->at = close + 1; json->at < json->end && isspace((unsigned char)*json->at);)
		json->at++;
	if (json->at < json->end && *json->at == ':') {
		*ret_key = KEY_SELF;
		json->key = XXH3_64bits(ret->text, ret->len);
	}
	return true;
}

static int of_json(struct list_text *t)
{
	struct json_text json = {.at = t->data, .end = t->end};
	struct lists_word word;
	uint64_t key;
	int r = 0;

	while (next_string(&json, &word, &key))
		try_word(t, word, &(struct name_reading){.key = key});
	json.at = t->reading.found ? t->data : t->end;
	json.key = 0;
	while (r == 0 && next_string(&json, &word, &key))
		if (key == t->reading.key)
			r = take_word(t, word);
	return r;
}

/* --- orders -------------------------------------------------------------------------------- */

static int by_entry(const void *a, const void *b)
{
	const struct text_line *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->word > y->word) - (x->word < y->word);
}

static int by_word(const void *a, const void *b, void *text)
{
	const struct text_line *x = a, *y = b;
	const struct list_text *t = text;
	int order = bytes_compare(t->data + x->word, x->len, t->data + y->word, y->len);

	if (order)
		return order;
	return (x->word > y->word) - (x->word < y->word);
}

/* Mostly the words sort like their entries; that shows without reading words all over the memory.
 */
static void sort_lines(struct list_text *t)
{
	struct text_line *lines = (struct text_line *)t->lines.data;
	size_t i = 1;

	qsort(lines, t->count, sizeof(*lines), by_entry);
	while (i < t->count && by_word(&lines[i - 1], &lines[i], t) < 0)
		i++;
	if (i < t->count)
		qsort_r(lines, t->count, sizeof(*lines), by_word, t);
}

/* Passes on the files of the lines in their present order; with `once`, each where it comes first,
 * if any comes again. */
static int found_order(const struct list_text *t, bool once, const char *what)
{
	const struct text_line *lines = (const struct text_line *)t->lines.data;
	SCOPE_FREE uint8_t *seen = calloc(dataset_entries(t->dataset) / 8 + 1, 1);
	SCOPE(lists_files_release) struct lists_files files = {0};
	int r = seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->count && r == 0; i++) {
		uint32_t entry = lines[i].entry;

		if (!once || entry == LISTS_NONE || !bit_set(seen, entry))
			r = lists_files_add(&files, entry);
	}
	if (r < 0 || (once && files.count == t->count))
		return r;
	return t->found(t->context, what, &files);
}

static int found_orders(struct list_text *t)
{
	int r = found_order(t, false, "");

	if (r == 0)
		r = found_order(t, true, ", each once");
	if (r < 0)
		return r;
	sort_lines(t);
	r = found_order(t, false, ", sorted");
	return r < 0 ? r : found_order(t, true, ", each once, sorted");
}

/* A quick check: most texts are about something else. */
static bool may_name(const struct list_text *t)
{
	struct lists_word stem = stem_of(t);

	return memmem(t->data, (size_t)(t->end - t->data), stem.text, stem.len) != NULL;
}

int lists_text(const struct dataset *dataset, uint32_t file, const char *data, size_t len,
	       bool json, lists_text_fn *found, void *context)
{
	struct list_text t = {
		.dataset = dataset,
		.file = file,
		.data = data,
		.end = data + len,
		.found = found,
		.context = context,
		.most = max(LINES_MOST, LINES_EACH * (size_t)dataset_entries(dataset))};
	const struct dataset_entry entry = dataset_entry(dataset, file);
	int r = 0;

	t.name = (struct lists_word){entry.name, entry.name_len};
	t.suffix = lists_suffix(t.name);
	if (may_name(&t))
		r = json ? of_json(&t) : of_lines(&t);
	if (r == 0 && t.count >= t.missed && t.count > 0)
		r = found_orders(&t);
	buf_release(&t.folder);
	buf_release(&t.lines);
	return r == -EFBIG ? 0 : r;
}
