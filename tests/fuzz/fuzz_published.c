/* An index that a publisher has laid beside a file, with that file: two bytes say how long the file
 * is, then it comes, a tar, then the index. The file opens, by the index or by a scan, or is
 * refused with a sentence; what it shows can be read, or fails. If it opens, it does so again, by
 * what was kept of its index.
 *
 * Without a byte of a file, it is a folder, and the index is the listing that was kept of it. */
#include "base/digest.h"
#include "base/le.h"
#include "base/math.h"
#include "base/members.h"
#include "base/name.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/dataset_open.h"
#include "pack/foreign/foreign.h"
#include "pack/foreign/index_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <stdio.h>
#include <string.h>

#define NAME	    "/proc/x.tar" /* nothing can be written beside it */
#define ENTRIES_MAX 200

/* For indexes, in memory; and what the only one is called. */
static char folder[] = "/dev/shm/fuzz_published.XXXXXX";
static char kept[sizeof(folder) + DIGEST_DIGITS + sizeof(NAME_INDEX)];

struct part {
	const uint8_t *data;
	size_t size;
};

/* [0]: the file; [1]: its index. */
static void divide(const uint8_t *data, size_t size, struct part ret[static 2])
{
	size_t len = size < 2 ? 0 : min(le_get16(data), size - 2);

	ret[0] = (struct part){data + min(size, 2), len};
	ret[1] = (struct part){ret[0].data + len, size - min(size, 2) - len};
}

/* `context`: of both parts. */
static int open_part(void *context, const char *name, unsigned how, struct reader **ret,
		     struct err *err)
{
	const int *fds = context;

	(void)how;
	(void)err;
	return reader_file_open_again(fds[strcmp(name, NAME) != 0], ret);
}

/* --- a folder --------------------------------------------------------------------------------- */

static int list_members(struct members *members, member_found_fn *found, void *arg, struct err *err)
{
	static const struct member all[] = {
		{"a/0.jpg", 9, 1, "tag"}, {"a/none", 0, 1, ""}, {"../x", 9, 1, ""}};
	int r = 0;

	(void)members;
	(void)err;
	for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(*all); i++)
		r = found(arg, &all[i]);
	return r;
}

static int read_member(struct members *members, const struct member *member, struct iovec *iov,
		       int count, uint64_t offset, uint64_t needed)
{
	(void)members;
	(void)iov;
	(void)count;
	must(offset <= member->size && needed <= member->size - offset);
	return -ENOENT;
}

static void free_members(struct members *members)
{
	(void)members;
}

static int open_members(void *context, const char *name, struct members **ret, struct err *err)
{
	static const struct members_ops ops = {
		.list = list_members, .read = read_member, .free = free_members};
	static char place[] = NAME;
	static struct members members = {.ops = &ops, .place = place};
	const struct part *file = context;

	(void)name;
	(void)err;
	*ret = &members;
	return file->size > 0;
}

/* --- what is done ----------------------------------------------------------------------------- */

static void use(struct dataset *dataset)
{
	uint8_t bytes[512];

	for (uint32_t e = 0; e < dataset_entries(dataset) && e < ENTRIES_MAX; e++) {
		const struct dataset_entry entry = dataset_entry(dataset, e);

		if (format_is_file(entry.kind))
			must(dataset_read(dataset, e, bytes, sizeof(bytes), 0) <=
			     (ssize_t)sizeof(bytes));
	}
}

static void remove_folder(void)
{
	unlink(kept);
	rmdir(folder);
}

/* Nothing is kept elsewhere. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char digits[DIGEST_DIGITS + 1];

	(void)argc;
	(void)argv;
	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	must(mkdtemp(folder) && atexit(remove_folder) == 0);
	digest_text(NAME, digits);
	snprintf(kept, sizeof(kept), "%s/%s" NAME_INDEX, folder, digits);
	return 0;
}

static bool opens(const struct foreign_settings *settings)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
	struct dataset *dataset;
	struct err err = {0};

	if (foreign_open(NAME, settings, &dataset, &err) < 0) {
		must(err.text[0]);
		return false;
	}
	use(dataset);
	dataset_close_index(dataset, &readers);
	if (readers.index == readers.data)
		readers.index = NULL;
	else
		(void)index_published_write(readers.index, "/proc/x", 0, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pages pages = PAGES_INIT;
	struct part parts[2];

	divide(data, size, parts);
	SCOPE_CLOSE int file = fuzz_file(parts[0].data, parts[0].size);
	SCOPE_CLOSE int index = fuzz_file(parts[1].data, parts[1].size);
	SCOPE_CLOSE int listing = -1;
	int fds[] = {file, index};
	const struct foreign_settings settings = {.open = open_part,
						  .context = fds,
						  .open_prefix = open_members,
						  .prefix_context = &parts[0],
						  .pages = &pages,
						  .index_folder = folder};

	unlink(kept);
	if (parts[0].size == 0)
		listing = io_put(kept, 0600, &(struct iovec){(void *)parts[1].data, parts[1].size},
				 1);
	must(!opens(&settings) || opens(&settings));
	return 0;
}

/* The index stays as long as it says that it is: all others are refused at once. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	struct part parts[2];
	size_t before, mutated;

	if (seed % 8 == 0 || size < 2)
		return LLVMFuzzerMutate(data, size, room);
	divide(data, size, parts);
	before = size - parts[1].size;
	mutated = LLVMFuzzerMutate(data + before, parts[1].size, room - before);
	if (mutated < parts[1].size)
		memset(data + before + mutated, 0, parts[1].size - mutated);
	repair_index(data + before, parts[1].size);
	return size;
}
