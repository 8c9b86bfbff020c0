#include "fs/nofuse/listener.h"
#include "base/io.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define FILTER_MAX    512
#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

/* What opens and lists without calls that a filter sees, or by structures of new calls, which no
 * library needs. */
static const uint32_t unknown_calls[] = {
	SYS_io_uring_setup, SYS_setxattrat,    SYS_getxattrat,
	SYS_listxattrat,    SYS_removexattrat, SYS_file_setattr,
};

/* Paths are looked up where foldfs is, which must be where the job is. */
static const uint32_t refused_calls[] = {
	SYS_chroot, SYS_pivot_root, SYS_mount, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_setns,
};

struct text {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

static void add(struct text *text, uint16_t code, uint32_t value, uint8_t skip)
{
	text->code[text->len++] = (struct sock_filter){.code = code, .jf = skip, .k = value};
}

static void add_calls(struct text *text, const uint32_t *calls, size_t count, uint32_t verdict)
{
	for (size_t i = 0; i < count; i++) {
		add(text, BPF_JMP | BPF_JEQ | BPF_K, calls[i], 1);
		add(text, BPF_RET | BPF_K, verdict, 0);
	}
}

#ifdef AUDIT_ARCH_NATIVE

/* Programs of another architecture, as 32-bit ones, have other numbers: they are left alone. */
static void add_architecture(struct text *text)
{
	add(text, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0);
	text->code[text->len++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_NATIVE, 1, 0);
	add(text, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0);
	add(text, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0);
	add(text, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 1);
	add(text, BPF_RET | BPF_K, REFUSE(ENOSYS), 0);
}

static int install(struct sock_fprog *program, unsigned long flags)
{
	int fd = (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_NEW_LISTENER, program);

	return fd < 0 ? -errno : fd;
}

static int add_filter(const uint32_t *calls, size_t count, struct listener *ret)
{
	struct text text = {0};
	struct sock_fprog program = {.filter = text.code};

	add_architecture(&text);
	add_calls(&text, unknown_calls, COUNT(unknown_calls), REFUSE(ENOSYS));
	add_calls(&text, refused_calls, COUNT(refused_calls), REFUSE(EPERM));
	add_calls(&text, calls, count, SECCOMP_RET_USER_NOTIF);
	add(&text, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0);
	program.len = text.len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	ret->fd = install(&program, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	ret->killable = ret->fd != -EINVAL;
	if (!ret->killable)
		ret->fd = install(&program, 0);
	return ret->fd < 0 ? ret->fd : 0;
}

#else

static int add_filter(const uint32_t *calls, size_t count, struct listener *ret)
{
	(void)calls;
	(void)count;
	(void)ret;
	return -EOPNOTSUPP;
}

#endif

/* --- from one process to another ------------------------------------------------------------- */

struct parcel {
	struct {
		int error;
		bool killable;
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

int listener_install(const uint32_t *calls, size_t count, int socket)
{
	struct listener listener = LISTENER_NONE;
	struct parcel parcel;
	int r = add_filter(calls, count, &listener);

	parcel_init(&parcel);
	parcel.text.error = r;
	parcel.text.killable = listener.killable;
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
	*ret = (struct listener){.fd = fd, .killable = parcel.text.killable};
	return 0;
}

/* --- calls ----------------------------------------------------------------------------------- */

int listener_take(const struct listener *listener, struct asked *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, &ret->notif) == 0)
		return 0;
	return errno == ENOENT ? -EINTR : -errno;
}

bool listener_waits(const struct listener *listener, const struct asked *asked)
{
	return ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->notif.id) == 0;
}

static void respond(const struct listener *listener, struct seccomp_notif_resp response)
{
	ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
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
	int there = ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &given);

	if (there < 0)
		return errno == ENOENT ? 0 : -errno;
	if (listener->killable)
		listener_answer(listener, asked, there);
	return 0;
}
