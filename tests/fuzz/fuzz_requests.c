/* Whatever a kernel asks: each request of a mount is answered once, by a reply of the length that
 * it says, and a READ with no more bytes than were asked for. The requests go through libfuse into
 * fs/ops.c; no kernel and no session is needed.
 *
 * What any kernel promises holds here too: inodes exist and are of the kind that the request is
 * for, and requests are complete. The input begins with a byte (bit 0: foldfs checks modes; bit 1:
 * root asks; bit 2: the group may do less than others; bit 3: the process is in that group), then
 * come requests: u8: which; u8: of which inode; u8 * 4: bytes of the arguments. With bit 4, what
 * comes is the file of `--order`. */
#include "base/math.h"
#include "base/scope.h"
#include "fs/mount_internal.h"
#include "fs/order.h"
#include "fs/order_ioctl.h"
#include "fs/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_pack.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENTS sizeof(struct order_batch) + 1024
#define READ_MAX  (1u << 20)

static const struct {
	enum fuse_opcode opcode;
	enum format_kind kind; /* 0: any */
} requests[] = {
	{FUSE_LOOKUP, FORMAT_DIRECTORY},
	{FUSE_READDIR, FORMAT_DIRECTORY},
	{FUSE_READDIRPLUS, FORMAT_DIRECTORY},
	{FUSE_OPENDIR, FORMAT_DIRECTORY},
	{FUSE_READ, FORMAT_FILE},
	{FUSE_OPEN, FORMAT_FILE},
	{FUSE_READLINK, FORMAT_SYMLINK},
	{FUSE_GETATTR, 0},
	{FUSE_ACCESS, 0},
	{FUSE_GETXATTR, 0},
	{FUSE_IOCTL, 0},
	{FUSE_STATFS, 0},
	{FUSE_FORGET, 0},
	{FUSE_BATCH_FORGET, 0},
	{FUSE_INTERRUPT, 0},
	{FUSE_LISTXATTR, 0},
	{FUSE_WRITE, 0}, /* and whatever else a read-only filesystem has not */
};

static struct {
	struct fuse_session *fuse;
	struct mount *mount;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	uint64_t unique; /* protected by lock: of the request; 0: it is answered */
	size_t most;	 /* bytes of its reply */
	uint64_t sent;
	uint32_t uid, gid;
} fuzz = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

/* --- in place of the kernel and of fs/session.c ----------------------------------------------- */

struct mount *session_shows(const struct session *session)
{
	(void)session;
	return fuzz.mount;
}

void session_ready(struct session *session)
{
	(void)session;
}

/* Replies to an INTERRUPT have odd numbers. */
static ssize_t reply(int fd, struct iovec *iov, int count, void *userdata)
{
	const struct fuse_out_header *header = iov[0].iov_base;
	size_t len = 0;

	(void)fd;
	(void)userdata;
	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	must(len == header->len && header->error <= 0 && header->error > -512);
	if (header->unique % 2)
		return (ssize_t)len;
	pthread_mutex_lock(&fuzz.lock);
	must(header->unique == fuzz.unique && len <= fuzz.most + sizeof(*header));
	fuzz.unique = 0;
	pthread_cond_signal(&fuzz.answered);
	pthread_mutex_unlock(&fuzz.lock);
	return (ssize_t)len;
}

static ssize_t receive(int fd, void *buf, size_t len, void *userdata)
{
	(void)fd;
	(void)buf;
	(void)len;
	(void)userdata;
	return 0;
}

static void wait_for_answer(void)
{
	pthread_mutex_lock(&fuzz.lock);
	while (fuzz.unique)
		pthread_cond_wait(&fuzz.answered, &fuzz.lock);
	pthread_mutex_unlock(&fuzz.lock);
}

/* Only an INTERRUPT may be sent before the last request is answered. `message` has room for the
 * header. */
static void send_request(enum fuse_opcode opcode, uint64_t ino, void *message, size_t len)
{
	struct fuse_in_header *header = message;
	bool forgets = opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET;
	bool interrupts = opcode == FUSE_INTERRUPT;

	fuzz.sent += 2;
	*header = (struct fuse_in_header){.len = (uint32_t)(sizeof(*header) + len),
					  .opcode = opcode,
					  .unique = fuzz.sent + interrupts,
					  .nodeid = ino,
					  .uid = fuzz.uid,
					  .gid = fuzz.gid,
					  .pid = (uint32_t)getpid()};
	if (!forgets && !interrupts)
		fuzz.unique = header->unique;
	fuse_session_process_buf(fuzz.fuse,
				 &(struct fuse_buf){.mem = message, .size = header->len});
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t inode_of_kind(unsigned from, enum format_kind kind)
{
	uint32_t count = dataset_entries(fuzz.mount->dataset);
	struct dataset_entry e;

	for (uint32_t i = 0; i < count; i++) {
		e = dataset_entry(fuzz.mount->dataset, (from + i) % count);
		if (!kind || e.kind == kind)
			return tree_ino(&fuzz.mount->tree, e.inode);
	}
	abort();
}

/* Without a kernel (fs/nofuse), the tree says which path leads to an entry, and of who asks only
 * the process is known: that may do what its user may. */
static void must_be_found(uint32_t entry, int access)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const struct tree *tree = &fuzz.mount->tree;
	struct tree_user process = {.pid = getpid()};
	struct tree_user user = {
		.pid = getpid(), .known = true, .uid = geteuid(), .gid = getegid()};
	uint32_t found;

	must(tree_path(tree, entry, &path) == 0);
	must(tree_find(tree, path.data, path.len, &found) == 0 && found == entry);
	must(tree_access(tree, entry, access, &process) == tree_access(tree, entry, access, &user));
}

