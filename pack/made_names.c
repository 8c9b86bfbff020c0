#include "pack/made_names.h"
#include "base/bytes.h"
#include "base/math.h"
#include "base/name.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/dataset_merge.h"
#include "pack/options.h"
#include "pack/renames.h"
#include <ctype.h>
#include <string.h>

#define LINE	 "made-up"
#define TEXT_MAX 200 /* of 255 bytes that a name may have */

/* A file that has such names. */
struct made {
	const struct dataset_pack *pack;
	struct renames *renames;
	struct buf prefix;
	const char *name; /* of the file, */
	size_t len;	  /* without what stands behind it in a URL */
	size_t base;	  /* where its last part begins */
	struct buf text;  /* that is to stand in front of the number */
};

struct all {
	struct made *made;
	size_t count;
};

static void all_release(struct all *all)
{
	for (size_t i = 0; i < all->count; i++) {
		buf_release(&all->made[i].prefix);
		buf_release(&all->made[i].text);
	}
	free(all->made);
}

/* --- the line --------------------------------------------------------------------------------- */

int made_names_write(const char *prefix, struct buf *ret)
{
	buf_adds(ret, LINE "=");
	buf_add_escaped(ret, prefix, strlen(prefix), "\n\\");
	return buf_adds(ret, "\n");
}

/* --- what tells files apart ------------------------------------------------------------------- */

size_t made_names_stem(const char *base, size_t len)
{
	size_t at = len;

	while (at > 0 && isalpha((unsigned char)base[at - 1]))
		at--;
	return at > 1 && at < len && base[at - 1] == '.' ? at - 1 : len;
}

/* An LMDB is called as the folder that it is in. */
static void find_parts(struct made *made)
{
	static const char lmdb[] = "/data.mdb";
	const char *name = made->name = made->pack->name, *slash;

	made->len = name_query(name);
	if (made->len > strlen(lmdb) &&
	    memcmp(name + made->len - strlen(lmdb), lmdb, strlen(lmdb)) == 0)
		made->len -= strlen(lmdb);
	while (made->len > 1 && name[made->len - 1] == '/')
		made->len--;
	slash = memrchr(name, '/', made->len);
	made->base = slash ? (size_t)(slash + 1 - name) : 0;
}

/* 0: they share names. */
static int compare_prefixes(const void *left, const void *right)
{
	const struct made *a = left, *b = right;
	int r = strcmp(a->pack->below, b->pack->below);

	return r ? r : bytes_compare(a->prefix.data, a->prefix.len, b->prefix.data, b->prefix.len);
}

/* "YEAR=2025-part-0-"; `whole`: "YEAR=2025-part-0.parquet-". */
static int make_text(struct made *made, size_t common, bool whole)
{
	const char *base = made->name + made->base;
	size_t len = made->len - made->base;
	struct buf *text = &made->text;

	text->len = 0;
	for (size_t at = common, part; at < made->base; at += part + 1) {
		part = strcspn(made->name + at, "/");
		if (format_name_valid(made->name + at, part))
			buf_addf(text, "%.*s-", (int)part, made->name + at);
	}
	if (made->prefix.len && !whole)
		buf_add(text, made->prefix.data, made->prefix.len);
	else
		buf_addf(text, "%.*s-", (int)(whole ? len : made_names_stem(base, len)), base);
	return buf_error(text);
}

static int compare_texts(const void *left, const void *right)
{
	const struct made *a = left, *b = right;

	return bytes_compare(a->text.data, a->text.len, b->text.data, b->text.len);
}

static int make_texts(struct made *made, size_t count)
{
	size_t common = made[0].base; /* bytes of the folder that all are in */
	bool apart = false;
	int r = 0;

	for (size_t i = 1; i < count; i++)
		common = name_common_folder(made[0].name, common, made[i].name, made[i].base);
	for (int whole = 0; r == 0 && !apart && whole < 2; whole++) {
		for (size_t i = 0; r == 0 && i < count; i++)
			r = make_text(&made[i], common, whole);
		qsort(made, count, sizeof(*made), compare_texts);
		apart = true;
		for (size_t i = 1; i < count; i++)
			apart &= compare_texts(&made[i - 1], &made[i]) != 0;
	}
	return r;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Gives an entry its text, if its name was made up. */
static int rename_made(struct made *made, const struct index *index, uint32_t entry)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	size_t cut = (size_t)sub_sat(made->text.len, TEXT_MAX), at = made->prefix.len, digits = 0;
	size_t len;
	const char *name = index_name(index, entry, &len);
	int r;

	if (index_kind(index, entry) == FORMAT_DIRECTORY || len < at ||
	    (at && memcmp(name, made->prefix.data, at) != 0))
		return 0;
	while (at + digits < len && isdigit((unsigned char)name[at + digits]))
		digits++;
	if (digits < MADE_NAMES_DIGITS || (at + digits < len && name[at + digits] != '.'))
		return 0;
	while (cut < made->text.len && made->text.data[cut] == '.')
		cut++;
	buf_add(&text, made->text.data + cut, made->text.len - cut);
	r = buf_add(&text, name + made->prefix.len, len - made->prefix.len);
	return r < 0 || text.len > FORMAT_NAME_MAX
		       ? r
		       : renames_add(made->renames, &made->pack->dataset->index, entry, text.data,
				     text.len);
}

int made_names_part(const struct dataset_pack *packs, unsigned count, struct renames *renames)
{
	SCOPE(all_release) struct all all = {.made = calloc(count, sizeof(*all.made))};
	struct made *made = all.made;
	int r = made ? 0 : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < count; i++) {
		const struct dataset_info *info = dataset_info(packs[i].dataset);
		size_t len;
		const char *line = options_find(info->options, info->options_len, LINE, &len);

		if (!line)
			continue;
		made[all.count] = (struct made){.pack = &packs[i], .renames = &renames[i]};
		find_parts(&made[all.count]);
		r = option_unescape(line, len, &made[all.count++].prefix);
	}
	if (r < 0)
		return r;
	qsort(made, all.count, sizeof(*made), compare_prefixes);
	for (size_t i = 0, end; r == 0 && i < all.count; i = end) {
		for (end = i + 1; end < all.count && compare_prefixes(&made[i], &made[end]) == 0;)
			end++;
		if (end - i > 1)
			r = make_texts(&made[i], end - i);
		for (size_t j = i; r == 0 && end - i > 1 && j < end; j++) {
			const struct index *index = &made[j].pack->dataset->index;

			for (uint32_t e = 1; r == 0 && e < index->entries; e++)
				r = rename_made(&made[j], index, e);
		}
	}
	return r;
}
