/* Reads whatever bytes it is given as a tar. Nothing that a tar says may do more than give an
 * error, and what is told must keep what pack/tool/import/tar.h promises of paths and folders. */
#include "base/scope.h"
#include "pack/tool/import/tar.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <stdio.h>
#include <string.h>

#define RECORD	    512
#define ENTRIES_MAX 2000
#define READ_MAX    100000

static void must_be_clean(const char *path)
{
	must(strlen(path) <= TAR_PATH_MAX);
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		must(len > 0 && len <= 255 && path[len + (path[len] == '/')] != '/');
		must(!(len == 1 && path[0] == '.') && !(len == 2 && memcmp(path, "..", 2) == 0));
		must(path[len] == '\0' || path[len + 1] != '\0');
	}
}

static int use(struct tar *tar, const struct tar_entry *entry)
{
	static char data[READ_MAX];
	struct err err = {{0}};
	uint64_t len = entry->size < READ_MAX ? entry->size : READ_MAX;

	must(entry->holes <= entry->size && (entry->mode & ~07777u) == 0);
	if (entry->kind == TAR_SPECIAL || entry->kind == TAR_UNFIT)
		return 0;
	must_be_clean(entry->path);
	must(entry->kind == TAR_DIRECTORY || entry->kind == TAR_FILE || *entry->target);
	if (entry->kind == TAR_HARDLINK)
		must_be_clean(entry->target);
	if (entry->kind != TAR_FILE)
		return 0;
	/* In two pieces. */
	if (tar_read(tar, data, len / 3, &err) < 0)
		return -EBADMSG;
	return tar_read(tar, data, len - len / 3, &err);
}

/* Looked at, and then read from its beginning; a zip cannot be looked at. */
static int begin(int fd, bool zip, struct tar **ret, struct err *err)
{
	struct tar_entry entry;
	int r = tar_new(fd, zip ? TAR_ZIP : TAR_LOOK, ret, err);

	if (r < 0 || zip)
		return r;
	(void)tar_next(*ret, &entry, &(struct err){0});
	r = tar_restart(*ret, true, err);
	if (r < 0)
		tar_free(*ret);
	return r;
}

static void read_all(int fd, bool zip)
{
	struct tar_entry entry;
	struct err err = {{0}};
	struct tar *tar;
	int r = begin(fd, zip, &tar, &err);

	if (r < 0) {
		must(err.text[0]);
		return;
	}
	for (unsigned i = 0; r == 0 && i < ENTRIES_MAX; i++) {
		r = tar_next(tar, &entry, &err);
		if (r == 0)
			r = use(tar, &entry);
		else
			must(tar_next(tar, &entry, &err) == r);
	}
	(void)tar_position(tar);
	tar_free(tar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = fuzz_file(data, size);

	read_all(fd, size > 2 && memcmp(data, "PK", 2) == 0);
	return 0;
}

static void make_header(uint8_t *block, unsigned seed)
{
	static const char types[] = "0125xgLKSVMDN36", *const names[] = {"a", "d/b", "d/t.tar",
									 "./", "t.tar/x"};

	memset(block, 0, RECORD);
	snprintf((char *)block, 100, "%s", names[seed % 5]);
	snprintf((char *)block + 100, 8, "0000644");
	snprintf((char *)block + 124, 12, "%011o", seed / 5 % 4 * 300);
	snprintf((char *)block + 136, 12, "%011o", seed);
	block[156] = (uint8_t)types[seed / 20 % (sizeof(types) - 1)];
	snprintf((char *)block + 157, 100, "%s", names[seed % 3]);
	memcpy(block + 257,
	       seed % 2 ? "ustar\0"
			  "00"
			: "ustar  \0",
	       8);
}

/* One time in four a header comes in between. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size_t at = seed / 4 % (size / RECORD + 1) * RECORD;

	if (seed % 4 == 0 && size + RECORD <= room) {
		memmove(data + at + RECORD, data + at, size - at);
		make_header(data + at, seed / 16);
		size += RECORD;
	} else {
		size = LLVMFuzzerMutate(data, size, room);
	}
	if (seed / 4 % 8)
		repair_tar(data, size);
	return size;
}
