#include "pack/tool/image/annotations.h"

#include <string.h>
#include <strings.h>

/* What is left of the bytes. */
struct text {
	const char *at, *end;
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool has(struct text text, const char *word)
{
	return memmem(text.at, (size_t)(text.end - text.at), word, strlen(word)) != NULL;
}

/* --- JSON and XML --------------------------------------------------------------------- */

/* COCO lists the images with their sizes first; the boxes may begin only after the head. */
static bool is_coco(struct text text)
{
	while (text.at < text.end && is_space(*text.at))
		text.at++;
	if (text.at == text.end || (*text.at != '{' && *text.at != '['))
		return false;
	return has(text, "\"bbox\"") || has(text, "\"segmentation\"") ||
	       (has(text, "\"file_name\"") && has(text, "\"width\"") && has(text, "\"height\""));
}

static bool is_voc(struct text text)
{
	return has(text, "<annotation") && has(text, "<bndbox");
}

/* --- YOLO ----------------------------------------------------------------------------- */

static size_t digits(struct text *text)
{
	const char *begin = text->at;

	while (text->at < text->end && is_digit(*text->at))
		text->at++;
	return (size_t)(text->at - begin);
}

static bool accept(struct text *text, char c)
{
	if (text->at == text->end || *text->at != c)
		return false;
	text->at++;
	return true;
}

static void blanks(struct text *text)
{
	while (text->at < text->end && is_space(*text->at) && *text->at != '\n')
		text->at++;
}

static bool at_word_end(const struct text *text)
{
	return text->at == text->end || is_space(*text->at);
}

/* 0 to 1: "0", "0.5", "1.000", ".25", "3e-05". */
static bool coordinate(struct text *text)
{
	char first = text->at < text->end ? *text->at : '\0';
	size_t whole = digits(text), fraction = 0;
	bool small = false;

	if (accept(text, '.'))
		fraction = digits(text);
	if (whole + fraction == 0 || whole > 1)
		return false;
	if (accept(text, 'e') || accept(text, 'E'))
		small = accept(text, '-') && digits(text) > 0;
	return at_word_end(text) && (whole == 0 || first == '0' || first == '1' || small);
}

/* A class and four coordinates, more for outlines. Skips the end of the line. */
static bool yolo_line(struct text *text)
{
	size_t coordinates = 0;

	if (digits(text) == 0 || !at_word_end(text))
		return false;
	for (blanks(text); text->at < text->end && *text->at != '\n'; blanks(text), coordinates++)
		if (!coordinate(text))
			return false;
	accept(text, '\n');
	return coordinates >= 4;
}

/* Every line must match. The last one may be cut off where the head ends, and does not count,
 * unless it is the only one. A file without any "." has something else than coordinates. */
static bool is_yolo(struct text text)
{
	const char *last = memrchr(text.at, '\n', (size_t)(text.end - text.at));
	size_t lines = 0;

	if (last)
		text.end = last + 1;
	if (!has(text, "."))
		return false;
	for (blanks(&text); text.at < text.end; blanks(&text)) {
		if (accept(&text, '\n'))
			continue;
		if (!yolo_line(&text))
			return false;
		lines++;
	}
	return lines > 0;
}

/* --- which of them -------------------------------------------------------------------- */

static const struct {
	const char *ending, *name;
	bool (*is)(struct text text);
} kinds[] = {
	[ANNOTATIONS_COCO] = {".json", "COCO JSON", is_coco},
	[ANNOTATIONS_VOC] = {".xml", "Pascal VOC XML", is_voc},
	[ANNOTATIONS_YOLO] = {".txt", "YOLO labels", is_yolo},
};

static enum annotations_kind kind_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (enum annotations_kind kind = ANNOTATIONS_COCO; dot && kind <= ANNOTATIONS_YOLO; kind++)
		if (strcasecmp(dot, kinds[kind].ending) == 0)
			return kind;
	return ANNOTATIONS_NONE;
}

bool annotations_may_be(const char *path)
{
	return kind_of(path) != ANNOTATIONS_NONE;
}

enum annotations_kind annotations_look(const char *path, const uint8_t *head, size_t len)
{
	const struct text text = {.at = (const char *)head, .end = (const char *)head + len};
	enum annotations_kind kind = kind_of(path);

	if (kind == ANNOTATIONS_NONE || len == 0)
		return ANNOTATIONS_NONE;
	return kinds[kind].is(text) ? kind : ANNOTATIONS_NONE;
}

const char *annotations_name(enum annotations_kind kind)
{
	return kinds[kind].name;
}
