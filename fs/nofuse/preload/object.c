/* What is preloaded into the processes of a job: see preload.h. It needs nothing of a C library but
 * errno, the environment and memory of each thread, so that it serves programs of all of them;
 * signals.c tells musl of handlers. What it calls by a name of the C library is its own
 * (-Bsymbolic): what the user preloads may lie before it.
 *
 * What is on another device than the folder that shows the pack, and not in memory, is not of it;
 * nor is what is not there, where the folder that it would be in is on another device. What is on
 * that device is not of the pack if the path says so, no link is on the way, and that leads through
 * the same mount, in which the folder of the pack is where it was. All else, as each relative path,
 * is asked as ever, and so is what failed.
 *
 * A call is marked by a sixth argument, which these calls have not, and which is right at this one
 * instruction only: what is left of it in a register marks nothing in a signal handler. */
#include "fs/nofuse/preload/object.h"
#include "fs/nofuse/preload.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* they are the C library's */

#if defined(__x86_64__) || defined(__aarch64__)

#define KIND	 0170000 /* of st_mode */
#define FOLDER	 0040000
#define LINK	 0120000
#define STRAIGHT (0x2 | 0x4) /* openat2(2): RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS */
#define LEAVES	 (O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW)
#define ROOM	 4096 /* PATH_MAX */
#define PIECE	 4096 /* memory is mapped by so much, or by a multiple */

extern char **environ __attribute__((weak));
int *__errno_location(void) __attribute__((weak));

static struct {
	bool known; /* what follows is: */
	unsigned long mark, memory, device, inode, mount, odd;
	char path[ROOM];
} job;

/* --- calls ----------------------------------------------------------------------------------- */

/* Written while the thread waits for what it opens, and by its signal handlers, which open files,
 * too. Within one page, so that it is written as a whole. */
static __thread volatile struct preload_told last
	__attribute__((tls_model("initial-exec"), aligned(256)));

static __attribute__((noinline)) long call(unsigned long mark, long number, long a, const void *b,
					   const void *c, long d, volatile void *e)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register volatile void *r8 __asm__("r8") = e;
	register unsigned long r9 __asm__("r9") = mark;

	__asm__ volatile(
		"lea 1f(%%rip), %%rcx\n\t"
		"xor %%rcx, %%r9\n\t"
		"syscall\n1:"
		: "+a"(number), "+r"(r9)
		: "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
		: "rcx", "r11", "memory");
	return number;
#else
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x3 __asm__("x3") = d;
	register const void *x1 __asm__("x1") = b, *x2 __asm__("x2") = c;
	register volatile void *x4 __asm__("x4") = e;
	register unsigned long x5 __asm__("x5") = mark;

	__asm__ volatile(
		"adr x9, 1f\n\t"
		"eor x5, x5, x9\n\t"
		"svc 0\n1:"
		: "+r"(x0), "+r"(x5)
		: "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
		: "x9", "memory");
	return x0;
#endif
}

long object_call(unsigned long mark, long number, long a, const void *b, const void *c, long d)
{
	return call(mark, number, a, b, c, d, &last);
}

int object_result(long r)
{
	if (r >= 0)
		return (int)r;
	if (__errno_location)
		*__errno_location() = (int)-r;
	return -1;
}

static void close_it(int fd)
{
	object_call(0, __NR_close, fd, NULL, NULL, 0);
}

/* --- the job --------------------------------------------------------------------------------- */

static unsigned long take_number(const char **text)
{
	unsigned long number = 0;

	for (; **text > ' '; ++*text)
		number = number * 16 + (unsigned)(**text <= '9' ? **text - '0' : **text - 'a' + 10);
	*text += **text == ' ';
	return number;
}

static void learn(const char *text)
{
	size_t i = 0;

	job.mark = take_number(&text);
	job.memory = take_number(&text);
	job.device = take_number(&text);
	job.inode = take_number(&text);
	job.mount = take_number(&text);
	job.odd = take_number(&text);
	for (; text[i] && i < ROOM - 1; i++)
		job.path[i] = text[i];
}

/* Threads that look at the same time find the same. */
unsigned long object_mark(void)
{
	static const char name[] = PRELOAD_VARIABLE "=";

	if (__atomic_load_n(&job.known, __ATOMIC_ACQUIRE))
		return job.mark;
	if (!&environ || !environ)
		return 0;
	for (char **at = environ; *at; at++) {
		size_t i = 0;

		while (name[i] && (*at)[i] == name[i])
			i++;
		if (!name[i])
			learn(*at + i);
	}
	__atomic_store_n(&job.known, true, __ATOMIC_RELEASE);
	return job.mark;
}

