#include "pack/walker_internal.h"

#include "base/bytes.h"
#include "base/le.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC	      0xBEEFC0DEu
#define MAGIC_SWAPPED 0xDEC0EFBEu
#define NO_PAGE	      UINT64_MAX /* the root of an empty database */
#define FIRST_PAGE    2		 /* after the two meta pages */
/* Keeps every offset within off_t for every page size. */
#define LAST_PAGE_MAX (((uint64_t)1 << 47) - 1)

#define PAGE_HEADER    16
#define NODE_HEADER    8
#define META_BYTES     152 /* with the page header */
#define META_MAGIC     16
#define META_PAGE_SIZE 40
#define META_MAIN_DB   88
/* Each of these flags changes the order of keys or the layout of nodes: duplicates, integer or
 * reversed keys. liblmdb uses the top bit to mark open handles. */
#define DB_FLAGS 0x7fff
/* The least that a record takes in a leaf: a pointer, a node, one byte of key and one of padding.
 */
#define RECORD_MIN (2 + NODE_HEADER + 2)

/* Page types. The flags above them are internal to the writer. */
enum { PAGE_BRANCH = 0x01, PAGE_LEAF = 0x02, PAGE_OVERFLOW = 0x04, PAGE_META = 0x08 };
#define PAGE_TYPE 0x6f

enum { NODE_BIGDATA = 0x01, NODE_SUBDATA = 0x02, NODE_DUPDATA = 0x04 };

