#include "pack/foreign/record/parquet_footer.h"
#include "base/le.h"
#include "base/scope.h"
#include <stdlib.h>
#include <string.h>

#define MAGIC "PAR1"
#define END   8 /* bytes behind the footer */
#define DEPTH 16u
#define NAME  256

enum { REQUIRED, OPTIONAL, REPEATED };
enum { UTF8 }; /* of the types that they stand for */

static int is_bad(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "its footer is damaged: %s", what);
}

int parquet_footer_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, 4, &head, &len);

	return r < 0 ? r : len == 4 && memcmp(head, MAGIC, 4) == 0;
}

static int read_bytes(struct foreign_source *source, struct buf *ret, struct err *err)
{
	const uint8_t *p;
	uint32_t len;
	int r;

	if (source->size < END + 4)
		return err_set(err, -EBADMSG, "truncated: it has no footer");
	r = foreign_get(source, source->size - END, END, &p, err);
	if (r < 0)
		return r;
	if (memcmp(p + 4, MAGIC, 4) != 0)
		return err_set(err, -EBADMSG, "truncated: it does not end with " MAGIC);
	len = le_get32(p);
	if (len > source->size - END - 4)
		return is_bad(err, "it is longer than the file");
	if (len > FOREIGN_MOST)
		return err_set(err, -EOPNOTSUPP,
			       "its footer is of over 64 MiB: write it with larger row groups");
	r = foreign_get(source, source->size - END - len, len, &p, err);
	return r < 0 ? r : buf_add(ret, p, len);
}

/* --- schema ----------------------------------------------------------------------------------- */

struct element {
	int64_t type, repetition, children, converted;
	struct foreign_text name;
};

static void read_element(struct thrift *t, struct element *ret)
{
	const struct thrift_want wants[] = {{1, &ret->type, NULL},
					    {3, &ret->repetition, NULL},
					    {4, NULL, &ret->name},
					    {5, &ret->children, NULL},
					    {6, &ret->converted, NULL}};

	*ret = (struct element){.type = -1, .converted = -1};
	thrift_read(t, wants, 5);
}

/* Where the walk through the schema is. */
struct level {
	int64_t left; /* children */
	size_t name;  /* bytes of the path */
	unsigned optional;
	bool repeated;
};

static int add_leaf(struct parquet_footer *f, const char *name, const struct level *level,
		    const struct element *e)
{
	struct parquet_leaf leaf = {strdup(name), (enum parquet_type)e->type, level->optional,
				    level->repeated, e->converted == UTF8};
	int r = leaf.name ? buf_add(&f->leaves, &leaf, sizeof(leaf)) : -ENOMEM;

	if (r < 0)
		free(leaf.name);
	return r;
}

static void enter(struct level *level, const struct element *e, unsigned depth,
		  char name[static NAME])
{
	level->name += (size_t)snprintf(name + level->name, NAME - level->name, "%s%.*s",
					depth ? "." : "", (int)e->name.len, e->name.data);
	level->optional += e->repetition != REQUIRED;
	level->repeated |= e->repetition == REPEATED;
	level->left = e->children;
}

static int read_schema(struct thrift *t, uint32_t count, struct parquet_footer *f, struct err *err)
{
	struct level levels[DEPTH] = {0};
	char name[NAME] = "";
	unsigned depth = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct level *parent = &levels[depth], level = *parent;
		struct element e;

		read_element(t, &e);
		if (t->bad)
			return is_bad(err, "the schema");
		if (i == 0) {
			levels[0].left = e.children;
			continue;
		}
		if (parent->left <= 0 || e.name.len + 2 > NAME - parent->name)
			return is_bad(err, "the tree of the schema");
		parent->left--;
		enter(&level, &e, depth, name);
		if (e.children <= 0) {
			int r = add_leaf(f, name, &level, &e);

			if (r < 0)
				return r;
		} else if (++depth == DEPTH) {
			return is_bad(err, "the schema is too deep");
		} else {
			levels[depth] = level;
		}
		while (depth > 0 && levels[depth].left <= 0)
			depth--;
	}
	return 0;
}

/* --- row groups ------------------------------------------------------------------------------- */

static void read_column(struct thrift *t, struct parquet_chunk *ret)
{
	int64_t codec = 0, values = 0, size = 0, data = 0, dictionary = 0;
	const struct thrift_want wants[] = {{4, &codec, NULL},
					    {5, &values, NULL},
					    {7, &size, NULL},
					    {9, &data, NULL},
					    {11, &dictionary, NULL}};

	thrift_read(t, wants, 5);
	*ret = (struct parquet_chunk){
		.codec = (unsigned)codec,
		.values = (uint64_t)values,
		.offset = (uint64_t)(dictionary > 0 && dictionary < data ? dictionary : data),
		.size = (uint64_t)size};
}

