#include "fs/order.h"
#include "base/io.h"
#include "base/lines.h"
#include "base/scope.h"
#include <string.h>

#define SHOWN_MAX 200	/* bytes of a path shown in a message */
#define LINE_MAX  16384 /* longer than any sensible path */

struct order {		  /* all zero: empty */
	struct buf files; /* uint32_t each: first extents */
	struct buf line;  /* what has come of it so far */
	uint64_t lines;
};

static void order_release(struct order *order)
{
	buf_release(&order->files);
	buf_release(&order->line);
	*order = (struct order){0};
}

static uint32_t order_count(const struct order *order)
{
	return (uint32_t)BUF_COUNT(&order->files, uint32_t);
}

static int order_give(const struct order *order, struct cache *cache)
{
	return cache_order(cache, (const uint32_t *)order->files.data, order_count(order));
}

static int order_add(struct order *order, const struct tree *tree, const char *path, size_t len)
{
	struct dataset_entry e;
	uint64_t extent;
	uint32_t entry;
	int r;

	if (len > LINE_MAX || memchr(path, '\0', len))
		return -EINVAL;
	r = tree_find(tree, path, len, &entry);
	if (r < 0)
		return r;
	e = dataset_entry(tree->dataset, entry);
	if (tree_type(e.kind) != S_IFREG)
		return tree_type(e.kind) == S_IFDIR ? -EISDIR : -ELOOP;
	if (e.size == 0)
		return 0;
	extent = dataset_first_extent(tree->dataset, entry);
	if (order_count(order) == UINT32_MAX || extent > UINT32_MAX)
		return -EFBIG;
	return buf_add(&order->files, &(uint32_t){(uint32_t)extent}, sizeof(uint32_t));
}

static int order_end_line(struct order *order, const struct tree *tree, struct err *err)
{
	const char *path = order->line.data, *why = NULL;
	size_t len = order->line.len;
	unsigned long long line = order->lines + 1;
	int r = 0;

	if (lines_item(&path, &len, order->lines++ == 0))
		r = order_add(order, tree, path, len);
	switch (r) {
	case 0:
		order->line.len = 0;
		return 0;
	case -ENOMEM:
	case -EFBIG:
		return r;
	case -EINVAL:
		return err_set(err, r, "line %llu: no path", line);
	case -EISDIR:
		why = "is a folder";
		break;
	case -ELOOP:
		why = "is a symbolic link; name the file that it leads to";
		break;
	default:
		why = "is not in the pack; paths begin below the root of the mount";
	}
	return err_set(err, r, "line %llu: '%.*s' %s", line,
		       (int)(order->line.len < SHOWN_MAX ? order->line.len : SHOWN_MAX),
		       order->line.data, why);
}

/* Reads more of the text. `last`: this is its end, and its last line need not have a newline.
 * Returns 0, -EFBIG (too many files), -ENOMEM, or -errno with a sentence that names the line. */
static int order_read(struct order *order, const struct tree *tree, const char *text, size_t len,
		      bool last, struct err *err)
{
	const char *end = text + len, *newline;
	int r = 0;

	for (; r == 0 && text < end; text = newline + 1) {
		newline = memchr(text, '\n', (size_t)(end - text));
		r = buf_add(&order->line, text, (size_t)((newline ? newline : end) - text));
		if (r == 0 && (newline || order->line.len > LINE_MAX))
			r = order_end_line(order, tree, err);
		if (!newline)
			break;
	}
	return r == 0 && last && order->line.len ? order_end_line(order, tree, err) : r;
}

/* --- from a file ----------------------------------------------------------------------------- */

#define AT_ONCE (64 * KIB)

int order_load(const struct tree *tree, struct cache *cache, const char *file, struct err *err)
{
	SCOPE(order_release) struct order order = {0};
	struct err why = {0};
	SCOPE_CLOSE int fd = io_open_given(file, &why);
	SCOPE_FREE char *text = malloc(AT_ONCE);
	ssize_t len = 1;
	int r = fd < 0 ? fd : text ? 0 : -ENOMEM;

	while (r == 0 && len > 0) {
		len = io_read(fd, text, AT_ONCE);
		r = len < 0 ? (int)len
			    : order_read(&order, tree, text, (size_t)len, len == 0, &why);
	}
	if (r == 0 && order_count(&order) == 0)
		r = err_set(&why, -EINVAL, "no paths in it; '--order' takes one a line");
	if (r == 0)
		r = order_give(&order, cache);
	return r < 0 ? err_set(err, r, "%s: %s", file, err_text(&why, r)) : 0;
}

/* --- from foldstat --------------------------------------------------------------------------- */

struct order_upload {
	const struct tree *tree;
	struct cache *cache;
	pthread_mutex_t lock;
	/* Protected by lock: */
	uint32_t sender; /* the process whose order it is, while open */
	bool open;	 /* the order has begun, and has not ended */
	struct order order;
};

struct order_upload *order_upload_new(const struct tree *tree, struct cache *cache)
{
	struct order_upload *upload = calloc(1, sizeof(*upload));

	if (!upload)
		return NULL;
	upload->tree = tree;
	upload->cache = cache;
	pthread_mutex_init(&upload->lock, NULL);
	return upload;
}

void order_upload_free(struct order_upload *upload)
{
	if (!upload)
		return;
	order_release(&upload->order);
	pthread_mutex_destroy(&upload->lock);
	free(upload);
}

int order_upload_take(struct order_upload *upload, uint32_t sender, struct order_batch *batch)
{
	struct err refusal = {0};
	bool last;
	int r;

	if (batch->flags & ~(ORDER_FIRST | ORDER_LAST) || batch->len > sizeof(batch->text))
		return -EINVAL;
	SCOPE_LOCK(&upload->lock);
	if (batch->flags & ORDER_FIRST) {
		order_release(&upload->order);
		upload->sender = sender;
		upload->open = true;
	}
	if (!upload->open || upload->sender != sender)
		return -EBUSY;
	/* The last batch, or a failure, ends the order. */
	last = batch->flags & ORDER_LAST;
	r = order_read(&upload->order, upload->tree, batch->text, batch->len, last, &refusal);
	if (r == 0 && last)
		r = order_give(&upload->order, upload->cache);
	upload->open = r == 0 && !last;
	batch->files = order_count(&upload->order);
	batch->len = (uint32_t)strlen(refusal.text);
	memcpy(batch->text, refusal.text, batch->len);
	if (!upload->open)
		order_release(&upload->order);
	return batch->len ? 0 : r;
}