/* What the kernel promises of the arguments, and what is expected of the reply. Returns how long
 * they are. */
static size_t complete(enum fuse_opcode opcode, void *args, size_t len)
{
	struct fuse_read_in *read = args;
	struct fuse_ioctl_in *ioctl = args;
	struct fuse_batch_forget_in *batch = args;
	struct fuse_forget_one *one = (void *)(batch + 1);

	if (opcode != FUSE_INTERRUPT)
		fuzz.most = SIZE_MAX / 2;
	if (opcode == FUSE_READ || opcode == FUSE_READDIR || opcode == FUSE_READDIRPLUS) {
		read->offset &= INT64_MAX;
		read->size %= READ_MAX + 1;
		fuzz.most = read->size;
	} else if (opcode == FUSE_IOCTL) {
		ioctl->in_size = ioctl->cmd % 2 ? sizeof(struct order_batch) : 0;
		ioctl->cmd = ioctl->cmd % 2 ? ORDER_IOCTL : ioctl->cmd;
	} else if (opcode == FUSE_BATCH_FORGET) {
		batch->count = (uint32_t)(len / sizeof(*one));
		for (uint32_t i = 0; i < batch->count; i++)
			one[i].nodeid = inode_of_kind((unsigned)one[i].nodeid % 256, 0);
	} else if (opcode == FUSE_INTERRUPT) {
		((struct fuse_interrupt_in *)args)->unique = fuzz.sent;
	}
	return opcode == FUSE_IOCTL ? sizeof(*ioctl) + ioctl->in_size : len;
}

static void begin(void)
{
	static char path[] = "/tmp/fuzz_requests.XXXXXX", quiet[] = "-q", name[] = "foldfs",
		    oracle[] = "--oracle=off", folder[] = "/mnt";
	static char *argv[] = {name, quiet, oracle, path, folder, NULL};
	static const struct fuse_custom_io io = {.writev = reply, .read = receive};
	static struct settings settings;
	static union {
		struct fuse_in_header header;
		uint8_t bytes[sizeof(struct fuse_in_header) + sizeof(struct fuse_init_in)];
	} init;
	struct fuse_init_in *in = (void *)(&init.header + 1);
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	enum opt_want want;
	struct err err = {{0}};

	small_pack_make(path);
	must(settings_parse(&settings, 5, argv, &want, &err) == 0);
	must(mount_new(&settings, &fuzz.mount, &err) == 0);
	unlink(path);
	must(cache_start(fuzz.mount->cache) == 0);
	fuzz.fuse = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), NULL);
	fuse_opt_free_args(&args);
	must(fuzz.fuse && fuse_session_custom_io(fuzz.fuse, &io, open("/dev/null", O_RDWR)) == 0);
	*in = (struct fuse_init_in){.major = 7, .minor = 36, .flags = UINT32_MAX >> 1};
	fuzz.most = SIZE_MAX / 2;
	send_request(FUSE_INIT, 0, &init, sizeof(*in));
}

static void load_order(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	struct err err = {{0}};
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(order_load(&fuzz.mount->tree, fuzz.mount->cache, path, &err) == 0 || err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union {
		struct fuse_in_header header;
		uint8_t bytes[sizeof(struct fuse_in_header) + ARGUMENTS];
	} message;
	uint8_t *args = message.bytes + sizeof(message.header);
	size_t at = 1;

	if (!fuzz.fuse)
		begin();
	if (size == 0)
		return 0;
	wait_for_answer();
	fuzz.mount->checks_modes = data[0] & 1;
	fuzz.uid = data[0] & 2 ? 0 : 1000;
	fuzz.mount->tree.umask = data[0] & 4 ? 0070 : UINT64_MAX;
	fuzz.gid = data[0] & 8 ? getgid() : 1000;
	if (data[0] & 16)
		load_order(data + 1, size - 1);
	if (data[0] & 16)
		return 0;
	while (size - at >= 3) {
		size_t which = data[at] % (sizeof(requests) / sizeof(*requests));
		uint64_t ino = inode_of_kind(data[at + 1], requests[which].kind);
		size_t len = min(4u * data[at + 2], size - at - 3);

		must_be_found(tree_entry(&fuzz.mount->tree, ino), data[at + 1] & (R_OK | X_OK));
		if (requests[which].opcode != FUSE_INTERRUPT)
			wait_for_answer();
		memset(args, 0, ARGUMENTS);
		memcpy(args, data + at + 3, len);
		at += 3 + len;
		len = complete(requests[which].opcode, args, len);
		send_request(requests[which].opcode, ino, &message, max(len, (size_t)128));
	}
	wait_for_answer();
	return 0;
}
