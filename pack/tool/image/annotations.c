#include "pack/tool/image/annotations.h"

#include <stdlib.h>
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

static bool has(struct text text, const char *word)
{
	return memmem(text.at, (size_t)(text.end - text.at), word, strlen(word)) != NULL;
}

/* --- JSON and XML --------------------------------------------------------------------- */

/* COCO lists the images with their sizes first, so the boxes may begin only after the head. */
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

/* Takes the next word of a line; returns its length, or 0. */
static size_t next_word(struct text *line, const char **ret)
{
	while (line->at < line->end && is_space(*line->at))
		line->at++;
	*ret = line->at;
	while (line->at < line->end && !is_space(*line->at))
		line->at++;
	return (size_t)(line->at - *ret);
}

static bool is_class(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (word[i] < '0' || word[i] > '9')
			return false;
	return true;
}

/* 0 to 1: "0", "0.5", "1.000", ".25", "3e-05". */
static bool is_coordinate(const char *word, size_t len)
{
	char number[64] = "", *end;
	double value;

	if (len >= sizeof(number))
		return false;
	memcpy(number, word, len);
	value = strtod(number, &end);
	return strspn(number, "0123456789.eE-") == len && *end == '\0' && value >= 0 && value <= 1;
}

/* How many words a line has: a class and four coordinates, or more for outlines. -1: it is another
 * kind of line. */
static int yolo_line(struct text line)
{
	const char *word;
	int words = 0;

	for (size_t len; (len = next_word(&line, &word)) > 0; words++)
		if (words ? !is_coordinate(word, len) : !is_class(word, len))
			return -1;
	return words == 0 || words >= 5 ? words : -1;
}

/* Every line must match. The last line may be cut off where the head ends, and does not count
 * unless it is the only one. A file without any "." does not hold coordinates. */
static bool is_yolo(struct text text)
{
	const char *last = memrchr(text.at, '\n', (size_t)(text.end - text.at));
	int lines = 0;

	if (last)
		text.end = last + 1;
	if (!has(text, "."))
		return false;
	for (const char *end; text.at < text.end; text.at = end + 1) {
		int words;

		end = memchr(text.at, '\n', (size_t)(text.end - text.at));
		end = end ? end : text.end;
		words = yolo_line((struct text){text.at, end});
		if (words < 0)
			return false;
		lines += words > 0;
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

static enum annotations_kind annotations_kind_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (enum annotations_kind kind = ANNOTATIONS_COCO; dot && kind <= ANNOTATIONS_YOLO; kind++)
		if (strcasecmp(dot, kinds[kind].ending) == 0)
			return kind;
	return ANNOTATIONS_NONE;
}

bool annotations_may_be(const char *path)
{
	return annotations_kind_of(path) != ANNOTATIONS_NONE;
}

enum annotations_kind annotations_look(const char *path, const uint8_t *head, size_t len)
{
	const struct text text = {.at = (const char *)head, .end = (const char *)head + len};
	enum annotations_kind kind = annotations_kind_of(path);

	if (kind == ANNOTATIONS_NONE || len == 0)
		return ANNOTATIONS_NONE;
	return kinds[kind].is(text) ? kind : ANNOTATIONS_NONE;
}

const char *annotations_name(enum annotations_kind kind)
{
	return kinds[kind].name;
}
