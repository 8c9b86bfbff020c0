/* Figures of a dataset as JSON. */
#include "pack/tool/read/summary.h"

static void add_images(struct json *json, const struct summary *summary)
{
	json_object(json, "images");
	for (unsigned kind = 1; kind < IMAGE_KINDS; kind++) {
		const struct summary_images *images = summary->images + kind;

		if (images->count == 0)
			continue;
		json_object(json, format_image_name(kind));
		json_u64(json, "count", images->count);
		if (images->sized) {
			range_json(&images->width, "width", json);
			range_json(&images->height, "height", json);
		}
		json_end(json);
	}
	json_end(json);
	json_u64(json, "other_files", summary->images[IMAGE_UNKNOWN].count);
}

static void add_class_sizes(struct json *json, const struct class_sizes *sizes)
{
	json_u64(json, "empty_classes", sizes->empty);
	if (sizes->filled == 0)
		return;
	range_json(&sizes->files, "class_files", json);
	json_double(json, "imbalance", sizes->imbalance);
}

static void add_splits(struct json *json, const struct summary *summary)
{
	const struct classes *classes = &summary->classes;

	json_u64(json, "classes", classes->count);
	if (!classes->split)
		add_class_sizes(json, &summary->class_sizes[0]);
	json_array(json, "splits");
	for (uint32_t i = 0; classes->split && i < classes->split_count; i++) {
		const struct class_split *split = &classes->splits[i];

		json_object(json, NULL);
		json_bytes(json, "name", split->name, split->name_len);
		json_u64(json, "classes", split->count);
		json_u64(json, "files", split->files);
		json_u64(json, "bytes", split->bytes);
		add_class_sizes(json, &summary->class_sizes[i]);
		json_end(json);
	}
	json_end(json);
}

static void add_class_table(struct json *json, const struct classes *classes)
{
	json_array(json, "class_table");
	for (uint32_t i = 0; i < classes->count; i++) {
		const struct class *class = &classes->list[i];
		const struct class_split *split = &classes->splits[class->split];

		json_object(json, NULL);
		if (classes->split)
			json_bytes(json, "split", split->name, split->name_len);
		json_bytes(json, "name", class->name, class->name_len);
		json_u64(json, "files", class->files);
		json_u64(json, "bytes", class->bytes);
		json_end(json);
	}
	json_end(json);
}

static void add_super(struct json *json, const struct dataset_info *info)
{
	const struct format_super *super = info->super;

	json_string(json, "id", info->id);
	json_u64(json, "format_version", super->version);
	json_u64(json, "files", super->files);
	json_u64(json, "directories", super->directories);
	json_u64(json, "symlinks", super->symlinks);
	json_u64(json, "hardlinks", super->hardlinks);
	json_u64(json, "bytes", super->bytes);
	json_u64(json, "pack_bytes", info->pack_bytes);
	if (super->bytes)
		json_double(json, "overhead_percent", summary_overhead(info));
}

void summary_json(const struct dataset_info *info, const struct summary *summary, bool class_table,
		  struct json *json)
{
	add_super(json, info);
	json_u64(json, "deduped", summary->aliases);
	json_u64(json, "deduped_bytes", summary->alias_bytes);
	add_splits(json, summary);
	add_images(json, summary);
	json_bytes(json, "options", info->options, info->options_len);
	json_double(json, "fragmentation", summary->fragmentation);
	json_bool(json, "relocated", info->relocated);
	if (class_table)
		add_class_table(json, &summary->classes);
}