static int read_chunk(struct thrift *t, uint64_t size, struct parquet_footer *f, struct err *err)
{
	struct parquet_chunk chunk = {0};
	struct thrift_field field = {0};
	bool elsewhere = false, encrypted = false;

	while (thrift_next(t, &field)) {
		if (field.id == 3 && thrift_struct(t, field.type))
			read_column(t, &chunk);
		else if (field.id == 1)
			elsewhere = thrift_text(t, field.type).len > 0;
		else if (field.id != 3) {
			encrypted |= field.id == 8;
			thrift_skip(t, field.type);
		}
	}
	if (encrypted)
		return err_set(err, -EOPNOTSUPP, "its columns are encrypted: write it without");
	if (elsewhere)
		return err_set(err, -EOPNOTSUPP, "its columns lie in other files");
	if (t->bad || chunk.offset > size || chunk.size > size - chunk.offset)
		return is_bad(err, "a column lies outside of the file");
	if (chunk.size > size - f->all_bytes)
		return is_bad(err, "a column lies in another");
	f->all_bytes += chunk.size;
	return buf_add(&f->chunks, &chunk, sizeof(chunk));
}

static int read_group(struct thrift *t, uint64_t size, struct parquet_footer *f, struct err *err)
{
	struct thrift_field field = {0};
	struct parquet_group group = {0};
	int r = 0;

	while (r == 0 && thrift_next(t, &field)) {
		if (field.id == 1) {
			uint32_t columns = thrift_list(t, field.type, THRIFT_STRUCT);

			for (uint32_t i = 0; r == 0 && i < columns; i++)
				r = read_chunk(t, size, f, err);
			group.chunks += columns;
		} else if (field.id == 3) {
			group.rows = (uint64_t)thrift_int(t, field.type);
		} else {
			thrift_skip(t, field.type);
		}
	}
	if (r < 0)
		return r;
	if (t->bad || group.rows > INT64_MAX)
		return is_bad(err, "a row group");
	return buf_add(&f->groups, &group, sizeof(group));
}

static void read_note(struct thrift *t, struct parquet_footer *f)
{
	struct foreign_text key = {0}, value = {0};
	const struct thrift_want wants[] = {{1, NULL, &key}, {2, NULL, &value}};

	thrift_read(t, wants, 2);
	if (foreign_text_is(key, "huggingface"))
		f->huggingface = value;
}

static int read_footer(struct thrift *t, uint64_t size, struct parquet_footer *f, struct err *err)
{
	struct thrift_field field = {0};
	int r = 0;

	while (r == 0 && thrift_next(t, &field)) {
		uint32_t n = 0;

		if (field.id == 2 || field.id == 4 || field.id == 5)
			n = thrift_list(t, field.type, THRIFT_STRUCT);
		else
			thrift_skip(t, field.type);
		if (field.id == 2)
			r = read_schema(t, n, f, err);
		for (uint32_t i = 0; field.id == 4 && r == 0 && i < n; i++)
			r = read_group(t, size, f, err);
		for (uint32_t i = 0; field.id == 5 && i < n; i++)
			read_note(t, f);
	}
	return r == 0 && t->bad ? is_bad(err, "it is cut off") : r;
}

/* Once all of it is read: fields come in any order, and some more than once. */
static int check_groups(const struct parquet_footer *f, struct err *err)
{
	const struct parquet_group *groups = BUF_ITEMS(&f->groups, const struct parquet_group);

	for (size_t i = 0; i < BUF_COUNT(&f->groups, *groups); i++)
		if (groups[i].chunks != parquet_leaf_count(f))
			return is_bad(err, "a row group has more or fewer columns than the schema");
	return 0;
}

int parquet_footer_read(struct foreign_source *source, struct parquet_footer *ret, struct err *err)
{
	int r = read_bytes(source, &ret->bytes, err);
	struct thrift t;

	if (r < 0)
		return r;
	if (ret->bytes.len == 0)
		return is_bad(err, "it is empty");
	t = (struct thrift){(const uint8_t *)ret->bytes.data,
			    (const uint8_t *)ret->bytes.data + ret->bytes.len, false};
	r = read_footer(&t, source->size, ret, err);
	return r < 0 ? r : check_groups(ret, err);
}

void parquet_footer_release(struct parquet_footer *f)
{
	for (unsigned i = 0; i < parquet_leaf_count(f); i++)
		free(parquet_leaves(f)[i].name);
	buf_release(&f->leaves);
	buf_release(&f->groups);
	buf_release(&f->chunks);
	buf_release(&f->bytes);
}
