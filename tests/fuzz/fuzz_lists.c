/* Reads whatever bytes it is given as a list of files, as lines or as JSON by their first byte, in
 * a small pack. What comes out must be files of the pack. */
#include "lists/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_pack.h"

static struct dataset *make(void)
{
	char path[] = "/tmp/fuzz_lists.XXXXXX";
	struct dataset *dataset;
	struct err err = {{0}};

	small_pack_make(path);
	must(dataset_open(path, &dataset, &err) == 0);
	unlink(path);
	return dataset;
}

static int look(void *context, const char *what, struct lists_files *files)
{
	struct dataset *dataset = context;

	must(what);
	for (size_t i = 0; i < files->count; i++) {
		if (files->entries[i] == LISTS_NONE)
			continue;
		must(files->entries[i] < dataset_entries(dataset));
		must(dataset_child(dataset, files->entries[i]).kind == FORMAT_FILE);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dataset *dataset;
	uint32_t file;

	if (!dataset)
		dataset = make();
	if (size == 0)
		return 0;
	file = dataset_entries(dataset) - 1 - data[0] / 2 % SMALL_PACK_NAMES;
	must(lists_text(dataset, file, (const char *)data + 1, size - 1, data[0] & 1, look,
			dataset) == 0);
	return 0;
}
