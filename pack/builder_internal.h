/* What builder.c (entries and bytes) and builder_index.c, builder_finish.c (the index of
 * them, and the finished file) share. */
#ifndef PACK_BUILDER_INTERNAL_H
#define PACK_BUILDER_INTERNAL_H

#include "pack/builder.h"
#include "pack/index.h"
#include "pack/store.h"

enum node_state { NODE_EMPTY, NODE_DONE, NODE_DROPPED }; /* EMPTY: a file without its bytes */

struct builder_node {
	uint64_t name;	/* offset in names */
	uint64_t start; /* file: its first row in sums; symlink: offset in targets;
			   hard link: the id of its file */
	uint64_t size;	/* bytes */
	int64_t mtime;	/* nanoseconds since 1970 */
	uint32_t parent;
	uint32_t width, height; /* pixels */
	uint16_t mode;
	uint8_t name_len;
	uint8_t kind;  /* enum format_kind */
	uint8_t state; /* enum node_state */
	uint8_t image; /* enum format_image */
};

struct builder {
	char *path, *partial, *options;
	bool replace;
	bool finished; /* the pack has its name: nothing to unlink */
	int fd;	       /* of the partial file, locked */
	struct store *store;
	struct buf nodes;   /* struct builder_node, by id */
	struct buf names;   /* of the nodes, one behind the other */
	struct buf targets; /* of symbolic links */
	struct buf sums;    /* uint64_t, in the order of storing */
};

static inline struct builder_node *builder_node(const struct builder *builder, uint32_t id)
{
	return (struct builder_node *)(void *)builder->nodes.data + id;
}

static inline uint32_t builder_count(const struct builder *builder)
{
	return (uint32_t)(builder->nodes.len / sizeof(struct builder_node));
}

/* Sets path to the entry's path, NUL-ended. */
int builder_path(const struct builder *builder, uint32_t id, struct buf *path);

/* Makes the index of all entries; file offsets and parts stay zero until the records are
 * written and index_locate() finds them. Fills the counts and the id in super.
 * Returns 0, -ENOMEM, -EINVAL (a file without bytes) or -EEXIST (two entries of one name). */
int builder_make_index(const struct builder *builder, struct index *index,
		       struct format_super *super, struct err *err);

#endif
