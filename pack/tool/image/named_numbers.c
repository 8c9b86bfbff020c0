#include "pack/tool/image/named_numbers.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static bool same_name(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* A direction is a word or the end of one: x_min, xmin, centre_x, cx, but not pixelxdimension. */
static bool is_apart(const struct name *name, size_t at)
{
	return at == 0 || at + 1 == name->len || !islower((unsigned char)name->text[at - 1]) ||
	       !islower((unsigned char)name->text[at + 1]);
}

/* Whether `other` is `name` with the other direction. */
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
			return is_apart(name, at) || one > 1;
	}
	return false;
}

static struct named *add_named(struct named_numbers *numbers, const struct name *name)
{
	unsigned place = numbers->next++ % NAMED;

	numbers->named[place] = (struct named){.name = *name, .other = NAMED};
	for (unsigned i = 0; i < NAMED; i++) {
		struct named *one = &numbers->named[i];

		if (one->other == place)
			one->other = NAMED;
		if (turns(name, &one->name) || turns(&one->name, name)) {
			one->other = place;
			numbers->named[place].other = i;
		}
	}
	return &numbers->named[place];
}

struct named *named_find(struct named_numbers *numbers, const struct name *name)
{
	for (unsigned i = 0; i < NAMED; i++)
		if (same_name(&numbers->named[i].name, name))
			return &numbers->named[i];
	return add_named(numbers, name);
}

bool named_take(struct named_numbers *numbers, struct named *named, double value)
{
	const struct named *other = named->other < NAMED ? &numbers->named[named->other] : NULL;

	named->value = value;
	return other && other->value != value && (fabs(value) > 1 || fabs(other->value) > 1);
}

void name_add(struct name *name, const char *text, size_t len)
{
	for (size_t i = 0; i < len && name->len < NAME; i++)
		if (isalnum((unsigned char)text[i]) || text[i] == '_')
			name->text[name->len++] = (char)tolower((unsigned char)text[i]);
}