/* --- what is elsewhere ----------------------------------------------------------------------- */

/* Whether the kernel could read eight bytes around an address: it does before it finds that it is
 * not told what to do with them. */
static bool is_readable(const char *at)
{
	const char *word = at - (unsigned long)at % 8;

	return word && object_call(0, __NR_rt_sigprocmask, -1, word, NULL, 8) != -EFAULT;
}

static bool needs_thought(const char *at)
{
	bool ends = !*at || *at == '/' || *at == '.';

	return (*at == '/' && at[-1] == '/') || (ends && at[-1] == '.' && at[-2] == '/');
}

/* Whether a path says so: it is absolute, has nothing that needs thought, and is not below that of
 * the folder. One that cannot be read to its end does not. */
static bool is_far(const char *path)
{
	size_t same = 0, len = 0;

	if (!object_mark())
		return false;
	do {
		const char *at = path + len;
		bool new = !len || (unsigned long)at % PIECE == 0;

		if (len == ROOM || (new && !is_readable(at)) ||
		    (len ? needs_thought(at) : *at != '/'))
			return false;
	} while (path[len++]);
	while (job.path[same] && path[same] == job.path[same])
		same++;
	return job.path[same] || (path[same] && path[same] != '/');
}

/* Opens what no link leads to. */
static int reach(const char *path, int flags)
{
	const unsigned long how[3] = {(unsigned)flags, 0, STRAIGHT}; /* struct open_how */

	return (int)object_call(job.mark, __NR_openat2, AT_FDCWD, path, how, sizeof(how));
}

static bool stat_open(int fd, struct stat *ret)
{
	return object_call(job.mark, __NR_fstat, fd, ret, NULL, 0) == 0;
}

/* Whether the folder is where it was. */
static bool stayed(void)
{
	int fd = reach(job.path, O_PATH | O_CLOEXEC);
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = stat_open(fd, &st) && st.st_dev == job.device && st.st_ino == job.inode;
	close_it(fd);
	return is;
}

/* Not so of all that is elsewhere. What is no folder has not always the device of its folder:
 * overlayfs. */
static bool is_other(const struct stat *st)
{
	return st->st_dev != job.device && st->st_dev != job.memory &&
	       ((st->st_mode & KIND) == FOLDER || !job.odd);
}

/* Of what is open: what the pack has is a folder, or a file in memory. */
static bool is_other_open(const struct stat *st)
{
	unsigned kind = st->st_mode & KIND;

	return kind != LINK && st->st_dev != (kind == FOLDER ? job.device : job.memory);
}

/* A folder, link or file that is open. */
struct place {
	unsigned kind;
	bool near; /* on the device of the folder of the pack */
	bool in_memory, same_mount;
};

static bool look(int fd, struct place *ret)
{
	struct statx st;
	unsigned long device;

	if (call(job.mark, __NR_statx, fd, "", (const void *)AT_EMPTY_PATH,
		 STATX_TYPE | STATX_MNT_ID, &st) < 0)
		return false;
	device = st.stx_dev_major << 8 | (st.stx_dev_minor & 0xff) |
		 (st.stx_dev_minor & ~0xffUL) << 12;
	*ret = (struct place){st.stx_mode & KIND, device == job.device, device == job.memory,
			      st.stx_mnt_id == job.mount};
	return true;
}

/* What is not there would be in a folder, which may not be there, either. */
static bool is_folder_other(const char *path)
{
	char above[ROOM];
	struct place place;
	size_t len = 0;
	int fd;

	for (; path[len] && len < ROOM - 1; len++)
		above[len] = path[len];
	do {
		while (len > 1 && above[len - 1] != '/')
			len--;
		len -= len > 1;
		above[len] = '\0';
		fd = reach(above, O_PATH | O_CLOEXEC);
	} while (fd == -ENOENT && len > 1);
	if (fd < 0)
		return false;
	len = look(fd, &place);
	close_it(fd);
	return len && (!place.near || (place.same_mount && stayed()));
}

/* Whether what is open, on the straight way that the path says, is not of the pack. In the mount of
 * that, its folders and links are seen in one place; files are in memory. */
