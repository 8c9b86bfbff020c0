/* Reads whatever bytes it is given as a list of files, as lines or as JSON by their first byte, in
 * a pack with names of several kinds. What comes out must be entries of the pack.
 *
 * The pack is made once; the inputs never touch the disk. */
#include "base/scope.h"
#include "fs/lists_text.h"
#include "pack/write/builder.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"1.jpg", "2.jpg", "a b.jpg", "\xc3\xa9.jpg", "\xff.jpg", "x"};
#define NAMES (sizeof(names) / sizeof(*names))

static int zeros(void *context, void *buf, size_t len)
{
	(void)context;
	memset(buf, 0, len);
	return 0;
}

static uint32_t add(struct builder *builder, enum format_kind kind, uint32_t parent,
		    const char *name, const char *target)
{
	struct builder_entry entry = {.kind = kind,
				      .parent = parent,
				      .name = name,
				      .name_len = strlen(name),
				      .mode = 0755,
				      .target = target,
				      .target_len = target ? strlen(target) : 0};
	struct builder_source source = {.read = zeros, .size = 1};
	struct err err = {{0}};
	uint32_t id;

	if (builder_add(builder, &entry, &id, &err) < 0)
		abort();
	if (kind == FORMAT_FILE && builder_store(builder, id, &source, &err) < 0)
		abort();
	return id;
}

static struct dataset *make(void)
{
	char path[] = "/tmp/fuzz_lists.XXXXXX";
	struct builder_params params = {.path = path, .replace = true, .options = ""};
	struct builder_summary summary;
	struct builder *builder;
	struct dataset *dataset;
	struct err err = {{0}};
	int fd = mkstemp(path);

	if (fd < 0 || builder_new(&params, &builder, &err) < 0)
		abort();
	for (unsigned i = 0; i < 2; i++) {
		uint32_t folder = add(builder, FORMAT_DIRECTORY, BUILDER_ROOT, i ? "b" : "a", NULL);

		for (size_t n = 0; n < NAMES; n++)
			add(builder, FORMAT_FILE, folder, names[n], NULL);
		add(builder, FORMAT_SYMLINK, folder, "up.jpg", "../b/1.jpg");
		add(builder, FORMAT_SYMLINK, folder, "out.jpg", "/1.jpg");
	}
	if (builder_finish(builder, &summary, &err) < 0 || dataset_open(path, &dataset, &err) < 0)
		abort();
	builder_free(builder);
	close(fd);
	unlink(path);
	return dataset;
}

static void must_be_a_file(const struct dataset *dataset, uint32_t number)
{
	struct dataset_child child;

	if (number == LISTS_NONE)
		return;
	if (number >= dataset_entries(dataset))
		abort();
	dataset_child(dataset, number, &child);
	if (child.kind != FORMAT_FILE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dataset *dataset;
	struct lists_text text = {0};
	uint32_t file;

	if (!dataset)
		dataset = make();
	if (size == 0)
		return 0;
	file = dataset_entries(dataset) - 1 - data[0] / 2 % NAMES;
	if (lists_text(dataset, file, (const char *)data + 1, size - 1, data[0] & 1, &text) < 0)
		abort();
	for (unsigned i = 0; i < LISTS_TEXT_ORDERS; i++)
		for (size_t n = 0; n < text.orders[i].count; n++)
			must_be_a_file(dataset, text.orders[i].entries[n]);
	lists_text_release(&text);
	return 0;
}
