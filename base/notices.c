#include "base/notices.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS	"0123456789"
#define OF	" of "
#define EXAMPLE ", such as "

struct notice {
	char *subject;	   /* the first one, sorted */
	char *text;	   /* the first one that was added */
	size_t head, tail; /* up to its first number, which is a word; from behind its numbers on */
	size_t end;	   /* where its example begins */
	unsigned numbers;  /* 0 to 2 */
	uint64_t sums[2];  /* the second is of those that the first is of */
	size_t subjects;
};

/* Both are borrowed. */
static struct notice notice_of(char *subject, char *text)
{
	const char *example = strstr(text, EXAMPLE);
	struct notice notice = {.subject = subject, .text = text, .subjects = 1};
	size_t at = 0, digits;
	char *end;

	notice.end = example ? (size_t)(example - text) : strlen(text);
	for (; at < notice.end; at += digits ? digits : 1) {
		digits = strspn(text + at, DIGITS);
		if (digits && digits < 19 && (at == 0 || text[at - 1] == ' ') &&
		    (!text[at + digits] || text[at + digits] == ' '))
			break;
	}
	notice.head = notice.tail = at < notice.end ? at : notice.end;
	if (at >= notice.end)
		return notice;
	notice.sums[notice.numbers++] = strtoull(text + at, &end, 10);
	if (strncmp(end, OF, strlen(OF)) == 0 && strspn(end + strlen(OF), DIGITS))
		notice.sums[notice.numbers++] = strtoull(end + strlen(OF), &end, 10);
	notice.tail = (size_t)(end - text);
	return notice;
}

static bool is_same(const struct notice *a, const struct notice *b)
{
	size_t rest = a->end - a->tail;

	return a->numbers == b->numbers && a->head == b->head && rest == b->end - b->tail &&
	       memcmp(a->text, b->text, a->head) == 0 &&
	       memcmp(a->text + a->tail, b->text + b->tail, rest) == 0;
}

static void forget_all(struct notices *notices)
{
	struct notice *all = BUF_ITEMS(&notices->all, struct notice);

	for (size_t i = 0; i < BUF_COUNT(&notices->all, struct notice); i++) {
		free(all[i].subject);
		free(all[i].text);
	}
	notices->all.len = 0;
}

void notices_release(struct notices *notices)
{
	forget_all(notices);
	buf_release(&notices->all);
	pthread_mutex_destroy(&notices->lock);
}

bool notices_first(struct notices *notices)
{
	bool first;

	SCOPE_LOCK(&notices->lock);
	first = !notices->logged;
	notices->logged = true;
	return first;
}

void notices_add(struct notices *notices, const char *subject, const char *text)
{
	SCOPE_FREE char *its_subject = strdup(subject), *its_text = strdup(text);
	struct notice notice, *all;

	if (!its_subject || !its_text)
		return;
	notice = notice_of(its_subject, its_text);
	SCOPE_LOCK(&notices->lock);
	all = BUF_ITEMS(&notices->all, struct notice);
	for (size_t i = 0; i < BUF_COUNT(&notices->all, struct notice); i++) {
		if (!is_same(&all[i], &notice))
			continue;
		all[i].sums[0] += notice.sums[0];
		all[i].sums[1] += notice.sums[1];
		all[i].subjects++;
		if (strcmp(subject, all[i].subject) < 0) {
			free(all[i].subject);
			all[i].subject = steal_ptr(&its_subject);
		}
		return;
	}
	if (buf_add(&notices->all, &notice, sizeof(notice)) == 0) {
		steal_ptr(&its_subject);
		steal_ptr(&its_text);
	}
}

static int compare_notices(const void *left, const void *right)
{
	const struct notice *a = left, *b = right;
	int order = strcmp(a->subject, b->subject);

	return order ? order : strcmp(a->text, b->text);
}

/* Without memory, the line is lost. */
static int line_of(const struct notice *notice, struct buf *ret)
{
	buf_addf(ret, "%s", notice->subject);
	if (notice->subjects > 1)
		buf_addf(ret, " and %zu more", notice->subjects - 1);
	buf_addf(ret, ": %.*s", (int)notice->head, notice->text);
	for (unsigned i = 0; i < notice->numbers; i++)
		buf_addf(ret, "%s%" PRIu64, i ? OF : "", notice->sums[i]);
	return buf_adds(ret, notice->text + notice->tail);
}

void notices_say(struct notices *notices, void (*say)(const char *line))
{
	const struct notice *all;
	char more[64];
	size_t count;

	SCOPE_LOCK(&notices->lock);
	buf_sort(&notices->all, sizeof(struct notice), compare_notices);
	all = BUF_ITEMS(&notices->all, struct notice);
	count = BUF_COUNT(&notices->all, struct notice);
	for (size_t i = 0; i < count && i < NOTICES_MOST; i++) {
		SCOPE(buf_release) struct buf line = BUF_INIT;

		if (line_of(&all[i], &line) == 0)
			say(line.data);
	}
	if (count > NOTICES_MOST) {
		snprintf(more, sizeof(more), "%zu more notices", count - NOTICES_MOST);
		say(more);
	}
	forget_all(notices);
}
