#include "pack/tool/read/listing.h"

#include "base/scope.h"
#include "pack/image_kind.h"
#include "pack/tool/read/summary.h"
#include <inttypes.h>

static const char *text_kind(enum format_kind kind)
{
	switch (kind) {
	case FORMAT_DIRECTORY:
		return "directory";
	case FORMAT_SYMLINK:
		return "symlink";
	case FORMAT_HARDLINK:
		return "hardlink";
	default:
		return "file";
	}
}

static bool is_file(enum format_kind kind)
{
	return format_is_file(kind) || kind == FORMAT_HARDLINK;
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
	r = summary_checksum(dataset, entry, &checksum);
	if (r == 0)
		snprintf(ret->checksum, sizeof(ret->checksum), "%016" PRIx64, checksum);
	return r == -ENODATA ? 0 : r;
}

static int add_link(const struct dataset *dataset, uint32_t number,
		    const struct dataset_entry *entry, struct json *json)
{
	SCOPE(buf_release) struct buf first = BUF_INIT;
	const char *target;
	size_t len;
	int r;

	if (entry->kind == FORMAT_SYMLINK) {
		target = dataset_target(dataset, number, &len);
		json_bytes(json, "target", target, len);
		return 0;
	}
	if (entry->kind != FORMAT_HARDLINK && entry->kind != FORMAT_ALIAS)
		return 0;
	r = dataset_path(dataset, entry->kind == FORMAT_ALIAS ? entry->holder : entry->inode,
			 &first);
	if (r == 0)
		json_bytes(json, entry->kind == FORMAT_ALIAS ? "same_as" : "link_to", first.data,
			   first.len);
	return r;
}

int listing_json(struct dataset *dataset, uint32_t entry, unsigned parts, struct json *json)
{
	const struct dataset_entry here = dataset_entry(dataset, entry);
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct listing_facts facts;
	char mode[8];
	int r = dataset_path(dataset, entry, &path);

	if (r == 0)
		r = listing_facts(dataset, entry, parts, &facts);
	if (r < 0)
		return r;
	json_bytes(json, "path", path.data, path.len);
	json_string(json, "type", text_kind(here.kind));
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
	return add_link(dataset, entry, &here, json);
}
