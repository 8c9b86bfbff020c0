/* Tars in which a sample is two members, KEY.SUFFIX and KEY.cls, sorted by name. A reader takes
 * what comes before the first dot of the last name for the key, so keys have no dots there. */
#include "base/scope.h"
#include "pack/tool/export/format.h"
#include "pack/tool/export/ustar.h"
#include "pack/tool/work/ranked.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#define CLS "cls"

static const char *suffix_of(const struct dataset_entry *file)
{
	return (const char *)memrchr(file->name, '.', file->name_len) + 1;
}

static const char *webdataset_refuses(const struct samples *samples,
				      const struct dataset_entry *file)
{
	(void)samples;
	return file->name[0] == '.' && suffix_of(file) == file->name + 1
		       ? "no name before its suffix"
		       : NULL;
}

/* --- keys ------------------------------------------------------------------------------- */

static int find_key(const struct export_source *source, uint64_t number, struct buf *key)
{
	uint32_t entry = source->samples->list[number].entry;
	struct dataset_entry file;
	size_t stem;
	int r;

	if (source->numbered) {
		key->len = 0;
		return buf_addf(key, "%08" PRIu64, number);
	}
	r = samples_path(source->samples, entry, key);
	if (r < 0)
		return r;
	file = dataset_entry(source->dataset, entry);
	stem = (size_t)(suffix_of(&file) - file.name) - 1;
	key->len -= file.name_len - stem;
	for (char *at = key->data + key->len - stem; at < key->data + key->len; at++)
		if (*at == '.')
			*at = '_';
	return 0;
}

static int refuse_twins(const struct export_source *source, uint64_t a, uint64_t b, struct err *err)
{
	SCOPE(buf_release) struct buf one = BUF_INIT, other = BUF_INIT;
	const struct sample *list = source->samples->list;
	int r = dataset_path(source->dataset, list[a].entry, &one);

	if (r == 0)
		r = dataset_path(source->dataset, list[b].entry, &other);
	if (r < 0)
		return r;
	return err_set(err, -EEXIST,
		       "%s and %s would have one key; --keys=number numbers the samples", one.data,
		       other.data);
}

/* Compares keys with the same hash, which are nearly always the same. */
static int compare_keys(const struct export_source *source, uint64_t a, uint64_t b, struct err *err)
{
	SCOPE(buf_release) struct buf one = BUF_INIT, other = BUF_INIT;
	int r = find_key(source, a, &one);

	if (r == 0)
		r = find_key(source, b, &other);
	if (r || one.len != other.len || (one.len && memcmp(one.data, other.data, one.len) != 0))
		return r;
	return refuse_twins(source, a, b, err);
}

static int webdataset_check(const struct export_source *source, struct err *err)
{
	SCOPE_FREE struct ranked *keys = calloc(source->samples->count + 1, sizeof(*keys));
	SCOPE(buf_release) struct buf key = BUF_INIT;
	int r = keys ? 0 : -ENOMEM;

	for (uint64_t i = 0; r == 0 && i < source->samples->count; i++) {
		r = find_key(source, i, &key);
		if (r == 0)
			keys[i] = (struct ranked){XXH3_64bits(key.data, key.len), i};
	}
	if (r < 0)
		return r;
	qsort(keys, source->samples->count, sizeof(*keys), compare_ranked);
	for (uint64_t i = 1; r == 0 && i < source->samples->count; i++)
		if (keys[i].rank == keys[i - 1].rank)
			r = compare_keys(source, keys[i - 1].number, keys[i].number, err);
	return r;
}

/* --- members ---------------------------------------------------------------------------- */

static int add_cls(struct ustar_member member, const struct buf *key, int64_t label, struct buf *to)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	char text[24];

	buf_add(&name, key->data, key->len);
	if (buf_adds(&name, "." CLS) < 0)
		return -ENOMEM;
	member.name = name.data;
	member.name_len = name.len;
	member.size = (uint64_t)snprintf(text, sizeof(text), "%" PRId64, label);
	ustar_header(&member, to);
	buf_add(to, text, member.size);
	return ustar_pad(member.size, to);
}

static int add_image_member(struct ustar_member member, const struct buf *key,
			    const struct dataset_entry *file, struct buf *head, struct buf *tail)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	const char *suffix = suffix_of(file);

	buf_add(&name, key->data, key->len);
	if (buf_addf(&name, ".%.*s", (int)(file->name + file->name_len - suffix), suffix) < 0)
		return -ENOMEM;
	member.name = name.data;
	member.name_len = name.len;
	member.size = file->size;
	ustar_header(&member, head);
	return head->failed ? -ENOMEM : ustar_pad(file->size, tail);
}

static bool image_is_first(const struct dataset_entry *file)
{
	const char *suffix = suffix_of(file);

	return memcmp(suffix, CLS, strlen(CLS)) < 0;
}

static int webdataset_frame(const struct export_source *source, uint64_t number, struct buf *head,
			    struct buf *tail)
{
	SCOPE(buf_release) struct buf key = BUF_INIT;
	const struct sample *sample = &source->samples->list[number];
	struct dataset_entry file;
	struct dataset_attr attr;
	struct ustar_member member;
	int r = dataset_attr(source->dataset, sample->entry, &attr);

	if (r == 0)
		r = find_key(source, number, &key);
	if (r < 0)
		return r;
	file = dataset_entry(source->dataset, sample->entry);
	member = (struct ustar_member){.mode = attr.mode, .mtime = attr.mtime.tv_sec};
	if (!image_is_first(&file))
		r = add_cls(member, &key, samples_label(source->samples, number), head);
	if (r == 0)
		r = add_image_member(member, &key, &file, head, tail);
	if (r == 0 && image_is_first(&file))
		r = add_cls(member, &key, samples_label(source->samples, number), tail);
	return r;
}

/* "x.tar" and "x" both give x-000000.tar. */
static int webdataset_stem(struct buf *stem, const char *target)
{
	size_t len = strlen(target);

	if (len > 4 && strcmp(target + len - 4, ".tar") == 0)
		len -= 4;
	return buf_addf(stem, "%.*s", (int)len, target);
}

static int webdataset_name(struct buf *name, const char *target, uint64_t shard, uint64_t shards)
{
	int r = webdataset_stem(name, target);

	(void)shards;
	return r < 0 ? r : buf_addf(name, "-%06" PRIu64 ".tar", shard);
}

static bool webdataset_is_stray(const char *rest, uint64_t shards)
{
	uint64_t shard;
	int len = 0;

	return sscanf(rest, "-%" SCNu64 "%n", &shard, &len) == 1 &&
	       strcmp(rest + len, ".tar") == 0 && shard >= shards;
}

const struct export_format export_webdataset = {
	.parts = DATASET_ATTRS,
	.refuses = webdataset_refuses,
	.check = webdataset_check,
	.frame = webdataset_frame,
	.name = webdataset_name,
	.stem = webdataset_stem,
	.is_stray = webdataset_is_stray,
	.zeros = 2 * USTAR_BLOCK,
};
