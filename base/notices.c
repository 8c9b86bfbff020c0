#include "base/notices.h"
#include "base/scope.h"
#include "base/size.h"
#include <stdio.h>
#include <string.h>

#define COUNT  "{}"
#define PLURAL "(s)"

struct said {
	struct notice notice; /* its text and example are owned */
	char *subject;	      /* the first one, sorted */
	size_t subjects;
};

static void said_release(struct said *said)
{
	free((char *)said->notice.text);
	free((char *)said->notice.example);
	free(said->subject);
}

static void forget_all(struct notices *notices)
{
	for (size_t i = 0; i < BUF_COUNT(&notices->all, struct said); i++)
		said_release(&BUF_ITEMS(&notices->all, struct said)[i]);
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

static struct said *find_said(struct notices *notices, const struct notice *notice)
{
	struct said *all = BUF_ITEMS(&notices->all, struct said);

	for (size_t i = 0; i < BUF_COUNT(&notices->all, struct said); i++)
		if (all[i].notice.numbers == notice->numbers &&
		    strcmp(all[i].notice.text, notice->text) == 0)
			return &all[i];
	return NULL;
}

void notices_add(struct notices *notices, const char *subject, const struct notice *notice)
{
	SCOPE(said_release) struct said said = {*notice, strdup(subject), 1};
	struct said *same;
	int order;

	said.notice.text = strdup(notice->text);
	said.notice.example = strdup(notice->example ? notice->example : "");
	if (!said.subject || !said.notice.text || !said.notice.example)
		return;
	SCOPE_LOCK(&notices->lock);
	same = find_said(notices, notice);
	if (!same) {
		if (buf_add(&notices->all, &said, sizeof(said)) == 0)
			said = (struct said){0};
		return;
	}
	for (size_t i = 0; i < notice->numbers; i++)
		same->notice.counts[i] += notice->counts[i];
	order = strcmp(subject, same->subject);
	same->subjects += order != 0;
	if (order < 0) {
		free(same->subject);
		same->subject = steal_ptr(&said.subject);
	}
}

void notices_move(struct notices *from, struct notices *to)
{
	const struct said *all;

	SCOPE_LOCK(&from->lock);
	all = BUF_ITEMS(&from->all, struct said);
	for (size_t i = 0; i < BUF_COUNT(&from->all, struct said); i++)
		notices_add(to, all[i].subject, &all[i].notice);
	forget_all(from);
}

static int compare_said(const void *left, const void *right)
{
	const struct said *a = left, *b = right;
	int order = strcmp(a->subject, b->subject);

	return order ? order : strcmp(a->notice.text, b->notice.text);
}

/* Up to `end`, of which the first noun is of a count. */
static void add_text(const char *text, const char *end, uint64_t count, struct buf *ret)
{
	const char *at = strstr(text, PLURAL);

	if (at && at < end) {
		buf_addf(ret, "%.*s%s", (int)(at - text), text, count == 1 ? "" : "s");
		text = at + strlen(PLURAL);
	}
	buf_add(ret, text, (size_t)(end - text));
}

/* Without memory, the line is lost. */
static int line_of(const struct said *said, struct buf *ret)
{
	const struct notice *notice = &said->notice;
	const char *text = notice->text, *at;
	char shown[SIZE_TEXT];
	uint64_t count = 0;

	buf_adds(ret, said->subject);
	if (said->subjects > 1)
		buf_addf(ret, " and %zu more", said->subjects - 1);
	buf_adds(ret, ": ");
	for (size_t i = 0; i < notice->numbers && (at = strstr(text, COUNT)); i++) {
		add_text(text, at, count, ret);
		count = notice->counts[i];
		buf_adds(ret, count_format(count, shown));
		text = at + strlen(COUNT);
	}
	add_text(text, text + strlen(text), count, ret);
	return buf_addf(ret, "%s%s", *notice->example ? ", such as " : "", notice->example);
}

void notices_say(struct notices *notices, void (*say)(const char *line))
{
	const struct said *all;
	char more[64];
	size_t count;

	SCOPE_LOCK(&notices->lock);
	buf_sort(&notices->all, sizeof(struct said), compare_said);
	all = BUF_ITEMS(&notices->all, struct said);
	count = BUF_COUNT(&notices->all, struct said);
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
