#include "fs/stat/order.h"
#include "base/io.h"
#include "base/scope.h"
#include "fs/order_ioctl.h"
#include "fs/stat/mounts.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct sender {
	const char *file, *mountpoint;
	int fd;
	uint32_t flags; /* of the next batch */
	uint64_t first; /* line of the first path of the batch */
	uint64_t lines; /* read so far */
	struct order_batch batch;
	struct err *err;
};

static int explain_ioctl(const struct sender *sender, int error)
{
	struct err reason = {0};

	switch (error) {
	case -EPERM:
		err_set(&reason, error, "only root and the user who mounted it may give an order");
		break;
	case -EBUSY:
		err_set(&reason, error, "another process sends an order at the same time");
		break;
	case -EOPNOTSUPP:
		err_set(&reason, error,
			"nothing is read ahead there: it was mounted with --readahead=0");
		break;
	default:
		mounts_explain(sender->mountpoint, error, &reason);
	}
	return err_set(sender->err, error, "%s: %s", sender->mountpoint, err_text(&reason, error));
}

/* The paths before the one that was refused say which line it is from. */
static int explain_path(const struct sender *sender, const struct order_batch *sent, uint32_t taken,
			int error)
{
	uint64_t line = sender->first;

	for (uint32_t i = 0; i < taken; i++)
		line += sent->text[i] == '\0';
	return err_set(sender->err, error, "%s: line %llu: '%.200s' %s", sender->file,
		       (unsigned long long)line, sent->text + taken, order_refusal(error));
}

/* The answer takes the place of the head. */
static int send_batch(struct sender *sender, uint32_t flags)
{
	uint32_t len = sender->batch.head.len;

	sender->batch.head.flags = sender->flags | flags;
	sender->flags = 0;
	if (ioctl(sender->fd, ORDER_IOCTL, &sender->batch) < 0)
		return explain_ioctl(sender, -errno);
	if (sender->batch.head.error && sender->batch.head.len < len)
		return explain_path(sender, &sender->batch, sender->batch.head.len,
				    sender->batch.head.error);
	sender->batch.head.len = 0;
	return 0;
}

static int add_line(struct sender *sender, const char *line, size_t len)
{
	struct order_batch *batch = &sender->batch;
	int r = 0;

	if (len + 1 > sizeof(batch->text) || memchr(line, '\0', len))
		return err_set(sender->err, -EINVAL, "%s: line %llu: no path", sender->file,
			       (unsigned long long)sender->lines + 1);
	if (batch->head.len + len + 1 > sizeof(batch->text)) {
		r = send_batch(sender, 0);
		sender->first = sender->lines + 1;
	}
	if (r < 0)
		return r;
	memcpy(batch->text + batch->head.len, line, len);
	batch->text[batch->head.len + len] = '\0';
	batch->head.len += (uint32_t)len + 1;
	sender->lines++;
	return 0;
}

static int send_lines(struct sender *sender, FILE *file)
{
	SCOPE_FREE char *line = NULL;
	size_t room = 0, len;
	int r;

	while ((r = io_line(file, &line, &room, &len)) == 0) {
		r = add_line(sender, line, len);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return err_set(sender->err, r, "%s: %s", sender->file, strerror(-r));
	return send_batch(sender, ORDER_LAST);
}

int order_send(const char *file, const char *mountpoint, uint32_t *ret_files, struct err *err)
{
	SCOPE_CLOSE int fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_FILE FILE *stream = NULL;
	struct sender sender = {.file = file,
				.mountpoint = mountpoint,
				.fd = fd,
				.flags = ORDER_FIRST,
				.first = 1,
				.err = err};
	int r;

	if (fd < 0)
		return explain_ioctl(&sender, -errno);
	stream = fopen(file, "re");
	if (!stream)
		return err_set(err, -errno, "%s: %s", file, strerror(errno));
	r = send_lines(&sender, stream);
	if (r < 0)
		return r;
	*ret_files = sender.batch.head.files;
	return 0;
}
