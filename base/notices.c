#include "base/notices.h"
#include "base/scope.h"
#include <inttypes.h>
#include <string.h>

#define EXAMPLE ", such as "

struct notice {
	char *subject;	/* the first one, sorted */
	char *text;	/* the first one that was added */
	uint64_t count; /* the sum of the numbers, */
	uint64_t of;	/* and of those that they are of */
	size_t subjects;
};

#define OF " of "

/* Where the number of a sentence is, a word of digits, that which it is of, if any, and how much of
 * the sentence is no example. */
struct shape {
	size_t number, digits, of, of_digits, end;
};

static struct shape shape_of(const char *text)
{
	const char *example = strstr(text, EXAMPLE);
	struct shape shape = {.end = example ? (size_t)(example - text) : strlen(text)};

	for (size_t i = 0; i < shape.end; i++) {
		size_t digits = strspn(text + i, "0123456789");
		bool begins = i == 0 || text[i - 1] == ' ',
		     ends = !text[i + digits] || text[i + digits] == ' ';

		if (digits && digits < 19 && begins && ends) {
			shape.number = i;
			shape.digits = digits;
			break;
		}
		i += digits;
	}
	shape.of = shape.number + shape.digits;
	if (shape.digits && strncmp(text + shape.of, OF, strlen(OF)) == 0) {
		shape.of_digits = strspn(text + shape.of + strlen(OF), "0123456789");
		shape.of += shape.of_digits ? strlen(OF) : 0;
	}
	return shape;
}

static void add_numbers(struct notice *notice, const char *text, const struct shape *shape)
{
	if (shape->digits)
		notice->count += strtoull(text + shape->number, NULL, 10);
	if (shape->of_digits)
		notice->of += strtoull(text + shape->of, NULL, 10);
}

static bool is_same(const char *a, const char *b)
{
	struct shape one = shape_of(a), other = shape_of(b);
	size_t rest = one.of + one.of_digits, others = other.of + other.of_digits;

	return one.number == other.number && !one.digits == !other.digits &&
	       !one.of_digits == !other.of_digits && one.end - rest == other.end - others &&
	       memcmp(a, b, one.number) == 0 && memcmp(a + rest, b + others, one.end - rest) == 0;
}

static struct notice *notices_all(const struct notices *notices)
{
	return BUF_ITEMS(&notices->all, struct notice);
}

static size_t notices_count(const struct notices *notices)
{
	return BUF_COUNT(&notices->all, struct notice);
}

static void forget_all(struct notices *notices)
{
	for (size_t i = 0; i < notices_count(notices); i++) {
		free(notices_all(notices)[i].subject);
		free(notices_all(notices)[i].text);
	}
	notices->all.len = 0;
}

void notices_release(struct notices *notices)
{
	forget_all(notices);
	buf_release(&notices->all);
	pthread_mutex_destroy(&notices->lock);
}

static void add_to(struct notice *notice, const char *subject, const char *text)
{
	const struct shape shape = shape_of(text);
	char *first;

	add_numbers(notice, text, &shape);
	notice->subjects++;
	if (strcmp(subject, notice->subject) >= 0)
		return;
	first = strdup(subject);
	if (!first)
		return;
	free(notice->subject);
	notice->subject = first;
}

bool notices_first(struct notices *notices)
{
	bool first;

	SCOPE_LOCK(&notices->lock);
	first = !notices->said;
	notices->said = true;
	return first;
}

void notices_add(struct notices *notices, const char *subject, const char *text)
{
	const struct shape shape = shape_of(text);
	struct notice notice = {.subjects = 1};

	add_numbers(&notice, text, &shape);
	SCOPE_LOCK(&notices->lock);
	for (size_t i = 0; i < notices_count(notices); i++)
		if (is_same(notices_all(notices)[i].text, text)) {
			add_to(&notices_all(notices)[i], subject, text);
			return;
		}
	notice.subject = strdup(subject);
	notice.text = strdup(text);
	if (notice.subject && notice.text && buf_add(&notices->all, &notice, sizeof(notice)) == 0)
		return;
	free(notice.subject);
	free(notice.text);
}

static int compare_notices(const void *left, const void *right)
{
	const struct notice *a = left, *b = right;
	int order = strcmp(a->subject, b->subject);

	return order ? order : strcmp(a->text, b->text);
}

static int line_of(const struct notice *notice, struct buf *ret)
{
	const struct shape shape = shape_of(notice->text);
	int r = buf_addf(ret, "%s", notice->subject);

	if (r == 0 && notice->subjects > 1)
		r = buf_addf(ret, " and %zu more", notice->subjects - 1);
	if (r == 0)
		r = buf_addf(ret, ": %.*s", (int)shape.number, notice->text);
	if (r == 0 && shape.digits)
		r = buf_addf(ret, "%" PRIu64, notice->count);
	if (r == 0 && shape.of_digits)
		r = buf_addf(ret, OF "%" PRIu64, notice->of);
	return r < 0 ? r : buf_adds(ret, notice->text + shape.of + shape.of_digits);
}

void notices_say(struct notices *notices, void (*say)(const char *line))
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	size_t count;

	SCOPE_LOCK(&notices->lock);
	count = notices_count(notices);
	buf_sort(&notices->all, sizeof(struct notice), compare_notices);
	for (size_t i = 0; i < count && i < NOTICES_MOST; i++) {
		line.len = 0;
		if (line_of(&notices_all(notices)[i], &line) == 0)
			say(line.data);
	}
	line.len = 0;
	if (count > NOTICES_MOST && buf_addf(&line, "%zu more notices", count - NOTICES_MOST) == 0)
		say(line.data);
	forget_all(notices);
}
