#include "pack/tool/create/create_labels.h"
#include "base/log.h"
#include "base/scope.h"
#include <inttypes.h>
#include <string.h>

/* The folders of the new pack. */
struct folders {
	struct create *create;
	struct entry_table table;
	struct err *err;
};

static void folders_release(struct folders *folders)
{
	entry_table_release(&folders->table);
}

static int add_to_table(struct folders *folders, uint32_t id, const struct buf *path)
{
	return entry_table_add(&folders->table, entry_table_hash(path->data, path->len), id);
}

static int list_folders(struct folders *folders)
{
	struct create *create = folders->create;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < create->import->entries; id++) {
		if (builder_is_dropped(create->builder, id) ||
		    builder_kind(create->builder, id) != FORMAT_DIRECTORY)
			continue;
		r = builder_path(create->builder, id, &path);
		if (r == 0)
			r = add_to_table(folders, id, &path);
	}
	return r;
}

/* Makes the folder, unless it is there, in one that is. */
static int make_folder(struct folders *folders, const char *path, size_t len)
{
	struct create *create = folders->create;
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
	struct builder_entry entry = {.kind = FORMAT_DIRECTORY,
				      .parent = BUILDER_ROOT,
				      .name = name,
				      .name_len = (size_t)(path + len - name),
				      .mode = 0755};
	const struct buf whole = {.data = (char *)path, .len = len};
	uint32_t id;
	int r = entry_table_find_path(&folders->table, create->builder, path, len, &id);

	if (r != -ENOENT)
		return r;
	if (slash)
		r = entry_table_find_path(&folders->table, create->builder, path,
					  (size_t)(slash - path), &entry.parent);
	if (slash && r == -ENOENT)
		return 0;
	r = builder_add(create->builder, &entry, &id, folders->err);
	if (r == 0)
		r = add_to_table(folders, id, &whole);
	create->import->entries += r == 0;
	return r;
}

static int add_number(const void *context, int64_t label, struct buf *above, struct labels *labels)
{
	int r = buf_addf(above, "%04" PRId64, label);

	(void)context;
	return r < 0 ? r : labels_add(labels, label, above->data, above->len);
}

static int add_empty(struct create *create, struct err *err)
{
	SCOPE(folders_release) struct folders folders = {.create = create, .err = err};
	struct labels *labels = &create->labels;
	int r;

	labels_sort(labels);
	r = labels_add_gaps(labels, add_number, NULL, err);
	if (r == 0)
		r = list_folders(&folders);
	for (size_t i = 0; r == 0 && i < labels_count(labels); i++)
		r = make_folder(&folders, labels_folder(labels, i), labels_row(labels, i)->len);
	return r;
}

int create_keep_labels(struct create *create, struct err *err)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	int r = 0;

	if (create->dataset)
		r = labels_add_dataset(&create->labels, create->dataset, "");
	if (r == 0 && create->options.common.foreign.empty_classes)
		r = add_empty(create, err);
	if (r == 0)
		r = labels_write(&create->labels, &line);
	return r < 0 || !line.len ? r : builder_add_options(create->builder, line.data);
}

void create_say_labels(const struct create *create)
{
	struct dataset *dataset;

	if (!labels_count(&create->labels) || dataset_open(create->pack, &dataset, NULL) < 0)
		return;
	cmd_say_labels(create->pack, dataset);
	dataset_free(dataset);
}
