/* A text is taken apart into words and numbers, and into pieces: lines and strings. What stands in
 * brackets goes on in the next line.
 *
 *	a.jpg,500,375,dog,100,120,470,350	a word that is an image, two numbers, a word, and
 *						four numbers in a row: a place
 *	"bbox": [100, 120, 470, 350],		a piece between quotes without a word
 *	"x": 100, "y": 120			two numbers with names
 *	<xmin>100</xmin><ymin>120</ymin>	the same
 *	Toyota Yaris 2011 2012 2013 2014	as many words as half of the numbers: prose */
#include "pack/tool/image/annotations.h"

#include "base/buf.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MOST  65535 /* pixels; larger numbers count something else */
#define ROW	   4	 /* numbers */
#define COLUMNS	   64	 /* whose names are kept */
#define HEAD_LINES 2	 /* in which columns may have names */
#define LINE_MOST  65536 /* bytes: longer ones may be cut */

/* What a number can be. */
enum number { NUMBER_SMALL, NUMBER_FRACTION, NUMBER_PIXELS, NUMBER_LARGE };

struct piece {
	const char *text; /* where it begins, in the part that is looked at */
	size_t numbers, words;
	unsigned pairs; /* of numbers, in brackets */
	bool line;	/* it begins with one */
	bool place;
	bool sure; /* even if many words follow */
};

struct row {
	unsigned count;	 /* of numbers that follow each other */
	unsigned pixels; /* a bit for each of the last ones that is NUMBER_PIXELS */
};

struct group { /* in brackets */
	unsigned count;
	double first;
	bool pixels, fraction, nested, equal;
};

#define NAME  64 /* bytes that are kept of a name */
#define NAMED 16

struct name { /* lower case, letters and digits */
	char text[NAME];
	size_t len;
};

/* What was last called so, and which other name says the other direction; NAMED: none does. */
struct named {
	struct name name;
	unsigned other;
	double value;
};

struct named_numbers {
	struct named named[NAMED];
	unsigned next; /* place for another one */
};

struct annotations_scan {
	const struct photo_names *names;
	bool shares; /* its name with an image */
	bool wide;   /* UTF-16: with NULs, which are left out */
	bool begun;
	struct buf rest;  /* of the last part, not looked at yet */
	struct buf found; /* uint64_t, of photo_names_find() */
	bool failed;	  /* there is no memory for these */
	uint64_t places;

	const char *field;  /* where it begins: between commas and the like */
	size_t field_words; /* of the piece, in front of it */
	struct piece piece;
	struct row row;
	struct group group;
	unsigned depth, pairs; /* of brackets; of pairs of numbers since an image was named */
	char last;	       /* character that is no space */

	const char *word; /* in front of the next number; NULL: in another part */
	size_t word_len;
	bool joint; /* by a sign between */
	struct named_numbers named;
	struct named *current; /* of the word; NULL: it is not known yet */

	uint64_t line;
	unsigned cell, line_numbers;
	bool delimited;
	struct name columns[COLUMNS];
};

/* --- numbers that have names ------------------------------------------------------------------
 *
 * Two whose names differ in a direction say where something is, as xmin and ymin, left and top,
 * X- Coordinate and Y - Coordinate. */

/* Whether `other` is `name` with the other direction, which is a word or the end of one: x_min,
 * xmin, centre_x, cx, but not pixelxdimension. */
static bool turns(const struct name *name, const struct name *other)
{
	static const char *const directions[][2] = {
		{"x", "y"}, {"left", "top"}, {"hpos", "vpos"}, {"col", "row"}, {"column", "row"},
	};
	size_t at = 0;

	while (at < name->len && at < other->len && name->text[at] == other->text[at])
		at++;
	for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++) {
		size_t one = strlen(directions[i][0]), two = strlen(directions[i][1]);

		if (name->len >= at + one && other->len == name->len - one + two &&
		    memcmp(name->text + at, directions[i][0], one) == 0 &&
		    memcmp(other->text + at, directions[i][1], two) == 0 &&
		    memcmp(name->text + at + one, other->text + at + two, name->len - at - one) ==
			    0)
			return one > 1 || at == 0 || at + 1 == name->len ||
			       !islower((unsigned char)name->text[at - 1]) ||
			       !islower((unsigned char)name->text[at + 1]);
	}
	return false;
}

