#include "pack/tool/read/listing.h"

#include "base/le.h"
#include "base/log.h"
#include "base/scope.h"
#include "pack/image_kind.h"
#include "pack/tool/cli/cmd.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

static bool is_file(enum format_kind kind)
{
	return format_is_file(kind) || kind == FORMAT_HARDLINK;
}

/* With at most one extent: the XXH3-64 of its bytes. With more: the XXH3-64 of the checksums of its
 * extents, 8 bytes each, little-endian. 0, or what loading the checksums returned. */
static int file_checksum(struct dataset *dataset, uint32_t entry, uint64_t *ret)
{
	SCOPE(buf_release) struct buf checksums = BUF_INIT;
	const struct dataset_entry file = dataset_entry(dataset, entry);
	uint64_t first, count, checksum = XXH3_64bits("", 0);
	int r;

	first = dataset_first_extent(dataset, file.inode);
	count = format_extents(file.size);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t bytes[8];

		r = dataset_checksum(dataset, first + i, &checksum);
		le_put64(bytes, checksum);
		if (r == 0 && count > 1)
			r = buf_add(&checksums, bytes, sizeof(bytes));
		if (r < 0)
			return r;
	}
	*ret = count > 1 ? XXH3_64bits(checksums.data, checksums.len) : checksum;
	return 0;
}

int listing_facts(struct dataset *dataset, uint32_t entry, unsigned parts,
		  struct listing_facts *ret)
{
	const struct dataset_entry here = dataset_entry(dataset, entry);
	uint64_t checksum;
	int r = 0;

	*ret = (struct listing_facts){.checksum = "-"};
	if (parts & DATASET_ATTRS)
		r = dataset_attr(dataset, entry, &ret->attr);
	if (r < 0 || !is_file(here.kind))
		return r;
	if (parts & DATASET_IMAGES)
		r = dataset_image(dataset, here.inode, &ret->image);
	if (r < 0 || !(parts & DATASET_CHECKSUMS))
		return r;
	r = file_checksum(dataset, entry, &checksum);
	if (r == 0)
		snprintf(ret->checksum, sizeof(ret->checksum), "%016" PRIx64, checksum);
	return r == -ENODATA ? 0 : r;
}

int listing_json(struct dataset *dataset, uint32_t entry, unsigned parts, struct json *json)
{
	const struct dataset_entry here = dataset_entry(dataset, entry);
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT;
	bool alias = here.kind == FORMAT_ALIAS;
	struct listing_facts facts;
	const char *target;
	size_t len;
	char mode[8];
	int r = dataset_path(dataset, entry, &path);

	if (r == 0)
		r = listing_facts(dataset, entry, parts, &facts);
	if (r < 0)
		return r;
	json_bytes(json, "path", path.data, path.len);
	json_string(json, "type",
		    here.kind == FORMAT_DIRECTORY  ? "directory"
		    : here.kind == FORMAT_SYMLINK  ? "symlink"
		    : here.kind == FORMAT_HARDLINK ? "hardlink"
						   : "file");
	json_u64(json, "size", here.kind == FORMAT_DIRECTORY ? 0 : here.size);
	if (parts & DATASET_ATTRS) {
		snprintf(mode, sizeof(mode), "%04o", facts.attr.mode & 07777);
		json_string(json, "mode", mode);
		json_i64(json, "mtime", facts.attr.mtime.tv_sec);
		json_u64(json, "mtime_nsec", (uint64_t)facts.attr.mtime.tv_nsec);
	}
	if (parts & DATASET_IMAGES) {
		json_u64(json, "width", facts.image.width);
		json_u64(json, "height", facts.image.height);
		json_string(json, "kind", image_kind_name(facts.image.kind));
	}
	if (parts & DATASET_CHECKSUMS && is_file(here.kind))
		json_string(json, "checksum", facts.checksum);
	if (here.kind == FORMAT_SYMLINK) {
		target = dataset_target(dataset, entry, &len);
		json_bytes(json, "target", target, len);
	} else if (here.kind == FORMAT_HARDLINK || alias) {
		r = dataset_path(dataset, alias ? here.holder : here.inode, &first);
		if (r == 0)
			json_bytes(json, alias ? "same_as" : "link_to", first.data, first.len);
	}
	return r;
}

/* --- part of the tree ------------------------------------------------------------------------ */

void subtree_release(struct subtree *subtree)
{
	free(subtree->marks);
	subtree->marks = NULL;
}

int subtree_new(const char *pack, const struct dataset *dataset, char **paths, struct subtree *ret)
{
	SCOPE_FREE uint8_t *marks = NULL;
	uint32_t entry;
	int r;

	if (!*paths) {
		*ret = (struct subtree){0};
		return EXIT_DONE;
	}
	marks = calloc(dataset_entries(dataset), 1);
	if (!marks)
		return log_fail(EXIT_FAILED, "%s: %s", pack, strerror(ENOMEM));
	for (; *paths; paths++) {
		r = cmd_find(pack, dataset, *paths, &entry);
		if (r != EXIT_DONE)
			return r;
		marks[entry] = SUBTREE_INSIDE;
		while (entry != DATASET_ROOT) {
			entry = dataset_entry(dataset, entry).parent;
			if (marks[entry] == SUBTREE_OUTSIDE)
				marks[entry] = SUBTREE_ABOVE;
		}
	}
	/* A directory comes before its children, so one pass reaches everything below. */
	for (entry = 1; entry < dataset_entries(dataset); entry++)
		if (marks[dataset_entry(dataset, entry).parent] == SUBTREE_INSIDE)
			marks[entry] = SUBTREE_INSIDE;
	ret->marks = steal_ptr(&marks);
	return EXIT_DONE;
}
