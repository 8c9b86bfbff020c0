#include "fs/nofuse/listener.h"
#include "base/filter.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What opens and lists without calls that a filter sees, or by structures of new calls, which no
 * library needs. */
static const uint32_t unknown_calls[] = {
	SYS_io_uring_setup, SYS_setxattrat,   SYS_getxattrat,	SYS_listxattrat,
	SYS_removexattrat,  SYS_file_getattr, SYS_file_setattr,
};

/* Paths are looked up where foldfs is, which must be where the job is. */
static const uint32_t refused_calls[] = {
	SYS_chroot,	    SYS_pivot_root, SYS_mount,	SYS_umount2, SYS_open_tree,
	SYS_open_tree_attr, SYS_move_mount, SYS_fsopen, SYS_fspick,  SYS_setns,
};

/* Those that may be marked, and have no sixth argument. */
static const uint32_t marked_calls[] = {SYS_newfstatat, SYS_fstat, SYS_statx, SYS_openat2,
					SYS_rt_sigaction};

/* Lets a call pass if its sixth argument is the mark (0: nothing is), but for the place that it is
 * called from, or if it only asks for a handler. The kernel remembers which calls a filter always
 * allows, if it looks at their numbers alone: so all others need not come here. */
static void pass_marked(struct filter *filter, uint32_t call, uint64_t mark)
{
	size_t place = offsetof(struct seccomp_data, instruction_pointer);
	unsigned is = filter_if(filter, BPF_JEQ, call), low;

	if (call == SYS_rt_sigaction) {
		filter_load(filter, FILTER_LOW(1));
		low = filter_if(filter, BPF_JEQ, 0);
		filter_load(filter, FILTER_HIGH(1));
		filter_return_if(filter, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
		filter_end_if(filter, low);
	}
	if (mark) {
		filter_load(filter, place);
		filter_xor(filter, FILTER_LOW(5));
		low = filter_if(filter, BPF_JEQ, (uint32_t)mark);
		filter_load(filter, place + 4);
		filter_xor(filter, FILTER_HIGH(5));
		filter_return_if(filter, BPF_JEQ, (uint32_t)(mark >> 32), SECCOMP_RET_ALLOW);
		filter_end_if(filter, low);
	}
	filter_return(filter, SECCOMP_RET_USER_NOTIF);
	filter_end_if(filter, is);
}

/* Programs of another architecture, as 32-bit ones, are left alone. */
static int add_filter(const uint32_t *calls, size_t count, uint64_t mark, struct listener *ret)
{
	struct filter filter;

	filter_begin(&filter, SECCOMP_RET_ALLOW);
	FILTER_CALLS(&filter, unknown_calls, FILTER_REFUSE(ENOSYS));
	FILTER_CALLS(&filter, refused_calls, FILTER_REFUSE(EPERM));
	for (size_t i = 0; i < sizeof(marked_calls) / sizeof(*marked_calls); i++)
		pass_marked(&filter, marked_calls[i], mark);
	filter_calls(&filter, calls, count, SECCOMP_RET_USER_NOTIF);
	ret->fd = filter_install(&filter, SECCOMP_FILTER_FLAG_NEW_LISTENER |
						  SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	ret->killable = ret->fd != -EINVAL;
	if (!ret->killable)
		ret->fd = filter_install(&filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return ret->fd < 0 ? ret->fd : 0;
}

/* --- from one process to another ------------------------------------------------------------- */

struct parcel {
	struct {
		int error;
		bool killable;
		uint64_t mark;
	} text;
	struct iovec bytes;
	struct msghdr message;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
};

static void parcel_init(struct parcel *parcel)
{
	*parcel = (struct parcel){0};
	parcel->bytes = (struct iovec){&parcel->text, sizeof(parcel->text)};
	parcel->message = (struct msghdr){.msg_iov = &parcel->bytes,
					  .msg_iovlen = 1,
					  .msg_control = &parcel->control,
					  .msg_controllen = sizeof(parcel->control)};
}

int listener_install(const uint32_t *calls, size_t count, uint64_t mark, int socket)
{
	struct listener listener = LISTENER_NONE;
	struct parcel parcel;
	int r = add_filter(calls, count, mark, &listener);

	parcel_init(&parcel);
	parcel.text.error = r;
	parcel.text.killable = listener.killable;
	parcel.text.mark = mark;
	parcel.control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&parcel.control.header), &listener.fd, sizeof(int));
	if (r < 0)
		parcel.message.msg_controllen = 0;
	(void)!sendmsg(socket, &parcel.message, MSG_NOSIGNAL);
	if (r == 0)
		close(listener.fd);
	return r;
}

int listener_receive(int socket, struct listener *ret)
{
	struct parcel parcel;
	int fd;

	parcel_init(&parcel);
	if (recvmsg(socket, &parcel.message, MSG_CMSG_CLOEXEC) <= 0)
		return -EPIPE;
	if (parcel.text.error < 0 || !CMSG_FIRSTHDR(&parcel.message))
		return parcel.text.error ? parcel.text.error : -EMFILE;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&parcel.message)), sizeof(fd));
	/* The processor that asks is the one that answers, where the kernel can do that (6.6). */
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	*ret = (struct listener){
		.fd = fd, .killable = parcel.text.killable, .mark = parcel.text.mark};
	return 0;
}

/* --- calls ----------------------------------------------------------------------------------- */

/* A process that is stopped or frozen while it waits for the listener's lock has done nothing. */
static int control(const struct listener *listener, unsigned long request, const void *arg)
{
	int r;

	do
		r = ioctl(listener->fd, request, arg);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

int listener_take(const struct listener *listener, struct asked *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, &ret->notif) == 0)
		return 0;
	return errno == ENOENT ? -EINTR : -errno;
}

bool listener_waits(const struct listener *listener, const struct asked *asked)
{
	return control(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->notif.id) == 0;
}

static void respond(const struct listener *listener, struct seccomp_notif_resp response)
{
	control(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void listener_answer(const struct listener *listener, const struct asked *asked, int64_t result)
{
	respond(listener, (struct seccomp_notif_resp){.id = asked->notif.id,
						      .val = result < 0 ? 0 : result,
						      .error = result < 0 ? (int32_t)result : 0});
}

void listener_pass(const struct listener *listener, const struct asked *asked)
{
	respond(listener, (struct seccomp_notif_resp){.id = asked->notif.id,
						      .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

/* The kernel can add the descriptor and answer at once. But if this process is killed meanwhile,
 * the call returns 0, which is another file (seen with Linux 6.18). In two steps it would fail; but
 * then, before 5.19, a signal between them would leave the caller a descriptor that it does not
 * know. */
int listener_give(const struct listener *listener, const struct asked *asked, int fd, bool cloexec)
{
	const struct seccomp_notif_addfd given = {
		.id = asked->notif.id,
		.flags = listener->killable ? 0 : SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0};
	int there = control(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);

	if (there < 0)
		return there == -ENOENT ? 0 : there;
	if (listener->killable)
		listener_answer(listener, asked, there);
	return 0;
}

int listener_replace(const struct listener *listener, const struct asked *asked, int fd, int number,
		     bool cloexec)
{
	const struct seccomp_notif_addfd given = {.id = asked->notif.id,
						  .flags = SECCOMP_ADDFD_FLAG_SETFD,
						  .srcfd = (uint32_t)fd,
						  .newfd = (uint32_t)number,
						  .newfd_flags = cloexec ? O_CLOEXEC : 0};
	int r = control(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);

	return r < 0 && r != -ENOENT ? r : 0;
}