/* The place of a name, until NAMED others were asked for. */
static struct named *named_find(struct named_numbers *numbers, const struct name *name)
{
	struct named *found;
	unsigned place;

	for (unsigned i = 0; i < NAMED; i++) {
		found = &numbers->named[i];
		if (found->name.len == name->len &&
		    memcmp(found->name.text, name->text, name->len) == 0)
			return found;
	}
	place = numbers->next++ % NAMED;
	found = &numbers->named[place];
	*found = (struct named){.name = *name, .other = NAMED};
	for (unsigned i = 0; i < NAMED; i++) {
		struct named *one = &numbers->named[i];

		if (one->other == place)
			one->other = NAMED;
		if (turns(name, &one->name) || turns(&one->name, name)) {
			one->other = place;
			found->other = i;
		}
	}
	return found;
}

/* Whether the number makes a place with the last one of the other direction. Two that are equal are
 * rather a resolution; nor is one if both are fractions. */
static bool named_take(struct named_numbers *numbers, struct named *named, double value)
{
	const struct named *other = named->other < NAMED ? &numbers->named[named->other] : NULL;

	named->value = value;
	return other && other->value != value && (fabs(value) > 1 || fabs(other->value) > 1);
}

/* Adds letters and digits of a text. */
static void name_add(struct name *name, const char *text, size_t len)
{
	for (size_t i = 0; i < len && name->len < NAME; i++)
		if (isalnum((unsigned char)text[i]) || text[i] == '_')
			name->text[name->len++] = (char)tolower((unsigned char)text[i]);
}

/* --- images ---------------------------------------------------------------------------------- */

/* `image` is of photo_names_find(). */
static bool take_image(struct annotations_scan *scan, uint64_t image)
{
	size_t count = BUF_COUNT(&scan->found, uint64_t);

	if (!image)
		return false;
	if (count == 0 || BUF_ITEMS(&scan->found, uint64_t)[count - 1] != image)
		scan->failed |= buf_add(&scan->found, &image, sizeof(image)) < 0;
	scan->pairs = 0;
	return true;
}

static bool look_up(struct annotations_scan *scan, const char *text, size_t len)
{
	return take_image(scan, photo_names_find(scan->names, text, len));
}

