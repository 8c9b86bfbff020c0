/* Answers to calls: fs/nofuse/listener.h, of a kernel that is played. */
#include "fs/nofuse/listener.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#define DESCRIPTOR 7 /* of the caller */

static unsigned long asked_for[8]; /* what the kernel was asked for */
static unsigned count;
static bool interrupted; /* it has done nothing the first time */

/* Takes the place of the C library's. */
int ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	asked_for[count++] = request;
	if (count > 1 && asked_for[count - 2] == request)
		return request == SECCOMP_IOCTL_NOTIF_ADDFD ? DESCRIPTOR : 0;
	interrupted = true;
	errno = EINTR;
	return -1;
}

static void assert_asked_twice(unsigned long request)
{
	assert_true(interrupted);
	assert_true(count >= 2);
	assert_true(asked_for[count - 2] == request && asked_for[count - 1] == request);
}

TEST(an_answer_that_is_interrupted_is_given)
{
	const struct listener listener = {.killable = true};
	const struct asked asked = {0};

	listener_answer(&listener, &asked, -ENOENT);
	assert_asked_twice(SECCOMP_IOCTL_NOTIF_SEND);
	count = 0;
	listener_pass(&listener, &asked);
	assert_asked_twice(SECCOMP_IOCTL_NOTIF_SEND);
	count = 0;
	assert_true(listener_waits(&listener, &asked));
	assert_asked_twice(SECCOMP_IOCTL_NOTIF_ID_VALID);
}

TEST(a_descriptor_that_is_interrupted_is_given)
{
	const struct listener two_steps = {.killable = true}, one = {0};
	const struct asked asked = {0};

	count = 0;
	assert_int_equal(listener_give(&one, &asked, 1, true), 0);
	assert_asked_twice(SECCOMP_IOCTL_NOTIF_ADDFD);
	count = 0;
	assert_int_equal(listener_give(&two_steps, &asked, 1, true), 0);
	assert_int_equal(count, 4);
	assert_asked_twice(SECCOMP_IOCTL_NOTIF_SEND);
}