static bool is_other_straight(const char *path, int fd)
{
	struct place place;

	if (!look(fd, &place) || place.in_memory)
		return false;
	if (place.same_mount)
		return (place.kind != FOLDER && place.kind != LINK) || stayed();
	if (place.kind == FOLDER || !job.odd)
		return !place.near;
	return is_folder_other(path);
}

/* Whether what was said of a path, 0 or -ENOENT, holds on the straight way. */
static bool is_straight(const char *path, int flags, long said)
{
	bool is;
	int fd;

	if (said != 0 && said != -ENOENT)
		return false;
	fd = reach(path, O_PATH | O_CLOEXEC | flags);
	if (fd < 0)
		return fd == said && is_folder_other(path);
	is = said == 0 && is_other_straight(path, fd);
	close_it(fd);
	return is;
}

/* --- what is of the pack ---------------------------------------------------------------------- */

static bool is_last(const struct stat *st)
{
	return st->st_ino == last.inode && st->st_dev == last.device &&
	       (uint64_t)st->st_ctime == last.seconds &&
	       (uint64_t)st->st_ctime_nsec == last.nanoseconds && st->st_uid == last.uid &&
	       st->st_gid == last.gid;
}

/* What an open file in memory is, if it is the last that the thread was told of. */
static bool stat_last(struct stat *st)
{
	union {
		uint64_t words[sizeof(struct stat) / sizeof(uint64_t)];
		struct stat st;
	} file;

	if (!is_last(st))
		return false;
	for (size_t i = 0; i < sizeof(file.words) / sizeof(*file.words); i++)
		file.words[i] = last.stat[i];
	if (!is_last(st))
		return false;
	*st = file.st;
	return true;
}

/* --- what takes the place of the C library's ------------------------------------------------- */

static int open_at(int at, const char *path, int flags, long mode)
{
	if (!(flags & ~LEAVES) && is_far(path)) {
		int fd = reach(path, flags);

		if (fd == -EINTR || (fd == -ENOENT && is_folder_other(path)) ||
		    (fd >= 0 && is_other_straight(path, fd)))
			return object_result(fd);
		if (fd >= 0)
			close_it(fd);
	}
	return object_result(object_call(object_mark() ? PRELOAD_TELL(job.mark) : 0, __NR_openat,
					 at, path, (void *)(long)flags, mode));
}

#define TAKE_MODE(mode)                        \
	long mode = 0;                         \
                                               \
	if (flags & (O_CREAT | __O_TMPFILE)) { \
		va_list list;                  \
                                               \
		va_start(list, flags);         \
		mode = va_arg(list, int);      \
		va_end(list);                  \
	}

int open(const char *path, int flags, ...)
{
	TAKE_MODE(mode)
	return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	TAKE_MODE(mode)
	return open_at(at, path, flags, mode);
}

int fstatat(int at, const char *path, struct stat *st, int flags)
{
	if (is_far(path)) {
		long r = object_call(job.mark, __NR_newfstatat, at, path, st, flags);

		if ((r == 0 && is_other(st)) ||
		    is_straight(path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0, r))
			return object_result(r);
	}
	return object_result(object_call(0, __NR_newfstatat, at, path, st, flags));
}

int stat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
	if (object_mark() && stat_open(fd, st) && (is_other_open(st) || stat_last(st)))
		return 0;
	return object_result(object_call(0, __NR_fstat, fd, st, NULL, 0));
}

/* As programs call them that were built before glibc 2.33, by versions of one struct stat. */
#if defined(__x86_64__)
#define NEWEST 1
#else
#define NEWEST 0
#endif

int __xstat(int version, const char *path, struct stat *st)
{
	return version & ~NEWEST ? object_result(-EINVAL) : stat(path, st);
}

int __lxstat(int version, const char *path, struct stat *st)
{
	return version & ~NEWEST ? object_result(-EINVAL) : lstat(path, st);
}

int __fxstat(int version, int fd, struct stat *st)
{
	return version & ~NEWEST ? object_result(-EINVAL) : fstat(fd, st);
}

int __fxstatat(int version, int at, const char *path, struct stat *st, int flags)
{
	return version & ~NEWEST ? object_result(-EINVAL) : fstatat(at, path, st, flags);
}

#define SAME(name) extern __typeof__(name) name##64 __attribute__((alias(#name)))

SAME(open);
SAME(openat);
SAME(stat);
SAME(lstat);
SAME(fstat);
SAME(fstatat);
SAME(__xstat);
SAME(__lxstat);
SAME(__fxstat);
SAME(__fxstatat);

#endif