/* Of more than one word. */
static bool look_up_all(struct annotations_scan *scan, const char *text, const char *end)
{
	if (!scan->names->odd || !text)
		return false;
	return take_image(scan, photo_names_find_between(scan->names, text, end));
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* The words of a name are none of the piece. */
static void end_field(struct annotations_scan *scan, const char *at)
{
	if (look_up_all(scan, scan->field, at))
		scan->piece.words = scan->field_words;
	scan->field = at + 1;
	scan->field_words = scan->piece.words;
}

static void end_piece(struct annotations_scan *scan, const char *at)
{
	struct piece *piece = &scan->piece;

	if (look_up_all(scan, piece->text, at))
		piece->words = 0;
	end_field(scan, at);
	if (piece->sure || piece->numbers >= 2 * piece->words) {
		scan->pairs += piece->pairs;
		/* One pair of numbers may be a size; two are points. */
		if (piece->place || scan->pairs >= 2) {
			scan->places++;
			scan->pairs = 0;
		}
	}
	*piece = (struct piece){.text = at + 1, .line = *at == '\n' || *at == '\r'};
	scan->field_words = 0;
	scan->row = (struct row){0};
}

/* --- numbers in a row, and in brackets -------------------------------------------------------- */

static void take_in_row(struct annotations_scan *scan, enum number kind)
{
	struct row *row = &scan->row;

	if (kind == NUMBER_FRACTION) {
		*row = (struct row){0};
		return;
	}
	row->count++;
	row->pixels = (row->pixels << 1 | (kind == NUMBER_PIXELS)) & ((1 << ROW) - 1);
	if (row->count < ROW || __builtin_popcount(row->pixels) < 2)
		return;
	scan->piece.place = true;
	scan->piece.sure |= scan->piece.line && !scan->piece.words;
}

static void open_group(struct annotations_scan *scan)
{
	scan->depth++;
	scan->group = (struct group){.nested = scan->last == '[' || scan->last == '('};
}

/* One in a list of its own is a point. Two numbers that are equal are rather a size. */
static void end_pair(struct annotations_scan *scan)
{
	const struct group *group = &scan->group;

	if (group->count == 2 && group->pixels && !group->fraction && !group->equal) {
		scan->piece.pairs++;
		scan->piece.place |= group->nested;
	}
}

static void close_group(struct annotations_scan *scan)
{
	scan->depth -= scan->depth > 0;
	end_pair(scan);
	scan->group.count = ROW; /* what is around it is none */
}

/* --- words and numbers ----------------------------------------------------------------------- */

/* A name in the first lines counts for the numbers below it. */
static void take_word(struct annotations_scan *scan, const char *text, size_t len)
{
	const char *slash = memrchr(text, '/', len);
	size_t before = slash ? (size_t)(slash + 1 - text) : 0;

	scan->row = (struct row){0};
	if (look_up(scan, text + before, len - before))
		return;
	scan->piece.words++;
	scan->word = text;
	scan->word_len = len;
	scan->joint = false;
	scan->current = NULL;
	if (scan->line < HEAD_LINES && scan->cell < COLUMNS)
		name_add(&scan->columns[scan->cell], text, len);
}

static void know_word(struct annotations_scan *scan)
{
	struct name name = {0};

	if (scan->current || !scan->word)
		return;
	name_add(&name, scan->word, scan->word_len);
	scan->current = named_find(&scan->named, &name);
}

static void take_number(struct annotations_scan *scan, const char *text, size_t len, double value)
{
	double size = fabs(value);
	enum number kind = size > SIDE_MOST	   ? NUMBER_LARGE
			   : size > 1		   ? NUMBER_PIXELS
			   : value == trunc(value) ? NUMBER_SMALL
						   : NUMBER_FRACTION;
	struct named *named = NULL;

	/* Its name is in front of it, or above it. */
	if (scan->joint) {
		know_word(scan);
		named = scan->current;
	} else if (scan->line && scan->cell < COLUMNS && scan->columns[scan->cell].len) {
		named = named_find(&scan->named, &scan->columns[scan->cell]);
	}
	/* 000001 may be the name of an image, too. */
	if (scan->last == '"' || (scan->depth + scan->line_numbers == 0 && !scan->piece.words))
		look_up(scan, text, len);
	scan->piece.numbers++;
	scan->line_numbers++;
	take_in_row(scan, kind);
	if (scan->group.count++ == 0)
		scan->group.first = value;
	scan->group.equal = scan->group.first == value;
	scan->group.pixels |= kind == NUMBER_PIXELS;
	scan->group.fraction |= kind == NUMBER_FRACTION || kind == NUMBER_LARGE;
	if (named && (kind == NUMBER_PIXELS || kind == NUMBER_SMALL))
		scan->places += named_take(&scan->named, named, value);
}

/* "12", "-1.5", "12.", ".5", "3e-05". Without an exponent no library need be asked. */
static bool is_number(const char *text, size_t len, double *ret)
{
	char copy[32] = "", *end;
	double value = 0, unit = 1;
	bool digits = false, point = false;
	size_t i = *text == '-' || *text == '+';

	for (; i < len && (isdigit((unsigned char)text[i]) || (text[i] == '.' && !point)); i++) {
		point |= text[i] == '.';
		if (text[i] == '.')
			continue;
		digits = true;
		value = 10 * value + (text[i] - '0');
		unit *= point ? 10 : 1;
	}
	*ret = (*text == '-' ? -value : value) / unit;
	if (i == len || !digits || (text[i] != 'e' && text[i] != 'E') || len >= sizeof(copy))
		return i == len && digits;
	memcpy(copy, text, len);
	*ret = strtod(copy, &end);
	return *end == '\0';
}

/* Here and below `data` and `end` are those of the part. Folders are passed over. */
static void take_token(struct annotations_scan *scan, const char *data, const char *end,
		       const char *text, size_t len)
{
	double value;

	if (text + len < end && text[len] == '/')
		return;
	if (text > data && text[-1] == '/' && look_up(scan, text, len))
		return;
	if (is_number(text, len, &value))
		take_number(scan, text, len, value);
	else if (len > 1 || isalnum((unsigned char)*text))
		take_word(scan, text, len);
	else
		return;
	if (!scan->delimited)
		scan->cell++;
}

/* 2020:01:01 and 1/60 are words. */
static bool goes_on(const char *at, const char *end)
{
	if (photo_names_word(*at))
		return true;
	return (*at == ':' || *at == '/') && isdigit((unsigned char)at[-1]) && at + 1 < end &&
	       isdigit((unsigned char)at[1]);
}

/* --- what is between them --------------------------------------------------------------------- */

/* The first lines name columns only if they have no numbers. */
static void end_line(struct annotations_scan *scan, const char *at)
{
	/* A line of a file that belongs to one image may be a point. */
	if (scan->shares && scan->piece.numbers == 2 && scan->piece.words == 0 && !scan->depth)
		end_pair(scan);
	if (!scan->depth || scan->piece.words) {
		end_piece(scan, at);
		scan->depth = 0;
	}
	if (!scan->depth)
		scan->group = (struct group){0};
	if (scan->line < HEAD_LINES && scan->line_numbers)
		memset(scan->columns, 0, sizeof(scan->columns));
	scan->line++;
	scan->line_numbers = scan->cell = 0;
}

/* The first sign between columns says that they are not parted by blanks. */
static void next_column(struct annotations_scan *scan)
{
	if (scan->line < HEAD_LINES && !scan->delimited) {
		scan->delimited = true;
		for (size_t i = 1; i < COLUMNS; i++) {
			name_add(scan->columns, scan->columns[i].text, scan->columns[i].len);
			scan->columns[i].len = 0;
		}
		scan->cell = 0;
	}
	scan->cell += scan->delimited;
}

static bool is_inside_word(const char *data, const char *at, const char *end)
{
	return at > data && at + 1 < end && photo_names_word(at[-1]) && photo_names_word(at[1]);
}

static void take_sign(struct annotations_scan *scan, const char *data, const char *at,
		      const char *end)
{
	switch (*at) {
	case ' ':
		return;
	case '\r':
		if (at + 1 < end && at[1] != '\n')
			end_line(scan, at);
		break;
	case '\n':
		end_line(scan, at);
		break;
	case '"':
		if (at == data || at[-1] != '\\')
			end_piece(scan, at);
		break;
	case '\'':
		if (!is_inside_word(data, at, end))
			end_piece(scan, at);
		break;
	case '<':
		end_piece(scan, at);
		break;
	case '>':
		end_piece(scan, at);
		scan->joint = true;
		break;
	case ',':
	case ';':
	case '\t':
		end_field(scan, at);
		next_column(scan);
		break;
	case ':':
	case '=':
		scan->joint = true;
		break;
	case '[':
	case '(':
		open_group(scan);
		break;
	case '{':
		open_group(scan);
		scan->group.count = ROW; /* two numbers in it are no pair */
		break;
	case ')': /* a size, and what follows it */
		scan->row = (struct row){0};
		close_group(scan);
		break;
	case ']':
	case '}':
		close_group(scan);
		break;
	}
	if (!isspace((unsigned char)*at))
		scan->last = *at;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void look_through(struct annotations_scan *scan, const char *data, size_t len)
{
	const char *at = data, *end = data + len, *token;

	scan->field = scan->piece.text = data;
	while (at < end) {
		if (!photo_names_word(*at)) {
			take_sign(scan, data, at, end);
			at++;
			continue;
		}
		for (token = at++; at < end && goes_on(at, end);)
			at++;
		take_token(scan, data, end, token, (size_t)(at - token));
	}
	know_word(scan);
	scan->word = NULL;
}

/* Where a part can be cut, so that lines and strings in front of it are whole, or words of a very
 * long one; 0: that is still to come. */
static size_t cut(const char *data, size_t len)
{
	static const char signs[] = "\n\",<> ";

	for (size_t i = 0; signs[i] && (i < 2 || len > LINE_MOST); i++) {
		const char *last = memrchr(data, signs[i], len);

		if (last)
			return (size_t)(last + 1 - data);
	}
	return len > LINE_MOST ? len : 0;
}

/* Bytes that follow `rest`. What is left is the new `rest`. */
static int look_at_part(struct annotations_scan *scan, const char *data, size_t len)
{
	struct buf *rest = &scan->rest;
	size_t whole;

	if (rest->len) {
		if (buf_add(rest, data, len) < 0)
			return -ENOMEM;
		whole = cut(rest->data, rest->len);
		look_through(scan, rest->data, whole);
		memmove(rest->data, rest->data + whole, rest->len - whole);
		rest->len -= whole;
	} else {
		whole = cut(data, len);
		look_through(scan, data, whole);
		if (buf_add(rest, data + whole, len - whole) < 0)
			return -ENOMEM;
	}
	return scan->failed ? -ENOMEM : 0;
}

int annotations_feed(struct annotations_scan *scan, const void *data, size_t len)
{
	SCOPE_FREE char *narrow = NULL;
	const char *at = data;
	size_t count = 0, mark = 0;

	if (len == 0)
		return 0;
	/* A mark of the byte order, which is no part of a name, may come first. */
	if (!scan->begun) {
		scan->begun = true;
		scan->wide = len >= 2 &&
			     (memcmp(at, "\xff\xfe", 2) == 0 || memcmp(at, "\xfe\xff", 2) == 0);
		if (!scan->wide && memchr(at, '\0', min(len, ANNOTATIONS_HEAD)))
			return 1;
		if (scan->wide)
			mark = 2;
		else if (len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
			mark = 3;
	}
	if (!scan->wide)
		return look_at_part(scan, at + mark, len - mark);
	/* UTF-16 without its NULs: names and numbers of ASCII. */
	narrow = malloc(len);
	if (!narrow)
		return -ENOMEM;
	for (size_t i = mark; i < len; i++)
		if (at[i])
			narrow[count++] = at[i];
	return look_at_part(scan, narrow, count);
}

int annotations_begin(const struct photo_names *names, const char *path,
		      struct annotations_scan **ret)
{
	const char *slash = strrchr(path, '/');
	struct annotations_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return -ENOMEM;
	scan->names = names;
	scan->piece.line = true;
	scan->shares = photo_names_share(names, slash ? slash + 1 : path);
	*ret = scan;
	return 0;
}

int annotations_end(struct annotations_scan *scan, struct annotations *ret)
{
	static const char line[] = "\n";
	const uint64_t *all;
	size_t count;
	struct annotations found;
	int r = look_at_part(scan, line, 1);

	if (r < 0)
		return r;
	scan->field = scan->piece.text = NULL;
	end_piece(scan, line);
	count = BUF_COUNT(&scan->found, uint64_t);
	buf_sort(&scan->found, sizeof(*all), search_compare64);
	all = BUF_ITEMS(&scan->found, uint64_t);
	found = (struct annotations){.places = scan->places, .images = count > 0};
	for (size_t i = 1; i < count; i++)
		found.images += all[i] != all[i - 1];
	if (found.images == 0)
		found.images = scan->shares;
	if (found.images == 0 && found.places >= scan->names->count)
		found.images = scan->names->count;
	if (found.places == 0 || found.images == 0)
		return 0;
	*ret = found;
	return 1;
}

void annotations_free(struct annotations_scan *scan)
{
	if (!scan)
		return;
	buf_release(&scan->rest);
	buf_release(&scan->found);
	free(scan);
}
