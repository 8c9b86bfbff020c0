#include "fs/inbox.h"
#include "base/scope.h"
#include "fs/mount.h"
#include "fs/order.h"
#include <stdbool.h>
#include <string.h>

struct inbox {
	pthread_mutex_t lock; /* never held while the cache is told */
	/* Protected by lock: */
	uint32_t token; /* of the newest order */
	bool open;	/* it has begun, and has not ended */
	struct order order;
};

struct inbox *inbox_new(void)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));

	if (inbox)
		pthread_mutex_init(&inbox->lock, NULL);
	return inbox;
}

void inbox_free(struct inbox *inbox)
{
	if (!inbox)
		return;
	order_release(&inbox->order);
	pthread_mutex_destroy(&inbox->lock);
	free(inbox);
}

static uint32_t begin(struct inbox *inbox)
{
	SCOPE_LOCK(&inbox->lock);
	order_release(&inbox->order);
	inbox->open = true;
	return ++inbox->token;
}

/* Whether that order is still the one on its way. Lock held. */
static bool goes_on(const struct inbox *inbox, uint32_t token)
{
	return inbox->open && inbox->token == token;
}

/* Lock held. */
static int add_paths(struct order *order, const struct mount *mount, const char *text,
		     struct order_head *head)
{
	uint32_t done = 0;
	int r = 0;

	while (done < head->len) {
		size_t len = strlen(text + done);

		if (len > 0)
			r = order_add(order, mount, text + done, len);
		if (r < 0)
			break;
		done += (uint32_t)len + 1;
	}
	head->len = done;
	return r;
}

static int add(struct inbox *inbox, const struct mount *mount, const char *text,
	       struct order_head *head)
{
	int r;

	SCOPE_LOCK(&inbox->lock);
	if (!goes_on(inbox, head->token))
		return -EBUSY;
	r = add_paths(&inbox->order, mount, text, head);
	if (r == 0)
		return 0;
	order_release(&inbox->order);
	inbox->open = false;
	head->error = r;
	return r == -ENOMEM || r == -EFBIG ? r : 0;
}

static int steal(struct inbox *inbox, uint32_t token, struct order *ret)
{
	SCOPE_LOCK(&inbox->lock);
	if (!goes_on(inbox, token))
		return -EBUSY;
	*ret = inbox->order;
	inbox->order = (struct order){0};
	inbox->open = false;
	return 0;
}

static int end(struct inbox *inbox, const struct mount *mount, struct order_head *head)
{
	SCOPE(order_release) struct order order = {0};
	int r = steal(inbox, head->token, &order);

	head->files = order.count;
	return r < 0 ? r : cache_order(mount->cache, order.files, order.count);
}

/* Whether the text ends where it says, and its last path does. */
static bool is_whole(const struct order_head *head, const char *text, size_t size)
{
	return head->len <= size && (head->len == 0 || text[head->len - 1] == '\0');
}

int inbox_take(struct inbox *inbox, const struct mount *mount, const void *batch, size_t size,
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
		head.token = begin(inbox);
		break;
	case ORDER_ADD:
		r = add(inbox, mount, text, &head);
		break;
	case ORDER_END:
		r = end(inbox, mount, &head);
		break;
	default:
		r = -EINVAL;
	}
	if (r == 0)
		*ret = head;
	return r;
}
