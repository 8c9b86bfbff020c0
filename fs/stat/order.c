#include "fs/stat/order.h"
#include "base/io.h"
#include "base/libc.h"
#include "base/scope.h"
#include "fs/order_ioctl.h"
#include "fs/stat/asker.h"
#include "fs/stat/jobs.h"
#include "fs/stat/mounts.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int explain_batch(const char *mountpoint, int error, struct err *err)
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
		mounts_explain(mountpoint, error, &reason);
	}
	return err_set(err, error, "%s: %s", mountpoint, err_text(&reason, error));
}

struct order {
	const char *file, *mountpoint;
	int fd; /* of the file */
};

/* Gives a batch to the mount, or to a job that sees a pack there without one. */
static int send_batch(const struct order *order, int mount, struct order_batch *batch)
{
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	int error = ioctl(mount, (libc_ioctl_request)ORDER_IOCTL, batch) < 0 ? -errno : 0, r;

	if (error != -ENOTTY)
		return error;
	r = jobs_ask(order->mountpoint, batch, sizeof(*batch), &answer);
	if (r == 0 && answer.len == sizeof(*batch))
		memcpy(batch, answer.data, sizeof(*batch));
	return r == -ENOENT ? error : r;
}

/* Adds the number of files to buf. */
static int send_text(void *context, struct buf *buf, struct err *err)
{
	const struct order *order = context;
	SCOPE_CLOSE int mount = open(order->mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct order_batch batch = {.flags = ORDER_FIRST};
	ssize_t len = sizeof(batch.text);
	int r;

	if (mount < 0)
		return explain_batch(order->mountpoint, -errno, err);
	while (len == sizeof(batch.text)) {
		len = io_read(order->fd, batch.text, sizeof(batch.text));
		if (len < 0)
			return err_set(err, (int)len, "%s: %s", order->file, strerror((int)-len));
		batch.len = (uint32_t)len;
		if (len < (ssize_t)sizeof(batch.text))
			batch.flags |= ORDER_LAST;
		r = send_batch(order, mount, &batch);
		if (r < 0)
			return explain_batch(order->mountpoint, r, err);
		if (batch.len)
			return err_set(err, -EINVAL, "%s: %.*s", order->file, (int)batch.len,
				       batch.text);
		batch.flags = 0;
	}
	return buf_add(buf, &batch.files, sizeof(batch.files));
}

int order_send(const char *file, const char *mountpoint, uint32_t *ret_files, struct err *err)
{
	struct err reason = {0};
	SCOPE_CLOSE int fd = io_open_given(file, &reason);
	struct order order = {.file = file, .mountpoint = mountpoint, .fd = fd};
	SCOPE(buf_release) struct buf files = BUF_INIT;
	int r;

	if (fd < 0)
		return err_set(err, fd, "%s: %s", file, err_text(&reason, fd));
	r = asker_once(asker_new(send_text, &order), &files, err);
	if (r == 0)
		memcpy(ret_files, files.data, sizeof(*ret_files));
	return r;
}
