#include "pack/foreign/maker_process.h"
#include "base/capabilities.h"
#include "base/filter.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/python.h"
#include "base/scope.h"
#include "base/signals.h"
#include "base/size.h"
#include "base/spawn.h"
#include "base/uapi.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_MOST (GIB + MIB)
#define HEAD	     5 /* bytes before those of a message */
#define ROOM	     (128 * KIB)
#define LIFELINE     (STDERR_FILENO + 1)

struct maker_process {
	pid_t pid; /* 0: it has ended */
	int socket;
	int lifeline;  /* whose end, as with this process, kills it */
	bool spoken;   /* it has said something */
	struct buf in; /* what was received, from `taken` on */
	size_t taken;
};

/* --- what it may do --------------------------------------------------------------------------- */

/* What would change files, or reach other processes or machines. What opens files is needed by
 * Python before the script begins, which then allows itself no further descriptor. */
static const uint32_t refused_calls[] = {
	SYS_socket,
	SYS_socketpair,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_pidfd_getfd,
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_send_signal,
	SYS_io_uring_setup,
	SYS_mkdirat,
	SYS_unlinkat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_mknodat,
	SYS_truncate,
	SYS_fchmodat,
	SYS_fchmodat2,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_setxattrat,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_removexattrat,
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_mkdir
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
	SYS_mkdir,
	SYS_rmdir,
	SYS_unlink,
	SYS_rename,
	SYS_link,
	SYS_symlink,
	SYS_mknod,
	SYS_creat,
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
#endif
};

/* It may be that it reads nothing, and so sees no end. PR_SET_PDEATHSIG would kill it as soon as
 * the thread ends that began it. */
static void die_with(int lifeline)
{
	struct pollfd end = {.fd = lifeline};

	fcntl(lifeline, F_SETOWN, -getpid());
	fcntl(lifeline, F_SETSIG, SIGKILL);
	fcntl(lifeline, F_SETFL, O_ASYNC);
	if (poll(&end, 1, 0) != 0)
		_exit(EXIT_FAILURE);
}

static _Noreturn void run(int socket, int lifeline, const char *script)
{
	/* What Python warns of is nothing to the user; it has only what comes with it. */
	const char *const argv[] = {python_program(),	"-I", "-S", "-B", "-X", "utf8",
				    PYTHON_RUN(script), NULL};
	struct filter filter;

	signals_unblock();
	setpgid(0, 0);
	if (dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0 ||
	    dup2(lifeline, LIFELINE) < 0 || fcntl(LIFELINE, F_SETFD, 0) < 0)
		_exit(EXIT_FAILURE);
	io_close_from(LIFELINE + 1);
	die_with(LIFELINE);
	capabilities_keep(UINT64_C(1) << CAP_DAC_READ_SEARCH); /* for Python's own files */
	filter_begin(&filter, FILTER_REFUSE(ENOSYS));
	FILTER_CALLS(&filter, refused_calls, FILTER_REFUSE(EPERM));
	filter_install(&filter, 0);
	execvp(argv[0], (char *const *)argv);
	_exit(EXIT_FAILURE);
}

/* --- its beginning and end -------------------------------------------------------------------- */

static void end_process(struct maker_process *process)
{
	scope_close(&process->socket);
	scope_close(&process->lifeline);
	if (process->pid)
		spawn_kill(process->pid);
	buf_release(&process->in);
	free(process);
}

static int start_process(struct maker_process **ret, struct err *err)
{
	SCOPE(buf_release) struct buf script = BUF_INIT;
	struct maker_process *process = calloc(1, sizeof(*process));
	int ends[2];

	if (!process)
		return -ENOMEM;
	process->socket = process->lifeline = -1;
	if (buf_reserve(&process->in, ROOM) < 0) {
		end_process(process);
		return -ENOMEM;
	}
	if (python_script("sources", "index", &script) < 0) {
		end_process(process);
		return err_set(err, -EOPNOTSUPP,
			       "not a pack; index.py, which reads other formats, is not installed "
			       "beside the program");
	}
	if (pipe2(ends, O_CLOEXEC) < 0) {
		process->pid = -errno;
	} else {
		process->lifeline = ends[1];
		process->pid = fork_with_socket(SOCK_STREAM, &process->socket);
		if (process->pid == 0)
			run(process->socket, ends[0], script.data);
		close(ends[0]);
		setpgid(process->pid, 0); /* whichever comes first */
	}
	if (process->pid < 0) {
		int r = process->pid;

		process->pid = 0;
		end_process(process);
		return err_fork(err, r);
	}
	*ret = process;
	return 0;
}

