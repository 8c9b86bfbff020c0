#include "pack/tool/report/anomalies.h"

#include "base/bits.h"
#include "base/scope.h"
#include "pack/tool/image/image.h"
#include <string.h>

int anomalies_init(struct anomalies *anomalies, uint32_t entries)
{
	*anomalies = (struct anomalies){.unread = calloc(entries / 8 + (size_t)1, 1)};
	return anomalies->unread ? 0 : -ENOMEM;
}

void anomalies_release(struct anomalies *anomalies)
{
	for (unsigned kind = 0; kind < ANOMALY_KINDS; kind++)
		buf_release(&anomalies->lists[kind].entries);
	free(anomalies->unread);
	*anomalies = (struct anomalies){0};
}

void anomalies_note(struct anomalies *anomalies, enum anomaly kind, uint32_t entry)
{
	struct anomaly_list *list = &anomalies->lists[kind];

	if (list->count++ < ANOMALIES_LISTED)
		buf_add(&list->entries, &entry, sizeof(entry));
}

void anomalies_note_unread(struct anomalies *anomalies, int error, uint32_t entry)
{
	if (!bit_set(anomalies->unread, entry))
		anomalies_note(anomalies, error == -EBADMSG ? ANOMALY_DAMAGED : ANOMALY_UNREADABLE,
			       entry);
}

/* --- JSON ------------------------------------------------------------------------------- */

int anomalies_path(struct dataset *dataset, const struct classes *classes, uint32_t entry,
		   struct json *json)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = dataset_path(dataset, entry, &path);

	json_u64(json, NULL, classes->of[entry]);
	json_bytes(json, NULL, path.data, path.len);
	return r;
}

static int add_example(struct dataset *dataset, const struct classes *classes, uint32_t number,
		       struct json *json)
{
	int r;

	json_array(json, NULL);
	r = anomalies_path(dataset, classes, number, json);
	if (dataset_entry(dataset, number).kind == FORMAT_SYMLINK) {
		size_t len;
		const char *target = dataset_target(dataset, number, &len);

		json_bytes(json, NULL, target, len);
	}
	json_end(json);
	return r;
}

int anomalies_items_json(const struct anomalies *anomalies, enum anomaly kind,
			 struct dataset *dataset, const struct classes *classes, struct json *json)
{
	const struct anomaly_list *list = &anomalies->lists[kind];
	int r = buf_error(&list->entries);

	for (uint64_t i = 0; r == 0 && i < list->count && i < ANOMALIES_LISTED; i++)
		r = add_example(dataset, classes, anomaly_entries(list)[i], json);
	return r;
}

/* --- what is anomalous ------------------------------------------------------------------ */

bool anomaly_is_image(const struct dataset_entry *entry, const struct dataset_image *image)
{
	return image->kind != IMAGE_UNKNOWN ||
	       image_named(entry->name, entry->name_len) != IMAGE_UNKNOWN;
}

enum anomaly anomaly_of_file(const struct dataset_entry *entry, const struct dataset_image *image)
{
	enum format_image named = image_named(entry->name, entry->name_len);

	if (!anomaly_is_image(entry, image))
		return ANOMALY_NONE;
	if (entry->size == 0)
		return ANOMALY_EMPTY;
	if (image->kind == IMAGE_UNKNOWN)
		return ANOMALY_NOT_IMAGE;
	if (image->width == 0 && entry->size <= IMAGE_HEAD)
		return ANOMALY_NO_SIZE;
	if (!classes_takes(entry->name, entry->name_len))
		return ANOMALY_NOT_TAKEN;
	return named == image->kind ? ANOMALY_NONE : ANOMALY_MISNAMED;
}

enum anomaly anomaly_of_link(const struct dataset *dataset, uint32_t link)
{
	size_t len;
	const char *target = dataset_target(dataset, link, &len);
	uint32_t at;
	struct dataset_entry entry = dataset_entry(dataset, link);

	at = entry.parent;
	if (len > 0 && *target == '/')
		return ANOMALY_LINK_LEAVES;
	for (size_t from = 0, n; from < len; from += n + 1) {
		const char *word = target + from, *slash = memchr(word, '/', len - from);

		n = slash ? (size_t)(slash - word) : len - from;
		if (n == 0 || (n == 1 && *word == '.'))
			continue;
		entry = dataset_entry(dataset, at);
		if (n == 2 && memcmp(word, "..", 2) == 0) {
			if (at == DATASET_ROOT)
				return ANOMALY_LINK_LEAVES;
			at = entry.parent;
		} else if (dataset_lookup(dataset, at, word, n, &at) < 0) {
			return ANOMALY_LINK_DANGLES;
		}
		entry = dataset_entry(dataset, at);
		if (entry.kind == FORMAT_SYMLINK)
			return ANOMALY_NONE;
	}
	return ANOMALY_NONE;
}