#define DAMAGED(err, page, text, ...) \
	err_set(err, -EBADMSG, "page %" PRIu64 ": " text, page, ##__VA_ARGS__)

struct meta {
	struct walker_info info;
	unsigned flags; /* of the main database */
};

struct node {
	uint64_t page;
	unsigned index; /* in the page */
	uint16_t flags;
	uint32_t size; /* of a leaf's value; a branch: the lower half of its child */
	const uint8_t *key;
	size_t key_len;
	size_t data; /* where the data begins in the page, right after the key */
};

/* --- meta pages ---------------------------------------------------------------------------- */

/* Reads one meta page, and checks the fields that tell what file this is. These have the same place
 * in all versions. */
static int meta_read(struct reader *reader, uint64_t number, uint64_t offset,
		     uint8_t meta[META_BYTES], struct err *err)
{
	ssize_t len;

	memset(meta, 0, META_BYTES);
	len = reader_get(reader, meta, META_BYTES, offset);
	if (len < 0)
		return err_set(err, (int)len, "page %" PRIu64 ": %s", number, strerror((int)-len));
	if (le_get32(meta + META_MAGIC) == MAGIC_SWAPPED || le_get32(meta + 12) == MAGIC)
		return err_set(err, -EPROTONOSUPPORT,
			       "an LMDB file of a machine of another byte order or word size");
	if (le_get32(meta + META_MAGIC) != MAGIC)
		return err_set(err, -EINVAL, "not an LMDB file");
	if (len < META_BYTES)
		return err_set(err, -EBADMSG, "truncated: %zd bytes, 8192 expected", len);
	if (le_get32(meta + 20) != 1)
		return err_set(err, -EPROTONOSUPPORT, "LMDB data format %u, only 1 is supported",
			       le_get32(meta + 20));
	return 0;
}

static int truncated_pack(uint64_t bytes, uint64_t expected, struct err *err)
{
	return err_set(err, -EBADMSG, "truncated: %" PRIu64 " bytes, %" PRIu64 " expected", bytes,
		       expected);
}

/* Checks the rest of a meta page after meta_read(). Its page size was checked before. The walk does
 * not need the counts, but callers allocate memory by them. */
static int meta_decode(uint64_t number, const uint8_t meta[META_BYTES], struct meta *ret,
		       struct err *err)
{
	const uint8_t *db = meta + META_MAIN_DB;
	const struct walker_info info = {
		.page_size = le_get32(meta + META_PAGE_SIZE),
		.depth = le_get16(db + 6),
		.txnid = le_get64(meta + 144),
		.root = le_get64(db + 40),
		.last_page = le_get64(meta + 136),
		.branch_pages = le_get64(db + 8),
		.leaf_pages = le_get64(db + 16),
		.overflow_pages = le_get64(db + 24),
		.entries = le_get64(db + 32),
	};

	if (le_get64(meta) != number)
		return DAMAGED(err, number, "says it is page %" PRIu64, le_get64(meta));
	if ((le_get16(meta + 10) & PAGE_TYPE) != PAGE_META)
		return DAMAGED(err, number, "flags 0x%x, a meta page expected",
			       le_get16(meta + 10));
	if (info.last_page < 1 || info.last_page > LAST_PAGE_MAX)
		return DAMAGED(err, number, "last page %" PRIu64, info.last_page);
	if (info.root == NO_PAGE) {
		if (info.depth != 0 || info.entries != 0)
			return DAMAGED(err, number, "depth %u and %" PRIu64 " entries without root",
				       info.depth, info.entries);
	} else {
		if (info.root < FIRST_PAGE || info.root > info.last_page)
			return DAMAGED(err, number,
				       "root %" PRIu64 " not within 2 to last page %" PRIu64,
				       info.root, info.last_page);
		if (info.depth < 1 || info.depth > WALKER_DEPTH_MAX)
			return DAMAGED(err, number, "depth %u not within 1 to %u", info.depth,
				       WALKER_DEPTH_MAX);
	}
	if (info.branch_pages > info.last_page || info.leaf_pages > info.last_page ||
	    info.overflow_pages > info.last_page)
		return DAMAGED(err, number, "more pages in the database than in the file");
	if (info.entries > info.leaf_pages * ((info.page_size - PAGE_HEADER) / RECORD_MIN))
		return DAMAGED(err, number, "%" PRIu64 " entries in %" PRIu64 " leaf pages",
			       info.entries, info.leaf_pages);
	*ret = (struct meta){.info = info, .flags = le_get16(db + 4)};
	return 0;
}

static int meta_load_second(struct reader *reader, uint32_t page_size, struct meta *ret,
			    struct err *err)
{
	uint8_t meta[META_BYTES];
	int r = meta_read(reader, 1, page_size, meta, err);

	if (r == -EINVAL || r == -EPROTONOSUPPORT)
		return DAMAGED(err, (uint64_t)1, "not a meta page like page 0");
	if (r < 0)
		return r;
	if (le_get32(meta + META_PAGE_SIZE) != page_size)
		return DAMAGED(err, (uint64_t)1, "page size %u, that of page 0 is %u",
			       le_get32(meta + META_PAGE_SIZE), page_size);
	return meta_decode(1, meta, ret, err);
}

/* An interrupted commit leaves one bad meta page, and the other still describes a whole snapshot:
 * the newest valid one counts. But transaction 0 is the empty state before the first commit.
 * Falling back to it would show damage as an empty database. */
static int meta_load(struct reader *reader, uint64_t bytes, struct meta *ret, struct err *err)
{
	uint8_t meta[META_BYTES];
	struct meta first, second;
	struct err second_err;
	uint32_t page_size;
	int r, s;

	r = meta_read(reader, 0, 0, meta, err);
	if (r < 0)
		return r;
	/* Only the page size is taken from page 0 before page 1 has been read. */
	page_size = le_get32(meta + META_PAGE_SIZE);
	if (page_size < 4096 || page_size > 65536 || (page_size & (page_size - 1)) != 0)
		return DAMAGED(err, (uint64_t)0, "page size %u", page_size);
	if (bytes < 2 * (uint64_t)page_size)
		return truncated_pack(bytes, 2 * (uint64_t)page_size, err);
	s = meta_load_second(reader, page_size, &second, &second_err);
	r = meta_decode(0, meta, &first, err);
	if (r < 0 && (s < 0 || second.info.txnid == 0))
		return r;
	if (s < 0 && (s != -EBADMSG || first.info.txnid == 0))
		return err_set(err, s, "%s", second_err.text);
	*ret = r < 0 || (s == 0 && second.info.txnid > first.info.txnid) ? second : first;
	return 0;
}

int walker_new(struct reader *reader, struct walker **ret, struct err *err)
{
	struct reader_identity file;
	struct meta meta = {0};
	struct walker *walker;
	size_t page_size;
	int r;

	reader = reader_origin(reader);
	r = reader_identity(reader, &file);
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	r = meta_load(reader, file.size, &meta, err);
	if (r < 0)
		return r;
	page_size = meta.info.page_size;
	if (meta.flags & DB_FLAGS)
		return err_set(err, -EPROTONOSUPPORT,
			       "database flags 0x%x, only plain keys with one value each are read",
			       meta.flags);
	walker = calloc(1, sizeof(*walker) + (meta.info.depth + 2u) * page_size);
	if (!walker)
		return err_set(err, -ENOMEM, "out of memory");
	walker->reader = reader;
	walker->info = meta.info;
	walker->bytes = file.size;
	walker->key = walker->memory;
	for (unsigned i = 0; i < meta.info.depth; i++)
		walker->levels[i].page = walker->memory + (i + 1) * page_size;
	walker->scout.page = walker->memory + (meta.info.depth + 1u) * page_size;
	*ret = walker;
	return 0;
}

void walker_free(struct walker *walker)
{
	free(walker);
}

const struct walker_info *walker_info(const struct walker *walker)
{
	return &walker->info;
}

/* Pages [0, end) are in the file, or it is truncated. */
static int end_check(const struct walker *walker, uint64_t end, struct err *err)
{
	const struct walker_info *info = &walker->info;

	if (end <= walker->bytes / info->page_size)
		return 0;
	return truncated_pack(walker->bytes, (info->last_page + 1) * info->page_size, err);
}

int walker_check_end(const struct walker *walker, struct err *err)
{
	return end_check(walker, walker->info.last_page + 1, err);
}

/* --- pages and nodes ----------------------------------------------------------------------- */

static bool is_leaf(const struct walker *walker, const struct tree_level *level)
{
	return level == &walker->levels[walker->info.depth - 1];
}

/* Far objects do not change, so a page that was just read is not asked for again. Finding out which
 * format an LMDB has begins many walks. */
int walker_load(const struct walker *walker, struct tree_level *level, uint64_t number,
		struct err *err)
{
	unsigned flags, lower, upper, want = is_leaf(walker, level) ? PAGE_LEAF : PAGE_BRANCH;
	int r;

	level->next = 0;
	if (level->loaded && level->number == number && reader_hints(walker->reader).remote)
		return 0;
	level->loaded = false;
	r = reader_get_full(walker->reader, level->page, walker->info.page_size,
			    number * walker->info.page_size);
	if (r == -ENODATA)
		return DAMAGED(err, number, "the file ends before its end");
	if (r < 0)
		return err_set(err, r, "page %" PRIu64 ": %s", number, strerror(-r));
	if (le_get64(level->page) != number)
		return DAMAGED(err, number, "says it is page %" PRIu64, le_get64(level->page));
	flags = le_get16(level->page + 10);
	lower = le_get16(level->page + 12);
	upper = le_get16(level->page + 14);
	if ((flags & PAGE_TYPE) != want)
		return DAMAGED(err, number, "flags 0x%x, a %s page expected", flags,
			       want == PAGE_LEAF ? "leaf" : "branch");
	if (lower > upper)
		return DAMAGED(err, number, "lower %u beyond upper %u", lower, upper);
	if (upper > walker->info.page_size)
		return DAMAGED(err, number, "upper %u beyond the page", upper);
	if (lower < PAGE_HEADER + 2 || lower % 2 != 0)
		return DAMAGED(err, number, "lower %u", lower);
	level->number = number;
	level->count = (lower - PAGE_HEADER) / 2;
	level->loaded = true;
	return 0;
}

static uint64_t overflow_pages(const struct walker *walker, uint64_t size)
{
	return (PAGE_HEADER - 1 + size) / walker->info.page_size + 1;
}

/* Node `i` of a page, i < count: its header and key lie within the page. */
static int node_get(const struct walker *walker, const struct tree_level *level, unsigned i,
		    struct node *ret, struct err *err)
{
	size_t at = le_get16(level->page + PAGE_HEADER + 2 * i), key_len;
	const uint8_t *header = level->page + at;

	if (at < le_get16(level->page + 14) || at + NODE_HEADER > walker->info.page_size || at % 2)
		return DAMAGED(err, level->number, "node %u: offset %zu", i, at);
	key_len = le_get16(header + 6);
	if (at + NODE_HEADER + key_len > walker->info.page_size)
		return DAMAGED(err, level->number, "node %u: key of %zu bytes runs out of the page",
			       i, key_len);
	*ret = (struct node){
		.page = level->number,
		.index = i,
		.flags = le_get16(header + 4),
		.size = le_get32(header),
		.key = header + NODE_HEADER,
		.key_len = key_len,
		.data = at + NODE_HEADER + key_len,
	};
	return 0;
}

static int reference_check(const struct walker *walker, const struct node *node, const char *what,
			   uint64_t number, struct err *err)
{
	if (number < FIRST_PAGE || number > walker->info.last_page)
		return DAMAGED(err, node->page,
			       "node %u: %s %" PRIu64 " not within 2 to last page %" PRIu64,
			       node->index, what, number, walker->info.last_page);
	return end_check(walker, number + 1, err);
}

int walker_child(const struct walker *walker, const struct tree_level *level, unsigned i,
		 uint64_t *ret, struct err *err)
{
	struct node node;
	uint64_t child;
	int r = node_get(walker, level, i, &node, err);

	if (r < 0)
		return r;
	child = node.size | (uint64_t)node.flags << 32;
	r = reference_check(walker, &node, "child", child, err);
	if (r == 0)
		*ret = child;
	return r;
}

/* Finds where the pages of a big value begin. It does not read them: that would be one more read
 * for each record. All values of a walk have no more pages than the file, so that a small file does
 * not stand for a large one. */
static int big_value(struct walker *walker, const struct node *node, uint64_t *ret, struct err *err)
{
	uint64_t first, pages = overflow_pages(walker, node->size);
	int r;

	if (node->data + sizeof(first) > walker->info.page_size)
		return DAMAGED(err, node->page, "node %u runs out of the page", node->index);
	first = le_get64(node->key + node->key_len);
	r = reference_check(walker, node, "overflow page", first, err);
	if (r < 0)
		return r;
	if (pages > walker->info.last_page - first + 1)
		return DAMAGED(err, node->page,
			       "node %u: %u bytes from page %" PRIu64
			       " run beyond last page %" PRIu64,
			       node->index, node->size, first, walker->info.last_page);
	r = end_check(walker, first + pages, err);
	if (r < 0)
		return r;
	walker->big += pages;
	if (walker->big > walker->info.last_page)
		return DAMAGED(err, node->page, "node %u: its value has pages of others",
			       node->index);
	*ret = first * walker->info.page_size + PAGE_HEADER;
	return 0;
}

int walker_take(struct walker *walker, struct tree_level *leaf, struct walker_record *ret,
		struct err *err)
{
	struct node node;
	uint64_t offset = 0;
	int r = node_get(walker, leaf, leaf->next, &node, err);

	if (r < 0)
		return r;
	walker->info.named = node.flags == NODE_SUBDATA;
	if (node.flags & NODE_SUBDATA)
		return DAMAGED(err, node.page, "node %u is a sub-database", node.index);
	if (node.flags & NODE_DUPDATA)
		return DAMAGED(err, node.page, "node %u has several values", node.index);
	if (node.flags & ~NODE_BIGDATA)
		return DAMAGED(err, node.page, "node %u: flags 0x%x", node.index, node.flags);
	if (node.flags & NODE_BIGDATA) {
		r = big_value(walker, &node, &offset, err);
		if (r < 0)
			return r;
	} else if (node.data + node.size > walker->info.page_size) {
		return DAMAGED(err, node.page, "node %u: value of %u bytes runs out of the page",
			       node.index, node.size);
	} else {
		offset = node.page * walker->info.page_size + node.data;
	}
	if (bytes_compare(node.key, node.key_len, walker->key, walker->key_len) <= 0)
		return DAMAGED(err, leaf->number, "node %u: key not in order", leaf->next);
	memcpy(walker->key, node.key, node.key_len);
	walker->key_len = node.key_len;
	walker->seen++;
	leaf->next++;
	*ret = (struct walker_record){.key = walker->key,
				      .key_len = node.key_len,
				      .offset = offset,
				      .size = node.size,
				      .value = node.flags & NODE_BIGDATA ? NULL
									 : leaf->page + node.data};
	return 0;
}

int walker_aim(const struct walker *walker, struct tree_level *level, const void *key,
	       size_t key_len, struct err *err)
{
	unsigned leaf = is_leaf(walker, level), i = leaf ? 0 : 1;
	struct node node;

	for (; i < level->count; i++) {
		int r = node_get(walker, level, i, &node, err);

		if (r < 0)
			return r;
		if (bytes_compare(node.key, node.key_len, key, key_len) > (leaf ? -1 : 0))
			break;
	}
	level->next = leaf ? i : i - 1;
	return 0;
}
