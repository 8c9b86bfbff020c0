#include "pack/select.h"
#include "base/bits.h"
#include "base/buf.h"
#include "base/match.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/xxh3.h"
#include <string.h>

/* A pattern as the text of what it matches: "name" for a last component, "/a/b" for a path. */
struct literal {
	uint64_t hash;
	size_t pattern;
};

struct select {
	const char *const *patterns;
	size_t count;
	struct literal *literals; /* of all patterns, by hash */
	size_t *globs;		  /* the patterns with special characters */
	size_t glob_count;
	uint8_t *used;	 /* a bit for each pattern that has matched */
	struct buf path; /* of the current entry, with a slash before it */
};

static uint64_t literal_hash(const char *pattern)
{
	struct match_pattern parsed = match_parse(pattern);
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	if (parsed.whole)
		XXH3_64bits_update(&state, "/", 1);
	XXH3_64bits_update(&state, parsed.text, parsed.len);
	return XXH3_64bits_digest(&state);
}

int select_new(const char *const *patterns, size_t count, struct select **ret)
{
	struct select *select = calloc(1, sizeof(*select));

	if (!select)
		return -ENOMEM;
	select->patterns = patterns;
	select->count = count;
	select->literals = calloc(count + 1, sizeof(*select->literals));
	select->globs = calloc(count + 1, sizeof(*select->globs));
	select->used = calloc(1, count / 8 + 1);
	if (!select->literals || !select->globs || !select->used) {
		select_free(select);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		select->literals[i] = (struct literal){literal_hash(select->patterns[i]), i};
		if (strpbrk(select->patterns[i], "*?[\\"))
			select->globs[select->glob_count++] = i;
	}
	qsort(select->literals, count, sizeof(*select->literals), search_compare64);
	*ret = select;
	return 0;
}

void select_free(struct select *select)
{
	if (!select)
		return;
	free(select->literals);
	free(select->globs);
	free(select->used);
	buf_release(&select->path);
	free(select);
}

/* Equal hashes of 64 bits count as equal texts. With a million patterns and a billion paths, one
 * run in 20,000 has a false match. */
static bool match_literal(struct select *select, const char *text, size_t len)
{
	const struct literal key = {.hash = XXH3_64bits(text, len)};
	const struct literal *end = select->literals + select->count;
	struct literal *found =
		bsearch(&key, select->literals, select->count, sizeof(key), search_compare64);

	if (!found)
		return false;
	while (found > select->literals && found[-1].hash == key.hash)
		found--;
	for (; found < end && found->hash == key.hash; found++)
		bit_set(select->used, found->pattern);
	return true;
}

int select_match(struct select *select, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool matches;

	select->path.len = 0;
	if (buf_add(&select->path, "/", 1) < 0 || buf_add(&select->path, path, strlen(path)) < 0)
		return -ENOMEM;
	/* Not `||`: each pattern that matches must be marked as used. */
	matches = match_literal(select, name, strlen(name));
	matches |= match_literal(select, select->path.data, select->path.len);
	for (size_t i = 0; i < select->glob_count; i++) {
		size_t glob = select->globs[i];

		if ((!matches || !bit_get(select->used, glob)) &&
		    match_path(select->patterns[glob], path)) {
			bit_set(select->used, glob);
			matches = true;
		}
	}
	return matches;
}

const char *select_unused(const struct select *select, size_t *ret_count)
{
	const char *first = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < select->count; i++) {
		if (bit_get(select->used, i))
			continue;
		first = first ? first : select->patterns[i];
		++*ret_count;
	}
	return first;
}