int maker_process_take(struct makers *makers, bool remote, struct maker_process **ret,
		       struct err *err)
{
	/* More than there are processors make nothing faster, but where they wait for a server. */
	uint64_t most = remote ? MAKERS_MOST
			       : clamp((uint64_t)sysconf(_SC_NPROCESSORS_ONLN), 1, MAKERS_MOST);
	int r;

	if (makers) {
		SCOPE_LOCK(&makers->lock);
		while (!makers->count && makers->busy >= most)
			pthread_cond_wait(&makers->changed, &makers->lock);
		makers->busy++;
		if (makers->count) {
			*ret = makers->resting[--makers->count];
			return 0;
		}
	}
	r = start_process(ret, err);
	if (r < 0)
		maker_process_give(makers, NULL, false);
	return r;
}

void maker_process_give(struct makers *makers, struct maker_process *process, bool waits)
{
	if (process && !(makers && waits))
		end_process(process);
	if (!makers)
		return;
	SCOPE_LOCK(&makers->lock);
	makers->busy--;
	if (process && waits)
		makers->resting[makers->count++] = process;
	pthread_cond_signal(&makers->changed);
}

void makers_release(struct makers *makers)
{
	while (makers->count)
		end_process(makers->resting[--makers->count]);
	pthread_cond_destroy(&makers->changed);
	pthread_mutex_destroy(&makers->lock);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Why it said no more. */
static int ended(struct maker_process *process, struct err *err)
{
	int status = spawn_await(process->pid);

	process->pid = 0;
	if (!process->spoken && WIFEXITED(status))
		return err_set(err, -EOPNOTSUPP,
			       "not a pack; to read other formats needs python3, and '%s' does not "
			       "start: install it, or let FOLDFS_PYTHON name one; a file with a "
			       "published index needs none",
			       python_program());
	return err_set(err, -ECANCELED, "the script that reads it has ended early%s",
		       !WIFSIGNALED(status)	     ? ""
		       : WTERMSIG(status) == SIGKILL ? ", as where memory runs out"
		       : WTERMSIG(status) == SIGXCPU ? ", as it took over an hour of a processor"
						     : "");
}

/* Receives until there are so many bytes in hand. */
static int receive(struct maker_process *process, size_t len, struct err *err)
{
	struct buf *in = &process->in;
	size_t left = in->len - process->taken;

	if (left >= len)
		return 0;
	memmove(in->data, in->data + process->taken, left);
	in->len = left;
	process->taken = 0;
	if (buf_reserve(in, max(len, (size_t)ROOM) + 1) < 0)
		return -ENOMEM;
	while (in->len < len) {
		struct pollfd end = {.fd = process->socket, .events = POLLIN};
		ssize_t n;

		if (poll(&end, 1, SPAWN_PATIENCE_MS) == 0)
			return err_set(err, -ECANCELED,
				       "the script that reads it has said nothing for %d seconds",
				       SPAWN_PATIENCE_MS / 1000);
		n = read(process->socket, in->data + in->len, max(len, (size_t)ROOM) - in->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ended(process, err);
		in->len += (size_t)n;
	}
	return 0;
}

int maker_process_hear(struct maker_process *process, struct message *ret, struct err *err)
{
	int r = receive(process, HEAD, err);
	uint32_t len;

	if (r < 0)
		return r;
	len = le_get32(process->in.data + process->taken + 1);
	if (len > MESSAGE_MOST)
		return message_broken(err);
	r = receive(process, HEAD + len, err);
	if (r < 0)
		return r;
	process->spoken = true;
	ret->letter = process->in.data[process->taken];
	ret->at = process->in.data + process->taken + HEAD;
	ret->end = ret->at + len;
	process->taken += HEAD + len;
	return len && ret->end[-1] ? message_broken(err) : 0;
}

int maker_process_answer(struct maker_process *process, const void *bytes, size_t len)
{
	uint8_t head[4];
	struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)bytes, len}},
		     *left = parts;
	int count = 2;

	le_put32(head, (uint32_t)len);
	while (count) {
		const struct msghdr all = {.msg_iov = left, .msg_iovlen = (size_t)count};
		ssize_t n = sendmsg(process->socket, &all, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
		if (n > 0)
			io_skip(&left, &count, (size_t)n);
	}
	return 0;
}
