/* Whatever the words of a command line, each ended by a NUL: foldfs's options are read or refused
 * with a sentence, and so are the packs that they name. */
#include "base/scope.h"
#include "base/size.h"
#include "fs/options.h"
#include "pack/names.h"
#include "tests/fuzz/fuzz.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define WORDS	     64
#define COMMAS	     7	 /* in braces: at most 128 names; a digit counts as two of them */
#define NAMES_ENOUGH 100 /* a word may make 100,000, which takes seconds, and rightly so */

static int read_list(void *context, const char *name, struct buf *ret, struct err *err)
{
	(void)err;
	(void)name;
	return buf_adds(ret, context);
}

static bool is_wide(const char *word)
{
	size_t commas = 0;

	for (const char *at = strchr(word, '{'); at && *at; at++)
		commas += *at == ',' ? 1u : 2u * (*at >= '0' && *at <= '9');
	return commas > COMMAS;
}

/* Not what glob(3) finds in this machine's folders. */
static void name_packs(const struct settings *settings)
{
	SCOPE(names_release) struct names names = {.read = read_list};
	struct err err = {{0}};

	for (size_t i = 0; i < settings->pack_count && names.count < NAMES_ENOUGH; i++) {
		const char *word = settings->packs[i];

		names.context = is_wide(settings->packs[0]) ? (char[]){"x"} : settings->packs[0];
		if (!strpbrk(word, "*?[") && !is_wide(word) && names_add(&names, word, &err) < 0)
			must(err.text[0]);
	}
	if (names_check_sets(&names, &err) < 0)
		must(err.text[0]);
	err.text[0] = '\0';
	if (names_check_mixed(&names, &err) < 0)
		must(err.text[0]);
}

static void use_given(void *context, const char *name, const char *value)
{
	(void)context;
	must(name[0]);
	if (value)
		(void)XXH3_64bits(value, strlen(value));
}

/* What is said of a size can be read. */
static void use_size(uint64_t bytes)
{
	char text[SIZE_TEXT];
	uint64_t again;

	(void)count_noun(bytes, "byte", text);
	(void)count_format(bytes, text);
	(void)size_format(bytes, text);
	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	must(bytes > INT64_MAX || (size_parse(text, &again) == 0 && again == bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_FREE char *text = malloc(size + 1);
	char *argv[WORDS + 2] = {(char[]){"foldfs"}};
	struct settings settings;
	enum opt_want want = OPT_RUN;
	struct err err = {{0}};
	int argc = 1;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *at = text; at < text + size && argc <= WORDS; at += strlen(at) + 1)
		argv[argc++] = at;
	must(settings_command());
	if (settings_parse(&settings, argc, argv, &want, &err) < 0) {
		must(err.text[0]);
	} else if (want == OPT_RUN) {
		name_packs(&settings);
		use_size(settings.pool);
		(void)settings_are_handed_over(&settings);
		settings_given(&settings, use_given, NULL);
	}
	return 0;
}
