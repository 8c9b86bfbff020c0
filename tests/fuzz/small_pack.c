#include "tests/fuzz/small_pack.h"
#include "pack/write/builder.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static const struct {
	const char *name;
	uint64_t size;
} files[SMALL_PACK_NAMES] = {
	{"1.jpg", 1},	 {"2.jpg", 1}, {"a b.jpg", 1},	   {"\xc3\xa9.jpg", 1},
	{"\xff.jpg", 1}, {"empty", 0}, {"x", 1500 * 1024},
};

static int zeros(void *context, void *buf, size_t len)
{
	(void)context;
	memset(buf, 0, len);
	return 0;
}

static uint32_t add(struct builder *builder, enum format_kind kind, uint32_t parent,
		    const char *name, const char *target)
{
	struct pack_entry entry = {.kind = kind,
				   .parent = parent,
				   .name = name,
				   .name_len = strlen(name),
				   .mode = 0755,
				   .target = target,
				   .target_len = target ? strlen(target) : 0};
	struct err err = {{0}};
	uint32_t id;

	must(builder_add(builder, &entry, &id, &err) == 0);
	return id;
}

static void add_folder(struct builder *builder, const char *name)
{
	uint32_t folder = add(builder, FORMAT_DIRECTORY, PACK_ROOT, name, NULL);
	struct err err = {{0}};

	for (size_t i = 0; i < SMALL_PACK_NAMES; i++) {
		struct builder_source source = {.read = zeros, .size = files[i].size};
		uint32_t id = add(builder, FORMAT_FILE, folder, files[i].name, NULL);

		must(builder_store(builder, id, &source, &err) == 0);
	}
	add(builder, FORMAT_SYMLINK, folder, "up.jpg", "../b/1.jpg");
	add(builder, FORMAT_SYMLINK, folder, "out.jpg", "/1.jpg");
}

void small_pack_make(char *path)
{
	struct builder_params params = {.path = path, .replace = true, .options = ""};
	struct builder_summary summary;
	struct builder *builder = NULL;
	struct err err = {{0}};
	int fd = mkstemp(path);

	must(fd >= 0 && builder_new(&params, &builder, &err) == 0);
	close(fd);
	add_folder(builder, "a");
	add_folder(builder, "b");
	must(builder_finish(builder, 0, &summary, &err) == 0);
	builder_free(builder);
}
