/* Tests that are stories in words: sentences with semicolons between, each a verb with its
 * arguments, or a value, what it is to be (=, <, >=, ..), and a number.
 *
 *	STORY(pins_hold, "keep 0..3 4S used; pin 0; used = 16S")
 *
 * 5-8 are two numbers. What begins with a range, 0..3, is done for each of it. K, M and S are KiB,
 * MiB, and slots of 16 KiB; 16M+1K is their sum; `all` is no end. A test has names of its own. */
#pragma once

#include "tests/unit/test.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NO_END UINT64_MAX

struct word {
	const char *name;
	void (*act)(const uint64_t *n);
	uint64_t (*value)(const uint64_t *n);
	void (*tell)(const char *text);
	uint64_t number;
};

static struct word story_words[96];
static size_t story_count;   /* of words */
static unsigned story_given; /* arguments of the sentence, */
static uint64_t story_nth;   /* and of its range, which this is */

#define WORD(kind, verb, text, ...)                                            \
	__attribute__((constructor)) static void word_##kind##_##verb(void)    \
	{                                                                      \
		assert_true(story_count < 96);                                 \
		story_words[story_count++] = (struct word){text, __VA_ARGS__}; \
	}                                                                      \
	_Static_assert(1, "")

/* A verb, which is followed by what it does with the numbers n[]; the same in one expression; one
 * with a word in place of numbers; a value; a name of a number. */
#define DO(verb)                                 \
	static void do_##verb(const uint64_t *); \
	WORD(do, verb, #verb, .act = do_##verb); \
	static void do_##verb(__attribute__((unused)) const uint64_t *n)
#define DOES(verb, expression) \
	DO(verb)               \
	{                      \
		expression;    \
	}
#define TELL(verb)                                    \
	static void tell_##verb(const char *);        \
	WORD(tell, verb, #verb, .tell = tell_##verb); \
	static void tell_##verb(const char *text)
#define GET(verb, expression)                                                 \
	static uint64_t get_##verb(__attribute__((unused)) const uint64_t *n) \
	{                                                                     \
		return expression;                                            \
	}                                                                     \
	WORD(get, verb, #verb, .value = get_##verb);
#define NUMBER(verb, is) WORD(number, verb, #verb, .number = (uint64_t)(is));

/* The word at *at, of which it is a name of a number or not; NULL: there is none. */
static inline const struct word *story_word(const char **at, bool is_number)
{
	size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

	for (const struct word *word = story_words; word < story_words + story_count; word++)
		if (is_number == !(word->act || word->value || word->tell) &&
		    strlen(word->name) == len && strncmp(word->name, *at, len) == 0) {
			*at += len;
			return word;
		}
	return NULL;
}

static inline uint64_t story_number(const char **at)
{
	uint64_t sum = 0;

	do {
		const struct word *name;
		char *end;
		uint64_t number = strtoull(*at += **at == '+', &end, 10);

		if (end == *at) {
			name = story_word(at, true);
			if (!name)
				fail_msg("no number: %s", *at);
			sum += name->number;
			continue;
		}
		sum += number << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'S' ? 14 : 0);
		*at = end + strspn(end, "KMS");
	} while (**at == '+');
	return sum;
}

NUMBER(all, NO_END)

static inline bool story_holds(uint64_t found, const char *is, uint64_t wanted)
{
	if (is[0] != '=' && is[1] == '=' && found == wanted)
		return true;
	return *is == '<' ? found < wanted : *is == '>' ? found > wanted : found == wanted;
}

static inline void story_tell(const char **at, const struct word *word)
{
	char text[64];
	size_t len = strcspn(*at, ";");

	snprintf(text, sizeof(text), "%.*s", (int)len, *at);
	*at += len;
	word->tell(text);
}

static inline void story_play(const char *text)
{
	const char *at = text;

	while (*(at += strspn(at, "; "))) {
		const char *sentence = at, *is;
		const struct word *word = story_word(&at, false);
		uint64_t n[6] = {0}, last = 0, found, wanted;

		if (!word)
			fail_msg("no word: %s", sentence);
		story_given = 0;
		while (*(at += strspn(at, " -")) && !strchr(";=<>", *at) && !word->tell) {
			assert_true(story_given < 6);
			n[story_given++] = story_number(&at);
			if (story_given == 1)
				last = n[0];
			if (strncmp(at, "..", 2) == 0) {
				at += 2;
				last = story_number(&at);
			}
		}
		if (word->tell)
			story_tell(&at, word);
		last -= n[0];
		for (story_nth = 0; word->act && story_nth <= last; n[0]++, story_nth++)
			word->act(n);
		if (!word->value)
			continue;
		is = at;
		at += strspn(at, "=<> ");
		wanted = story_number(&at);
		found = word->value(n);
		if (!story_holds(found, is, wanted)) {
			print_error("after '%.*s': ", (int)(sentence - text), text);
			fail_msg("%.*s: it is %llu", (int)(at - sentence), sentence,
				 (unsigned long long)found);
		}
	}
}

/* A test that is a story; with a fixture. */
#define STORY_OF(fixture, name, text) \
	TEST_OF(fixture, name)        \
	{                             \
		story_play(text);     \
	}
#define STORY(name, text) STORY_OF(no_fixture, name, text)
