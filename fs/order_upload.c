#include "fs/order_upload.h"
#include "base/scope.h"
#include "fs/order.h"
#include <stdbool.h>
#include <string.h>

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

/* Lock held. */
static int add_paths(struct order_upload *upload, const char *text, struct order_head *head)
{
	uint32_t done = 0;
	int r = 0;

	while (r == 0 && done < head->len) {
		size_t len = strlen(text + done);

		if (len > 0)
			r = order_add(&upload->order, upload->tree, text + done, len);
		if (r == 0)
			done += (uint32_t)len + 1;
	}
	head->len = done;
	head->error = r;
	head->files = upload->order.count;
	return r;
}

static int take_batch(struct order_upload *upload, uint32_t sender, const char *text,
		      struct order_head *head)
{
	int r;

	SCOPE_LOCK(&upload->lock);
	if (head->flags & ORDER_FIRST) {
		order_release(&upload->order);
		upload->sender = sender;
		upload->open = true;
	}
	if (!upload->open || upload->sender != sender)
		return -EBUSY;
	r = add_paths(upload, text, head);
	if (r == 0 && !(head->flags & ORDER_LAST))
		return 0;
	upload->open = false;
	if (r == 0)
		r = cache_order(upload->cache, upload->order.files, upload->order.count);
	order_release(&upload->order);
	/* A path that is refused is for the sender to name. */
	return head->error && r != -ENOMEM && r != -EFBIG ? 0 : r;
}

/* Whether the text ends where it says, and its last path does. */
static bool is_whole(const struct order_head *head, const char *text, size_t size)
{
	return head->len <= size && (head->len == 0 || text[head->len - 1] == '\0');
}

int order_upload_take(struct order_upload *upload, uint32_t sender, const void *batch, size_t size,
		      struct order_head *ret)
{
	const char *text = (const char *)batch + sizeof(*ret);
	struct order_head head;
	int r;

	if (size < sizeof(head))
		return -EINVAL;
	memcpy(&head, batch, sizeof(head));
	if (head.flags & ~(ORDER_FIRST | ORDER_LAST) || !is_whole(&head, text, size - sizeof(head)))
		return -EINVAL;
	r = take_batch(upload, sender, text, &head);
	if (r == 0)
		*ret = head;
	return r;
}
