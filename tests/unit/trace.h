/* Tests that are traces: words and their numbers, one after the other, which the test's own loop
 * obeys.
 *
 *	struct trace trace = trace_begin("read 0 4; reads 1");
 *
 *	while (trace_next(&trace))
 *		if (trace_is(&trace, "read"))
 *			...
 *
 * What is not as a trace says fails with the place in it. */
#pragma once

#include "tests/unit/test.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRACE_WORD 48

struct trace {
	const char *text, *at;
	char verb[TRACE_WORD], word[TRACE_WORD];
};

static inline struct trace trace_begin(const char *text)
{
	return (struct trace){.text = text, .at = text};
}

static inline bool trace_word(struct trace *trace, char ret[static TRACE_WORD])
{
	size_t len = strcspn(trace->at += strspn(trace->at, " ;"), " ;");

	snprintf(ret, TRACE_WORD, "%.*s", (int)len, trace->at);
	trace->at += len;
	return len > 0;
}

/* The next verb; what is in between are its numbers. */
static inline bool trace_next(struct trace *trace)
{
	return trace_word(trace, trace->verb);
}

static inline bool trace_is(const struct trace *trace, const char *verb)
{
	return strcmp(trace->verb, verb) == 0;
}

#define trace_fail(trace, ...)                                                                    \
	do {                                                                                      \
		print_error("after '%.*s': ", (int)((trace)->at - (trace)->text), (trace)->text); \
		fail_msg(__VA_ARGS__);                                                            \
	} while (0)

/* "4", and with bytes more or less than so many units, "4+1" or "4-1". K and M are units, too. */
static inline uint64_t trace_sum(struct trace *trace, uint64_t unit)
{
	char *end;
	uint64_t sum;

	trace_word(trace, trace->word);
	sum = strtoull(trace->word, &end, 10);
	if (end == trace->word)
		trace_fail(trace, "'%s' knows no '%s'", trace->verb, trace->word);
	if (*end == 'K' || *end == 'M')
		unit = *end++ == 'K' ? 1u << 10 : 1u << 20;
	sum *= unit;
	return sum + (uint64_t)strtoll(end, NULL, 10);
}

static inline uint64_t trace_number(struct trace *trace)
{
	return trace_sum(trace, 1);
}

/* Whether the verb goes on. */
static inline bool trace_more(const struct trace *trace)
{
	return *trace->at == ' ';
}

/* Which of these words comes next; `none` if the verb ends before. */
static inline int trace_choice(struct trace *trace, const char *const *words, int none)
{
	if (!trace_more(trace))
		return none;
	trace_word(trace, trace->word);
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], trace->word) == 0)
			return i;
	trace_fail(trace, "'%s' is unknown", trace->word);
	return none;
}

/* What verbs compare with. */
struct trace_sum {
	const char *verb;
	uint64_t value;
};

/* Whether it is one of these verbs, and then that its sum is right. */
static inline bool trace_equals(struct trace *trace, const struct trace_sum *sums, uint64_t unit)
{
	while (sums->verb && !trace_is(trace, sums->verb))
		sums++;
	if (sums->verb && trace_sum(trace, unit) != sums->value)
		trace_fail(trace, "it is %llu, of %llu each", (unsigned long long)sums->value,
			   (unsigned long long)unit);
	return sums->verb;
}
