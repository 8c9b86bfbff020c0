/* Handlers of signals. A call that waits for foldfs is repeated after each of them, since all are
 * installed with SA_RESTART (fs/nofuse/calls.c). Who asks for a handler without it wants calls that
 * wait for something else to end: read(2) of a pipe, wait4(2), sem_wait(3). So such handlers are
 * called by one of ours, which looks at what was interrupted.
 *
 * The kernel repeats a call by leaving the thread at its instruction, with its number in the
 * register for that. Where the call is one of those that signal(7) names, ours steps over the
 * instruction, with EINTR for a result. A signal may also come just before such a call, which then
 * has ended as if that had been a moment later. What waits for no file of a disk is all the same;
 * and who opens something waits for a FIFO alone: of devices, only lines to modems let one wait.
 *
 * A child of vfork(2) has the handlers of its parent, and may set actions that are none. */
#include "fs/nofuse/preload/object.h"
#include <asm/sigcontext.h>
#include <asm/signal.h>
#include <asm/stat.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* they are the C library's */

#if defined(__x86_64__) || defined(__aarch64__)

#define SIGNALS	   64
#define LIBRARY	   32	   /* the first of two that a C library has for itself */
#define KIND	   0170000 /* of st_mode */
#define FIFO	   0010000
#define FOLDER	   0040000
#define DISK	   0060000
#define REGULAR	   0100000
#define LOCK_WAITS 38		/* F_OFD_SETLKW */
#define NEXT	   ((void *)-1) /* RTLD_NEXT */

/* struct sigaction of a C library. */
struct action {
	void (*handler)(int);
	unsigned long mask[16];
	int flags;
	void (*restorer)(void);
};

/* What was asked for last, by the number of the signal. */
static struct handler {
	void (*call)(int number, void *info, void *context);
	int flags;
} handlers[SIGNALS + 1];

/* --- what was interrupted -------------------------------------------------------------------- */

#if defined(__x86_64__)
#define PLACE(thread)	 ((thread)->rip)
#define NUMBER(thread)	 ((thread)->rax)
#define RESULT(thread)	 ((thread)->rax)
#define FIRST(thread)	 ((thread)->rdi)
#define SECOND(thread)	 ((thread)->rsi)
#define THIRD(thread)	 ((thread)->rdx)
#define INSTRUCTION_TYPE uint16_t
#define INSTRUCTION	 0x050f /* syscall */
#else
#define PLACE(thread)	 ((thread)->pc)
#define NUMBER(thread)	 ((thread)->regs[8])
#define RESULT(thread)	 ((thread)->regs[0])
#define FIRST(thread)	 ((thread)->regs[0])
#define SECOND(thread)	 ((thread)->regs[1])
#define THIRD(thread)	 ((thread)->regs[2])
#define INSTRUCTION_TYPE uint32_t
#define INSTRUCTION	 0xd4000001 /* svc #0 */
#endif

static bool is_slow_file(uint64_t fd)
{
	struct stat st;
	unsigned kind;

	if (object_call(object_mark(), __NR_fstat, (int)fd, &st, NULL, 0) < 0)
		return false;
	kind = st.st_mode & KIND;
	return kind != REGULAR && kind != FOLDER && kind != DISK;
}

/* By flags of open(2): who opens both ends waits for nobody. */
static bool is_slow_path(long at, uint64_t path, uint64_t flags)
{
	struct stat st;

	return !(flags & (O_NONBLOCK | O_PATH)) && (flags & O_ACCMODE) != O_RDWR &&
	       object_call(object_mark(), __NR_newfstatat, at, (const void *)path, &st, 0) == 0 &&
	       (st.st_mode & KIND) == FIFO;
}

/* Whether this call, which would be repeated, is to end: those of signal(7) that are repeated only
 * with SA_RESTART, but for what waits for foldfs. */
