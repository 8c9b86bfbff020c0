#include "fs/order_upload.h"
#include "base/scope.h"
#include "fs/order.h"
#include "fs/order_ioctl.h"
#include <stdbool.h>
#include <string.h>

struct order_upload {
	const struct tree *tree;
	struct cache *cache;
	pthread_mutex_t lock; /* never held while the cache is told */
	/* Protected by lock: */
	uint32_t token; /* of the newest order */
	bool open;	/* it has begun, and has not ended */
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

static uint32_t upload_begin(struct order_upload *upload)
{
	SCOPE_LOCK(&upload->lock);
	order_release(&upload->order);
	upload->open = true;
	return ++upload->token;
}

/* Whether that order is still the one on its way. Lock held. */
static bool goes_on(const struct order_upload *upload, uint32_t token)
{
	return upload->open && upload->token == token;
}

/* Lock held. */
static int add_paths(struct order_upload *upload, const char *text, struct order_head *head)
{
	uint32_t done = 0;
	int r = 0;

	while (done < head->len) {
		size_t len = strlen(text + done);

		if (len > 0)
			r = order_add(&upload->order, upload->tree, text + done, len);
		if (r < 0)
			break;
		done += (uint32_t)len + 1;
	}
	head->len = done;
	return r;
}

static int upload_add(struct order_upload *upload, const char *text, struct order_head *head)
{
	int r;

	SCOPE_LOCK(&upload->lock);
	if (!goes_on(upload, head->token))
		return -EBUSY;
	r = add_paths(upload, text, head);
	if (r == 0)
		return 0;
	order_release(&upload->order);
	upload->open = false;
	head->error = r;
	return r == -ENOMEM || r == -EFBIG ? r : 0;
}

static int steal(struct order_upload *upload, uint32_t token, struct order *ret)
{
	SCOPE_LOCK(&upload->lock);
	if (!goes_on(upload, token))
		return -EBUSY;
	*ret = upload->order;
	upload->order = (struct order){0};
	upload->open = false;
	return 0;
}

static int upload_end(struct order_upload *upload, struct order_head *head)
{
	SCOPE(order_release) struct order order = {0};
	int r = steal(upload, head->token, &order);

	head->files = order.count;
	return r < 0 ? r : cache_order(upload->cache, order.files, order.count);
}

/* Whether the text ends where it says, and its last path does. */
static bool is_whole(const struct order_head *head, const char *text, size_t size)
{
	return head->len <= size && (head->len == 0 || text[head->len - 1] == '\0');
}

int order_upload_take(struct order_upload *upload, const void *batch, size_t size,
		      struct order_head *ret)
{
	const char *text = (const char *)batch + sizeof(*ret);
	struct order_head head;
	int r = 0;

	if (size < sizeof(head))
		return -EINVAL;
	memcpy(&head, batch, sizeof(head));
	head.error = 0;
	if (!is_whole(&head, text, size - sizeof(head)))
		return -EINVAL;
	switch (head.step) {
	case ORDER_BEGIN:
		head.token = upload_begin(upload);
		break;
	case ORDER_ADD:
		r = upload_add(upload, text, &head);
		break;
	case ORDER_END:
		r = upload_end(upload, &head);
		break;
	default:
		r = -EINVAL;
	}
	if (r == 0)
		*ret = head;
	return r;
}
