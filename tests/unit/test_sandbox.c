/* What a process in the sandbox can still do, and what it cannot: fs/sandbox.h. Each try is made by
 * a process of its own. And the helper that is outside: fs/helper.h. */
#include "fs/helper.h"
#include "fs/sandbox.h"
#include "tests/unit/scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_FOLDER -1
#define WORKS	  0

static const struct sandbox local = {.folder = NO_FOLDER};
static const struct sandbox far = {.network = true, .folder = NO_FOLDER};
static const struct sandbox with_programs = {
	.network = true, .programs = true, .folder = NO_FOLDER};

/* Tries something in a sandbox. Returns its errno, 0 if it works. */
static int try_in(const struct sandbox *sandbox, int (*attempt)(void))
{
	pid_t pid = fork();
	int how;

	if (pid == 0) {
		sandbox_enter(sandbox);
		_exit(attempt() < 0 ? errno : WORKS);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFEXITED(how));
	return WEXITSTATUS(how);
}

/* The parts that hold on this machine. */
static unsigned parts(void)
{
	pid_t pid = fork();
	int how;

	if (pid == 0)
		_exit((int)sandbox_enter(&local));
	assert_int_equal(waitpid(pid, &how, 0), pid);
	return (unsigned)WEXITSTATUS(how);
}

static void need(unsigned part)
{
	if (!(parts() & part)) {
		print_message("not on this kernel, or not with this build\n");
		skip();
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

static int make_mount(void)
{
	return mount("none", "/", "tmpfs", 0, NULL);
}

static int make_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int make_process_in_namespace(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return (int)pid;
}

static int read_memory_of_parent(void)
{
	return (int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static int load_filter(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static int call_of_x32(void)
{
	return (int)syscall(0x40000000 | SYS_getpid);
}

static void calls_that_no_daemon_needs_fail(void **state)
{
	(void)state;
	need(SANDBOX_SECCOMP);
	for (size_t i = 0; i < 2; i++) {
		const struct sandbox *sandbox = i ? &with_programs : &local;

		assert_int_equal(try_in(sandbox, make_mount), EPERM);
		assert_int_equal(try_in(sandbox, make_namespace), EPERM);
		assert_int_equal(try_in(sandbox, make_process_in_namespace), EPERM);
		assert_int_equal(try_in(sandbox, read_memory_of_parent), EPERM);
		assert_int_equal(try_in(sandbox, load_filter), EPERM);
		assert_int_equal(try_in(sandbox, call_of_x32), ENOSYS);
	}
}

static int run_program(void)
{
	return execl("/bin/true", "true", NULL);
}

static int speak_to_network(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int speak_to_syslog(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int speak_to_service(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void the_log_still_works(void **state)
{
	(void)state;
	assert_int_equal(try_in(&local, speak_to_syslog), WORKS);
}

static void only_packs_on_servers_need_the_network(void **state)
{
	(void)state;
	need(SANDBOX_SECCOMP);
	assert_int_equal(try_in(&local, speak_to_network), EPERM);
	assert_int_equal(try_in(&local, speak_to_service), EPERM);
	assert_int_equal(try_in(&far, speak_to_network), WORKS);
	assert_int_equal(try_in(&far, speak_to_service), WORKS);
}

static void only_credentials_need_programs(void **state)
{
	(void)state;
	need(SANDBOX_SECCOMP);
	assert_int_equal(try_in(&local, run_program), EPERM);
	assert_int_equal(try_in(&far, run_program), EPERM);
	assert_int_equal(try_in(&with_programs, run_program), WORKS);
}

/* --- privileges ------------------------------------------------------------------------------- */

static int has_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	syscall(SYS_capget, &header, data);
	errno = EPERM;
	return data[0].permitted || data[1].permitted || data[0].effective ||
			       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1
		       ? 0
		       : -1;
}

static void no_capability_is_left(void **state)
{
	(void)state;
	assert_int_equal(try_in(&local, has_privileges), EPERM);
}

/* --- files ------------------------------------------------------------------------------------ */

static char place[] = "/tmp/sandbox-XXXXXX";

static int make_file(void)
{
	char path[sizeof(place) + 8];

	snprintf(path, sizeof(path), "%s/new", place);
	return open(path, O_WRONLY | O_CREAT, 0600);
}

static int write_to_null(void)
{
	return open("/dev/null", O_WRONLY);
}

static int read_a_file(void)
{
	return open("/proc/self/mountinfo", O_RDONLY);
}

static void nothing_is_written_but_in_the_folder(void **state)
{
	struct sandbox with_folder = local;

	(void)state;
	need(SANDBOX_LANDLOCK);
	assert_non_null(mkdtemp(place));
	assert_int_equal(try_in(&local, make_file), EACCES);
	assert_int_equal(try_in(&local, write_to_null), WORKS);
	assert_int_equal(try_in(&local, read_a_file), WORKS);
	with_folder.folder = open(place, O_RDONLY | O_DIRECTORY);
	assert_int_equal(try_in(&with_folder, make_file), WORKS);
	close(with_folder.folder);
	scratch_remove(place);
}

/* --- the helper ------------------------------------------------------------------------------- */

static int count_descriptors(void *context, char task)
{
	int count = 0;

	(void)context;
	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return task == 'd' ? count : -EINVAL;
}

static void a_helper_acts_without_our_descriptors(void **state)
{
	struct helper helper = HELPER_NONE;

	(void)state;
	assert_int_equal(helper_start(count_descriptors, NULL, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'd'), 4);
	assert_int_equal(helper_ask(&helper, 'x'), -EINVAL);
	helper_release(&helper);
	helper_release(&helper);
}

static void a_helper_that_was_killed_is_told_of(void **state)
{
	struct helper helper = HELPER_NONE;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(helper_start(count_descriptors, NULL, &helper), 0);
	kill(helper.pid, SIGKILL);
	assert_int_equal(helper_ask(&helper, 'd'), -EPIPE);
	helper_release(&helper);
}

static int note(void *context, char task)
{
	*(char *)context = task;
	return 0;
}

static void what_a_process_asked_for_before_it_was_killed_is_not_done(void **state)
{
	char *done = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct helper helper = HELPER_NONE;

	(void)state;
	assert_ptr_not_equal(done, MAP_FAILED);
	assert_int_equal(helper_start(note, done, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'a'), 0);
	kill(helper.pid, SIGSTOP);
	assert_int_equal(waitpid(helper.pid, NULL, WUNTRACED), helper.pid);
	assert_int_equal(write(helper.socket, "b", 1), 1);
	close(helper.socket);
	kill(helper.pid, SIGCONT);
	assert_int_equal(waitpid(helper.pid, NULL, 0), helper.pid);
	assert_int_equal(*done, 'a');
	munmap(done, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_no_daemon_needs_fail),
		cmocka_unit_test(the_log_still_works),
		cmocka_unit_test(only_packs_on_servers_need_the_network),
		cmocka_unit_test(only_credentials_need_programs),
		cmocka_unit_test(no_capability_is_left),
		cmocka_unit_test(nothing_is_written_but_in_the_folder),
		cmocka_unit_test(a_helper_acts_without_our_descriptors),
		cmocka_unit_test(a_helper_that_was_killed_is_told_of),
		cmocka_unit_test(what_a_process_asked_for_before_it_was_killed_is_not_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
