#include "pack/foreign/maker_process.h"
#include "base/capabilities.h"
#include "base/filter.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/python.h"
#include "base/scope.h"
#include "base/uapi.h"
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static void refuse_calls(void)
{
	struct filter filter;

	filter_begin(&filter, FILTER_REFUSE(ENOSYS));
	FILTER_CALLS(&filter, refused_calls, FILTER_REFUSE(EPERM));
	filter_install(&filter, 0);
}

static _Noreturn void run(int socket, const char *script)
{
	/* What Python warns of is nothing to the user; it has only what comes with it. */
	const char *const argv[] = {python_program(), "-I", "-S", "-B", "-X", "utf8", script, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* of a terminal: it is this process that decides */
	if (dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILURE);
	io_close_from(STDERR_FILENO + 1);
	capabilities_keep(UINT64_C(1) << CAP_DAC_READ_SEARCH); /* for Python's own files */
	refuse_calls();
	execvp(argv[0], (char *const *)argv);
	_exit(EXIT_FAILURE);
}

int maker_lack_python(struct err *err)
{
	return err_set(err, -EOPNOTSUPP,
		       "not a pack; to read other formats needs python3, and '%s' does not start: "
		       "install it, or let FOLDFS_PYTHON name one; a file with a published index "
		       "needs none",
		       python_program());
}

int maker_start(pid_t *ret_process, int *ret_socket, struct err *err)
{
	SCOPE(buf_release) struct buf script = BUF_INIT;
	int r = python_script("sources", "index", &script);
	pid_t pid;

	if (r < 0)
		return err_set(err, -EOPNOTSUPP,
			       "not a pack; index.py, which reads other formats, is not installed "
			       "beside the program");
	pid = fork_with_socket(SOCK_STREAM, ret_socket);
	if (pid == 0)
		run(*ret_socket, script.data);
	if (pid < 0)
		return err_set(err, pid, "cannot start a process: %s", strerror(-pid));
	*ret_process = pid;
	return 0;
}