static bool is_slow(const struct sigcontext *thread)
{
	switch (NUMBER(thread)) {
	case __NR_read:
	case __NR_readv:
	case __NR_preadv2:
	case __NR_write:
	case __NR_writev:
	case __NR_pwritev2:
	case __NR_ioctl:
	case __NR_splice:
	case __NR_vmsplice:
	case __NR_tee:
		return is_slow_file(FIRST(thread));
	case __NR_sendfile:
		return is_slow_file(FIRST(thread)) || is_slow_file(SECOND(thread));
	case __NR_accept:
	case __NR_accept4:
	case __NR_connect:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_wait4:
	case __NR_waitid:
	case __NR_flock:
	case __NR_mq_timedreceive:
	case __NR_mq_timedsend:
	case __NR_getrandom:
#ifdef __NR_futex_wait
	case __NR_futex_wait:
#endif
#ifdef __NR_futex_waitv
	case __NR_futex_waitv:
#endif
		return true;
	case __NR_fcntl:
		return SECOND(thread) == F_SETLKW || SECOND(thread) == LOCK_WAITS;
	case __NR_futex:
		return (SECOND(thread) & (unsigned)FUTEX_CMD_MASK) == FUTEX_WAIT ||
		       (SECOND(thread) & (unsigned)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	case __NR_openat:
		return is_slow_path((int)FIRST(thread), SECOND(thread), THIRD(thread));
	case __NR_openat2: /* its flags are elsewhere */
		return is_slow_path((int)FIRST(thread), SECOND(thread), 0);
#ifdef __NR_open
	case __NR_open:
		return is_slow_path(AT_FDCWD, FIRST(thread), SECOND(thread));
	case __NR_creat:
		return is_slow_path(AT_FDCWD, FIRST(thread), O_WRONLY);
#endif
	default:
		return false;
	}
}

static void on_signal(int number, void *info, void *context)
{
	struct sigcontext *thread = &((struct ucontext *)context)->uc_mcontext;

	if (*(const INSTRUCTION_TYPE *)PLACE(thread) == INSTRUCTION && is_slow(thread)) {
		RESULT(thread) = (uint64_t)-EINTR;
		PLACE(thread) += sizeof(INSTRUCTION_TYPE);
	}
	__atomic_load_n(&handlers[number].call, __ATOMIC_ACQUIRE)(number, info, context);
}

/* --- what takes the place of the C library's ------------------------------------------------- */

#if defined(__x86_64__)
/* Unwinders know it by these bytes. They look for a function one byte before it. */
__asm__(".text\n\t"
	".balign 16\n\t"
	"nop\n"
	"object_restore:\n\t"
	"mov $15, %rax\n\t"
	"syscall\n\t"
	".balign 16");
__attribute__((visibility("hidden"))) void object_restore(void);
#define RESTORER     object_restore
#define RESTORER_SET SA_RESTORER
#else
#define RESTORER     NULL
#define RESTORER_SET 0
#endif

/* What another C library than glibc knows of handlers has effects: musl's sem_wait(3) goes on after
 * a signal unless it has seen one without SA_RESTART. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

static int (*library_sigaction)(int number, const struct action *action, struct action *old);

__attribute__((constructor)) static void find_library(void)
{
	if (!gnu_get_libc_version && dlsym)
		library_sigaction = dlsym(NEXT, "sigaction");
}

/* What a thread does itself leads to it, wherever that is: there may be nothing to look at. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
	       number == SIGTRAP || number == SIGSYS;
}

int sigaction(int number, const struct action *action, struct action *old)
{
	struct sigaction set, was = {0};
	struct handler before;
	long r;

	if (number < 1 || number > SIGNALS || number == LIBRARY || number == LIBRARY + 1)
		return object_result(-EINVAL);
	object_call(0, __NR_rt_sigaction, number, NULL, &was, sizeof(was.sa_mask));
	if (action && library_sigaction && library_sigaction(number, action, NULL) < 0)
		return -1;
	before = handlers[number];
	if (action) {
		set = (struct sigaction){.sa_handler = action->handler,
					 .sa_flags = (unsigned)action->flags | RESTORER_SET,
					 .sa_restorer = RESTORER};
		__builtin_memcpy(&set.sa_mask, action->mask, sizeof(set.sa_mask));
	}
	if (action && action->handler != SIG_DFL && action->handler != SIG_IGN) {
		handlers[number].flags = action->flags;
		__atomic_store_n(&handlers[number].call, (void *)action->handler, __ATOMIC_RELEASE);
		set.sa_flags |= SA_RESTART;
		if (!(action->flags & SA_RESTART) && !is_fault(number)) {
			set.sa_handler = (void *)on_signal;
			set.sa_flags |= SA_SIGINFO;
		}
	}
	r = action ? object_call(object_mark(), __NR_rt_sigaction, number, &set, NULL,
				 sizeof(set.sa_mask))
		   : 0;
	if (r < 0)
		handlers[number] = before;
	if (r < 0 || !old)
		return object_result(r);
	*old = (struct action){was.sa_handler, {0}, (int)was.sa_flags, was.sa_restorer};
	__builtin_memcpy(old->mask, &was.sa_mask, sizeof(was.sa_mask));
	if (was.sa_handler == (void *)on_signal ||
	    (was.sa_handler && was.sa_handler == (void *)before.call)) {
		old->handler = (void *)before.call;
		old->flags = before.flags;
	}
	return 0;
}

extern __typeof__(sigaction) __sigaction __attribute__((alias("sigaction")));

/* What a C library would do by a sigaction(2) of its own. */

static unsigned long interrupting; /* bits of signals, by siginterrupt(3) */

static unsigned long bit_of(int number)
{
	return number < 1 || number > SIGNALS ? 0 : 1UL << (number - 1);
}

static __sighandler_t set_handler(int number, __sighandler_t handler, unsigned long mask,
				  unsigned flags)
{
	const struct action action = {.handler = handler, .mask = {mask}, .flags = (int)flags};
	struct action old;
	int r = handler == SIG_ERR ? object_result(-EINVAL) : sigaction(number, &action, &old);

	return r < 0 ? SIG_ERR : old.handler;
}

__sighandler_t signal(int number, __sighandler_t handler)
{
	unsigned long bit = bit_of(number);

	return set_handler(number, handler, bit, interrupting & bit ? 0 : SA_RESTART);
}

__sighandler_t sysv_signal(int number, __sighandler_t handler)
{
	return set_handler(number, handler, 0, SA_RESETHAND | SA_NODEFER);
}

int siginterrupt(int number, int interrupts)
{
	struct action action;

	if (sigaction(number, NULL, &action) < 0)
		return -1;
	if (interrupts) {
		__atomic_or_fetch(&interrupting, bit_of(number), __ATOMIC_RELAXED);
		action.flags &= ~SA_RESTART;
	} else {
		__atomic_and_fetch(&interrupting, ~bit_of(number), __ATOMIC_RELAXED);
		action.flags |= SA_RESTART;
	}
	return sigaction(number, &action, NULL);
}

#define HOLD ((__sighandler_t)2) /* SIG_HOLD */

__sighandler_t sigset(int number, __sighandler_t handler)
{
	unsigned long bit = bit_of(number), before = 0;
	__sighandler_t was;
	struct action old;

	if (handler == HOLD)
		was = sigaction(number, NULL, &old) < 0 ? SIG_ERR : old.handler;
	else
		was = set_handler(number, handler, 0, 0);
	if (was != SIG_ERR)
		object_call(0, __NR_rt_sigprocmask, handler == HOLD ? SIG_BLOCK : SIG_UNBLOCK, &bit,
			    &before, sizeof(bit));
	return before & bit ? HOLD : was;
}

extern __typeof__(signal) bsd_signal __attribute__((alias("signal")));
extern __typeof__(signal) ssignal __attribute__((alias("signal")));
extern __typeof__(signal) __sysv_signal __attribute__((alias("sysv_signal")));

#endif
