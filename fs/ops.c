#include "base/math.h"
#include "base/scope.h"
#include "base/uapi.h"
#include "fs/life/mountpoint.h"
#include "fs/notify_store.h"
#include "fs/order_ioctl.h"
#include "fs/session.h"
#include <asm/termbits.h>
#include <dirent.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Nothing here ever changes, so the kernel may remember everything. About 30 years, because the
 * kernel adds the time to its clock. */
#define FOREVER	     1e9
#define FMODE_EXEC   0x20 /* of the kernel's open flags: the file is executed */
#define READ_MAX     ((CACHE_READ_EXTENTS - 1) * CACHE_EXTENT_MAX) /* wherever the read begins */
#define LISTING_MAX  65536 /* bytes of a reply, on the stack; glibc asks for 32 KiB */
#define STATS_GROWTH 64	   /* bytes that the stats may grow between two calls of getxattr(2) */

static struct mount *mount_of(fuse_req_t req)
{
	return session_shows(fuse_req_userdata(req));
}

static const struct tree *tree_of(fuse_req_t req)
{
	return mount_tree(mount_of(req));
}

/* From -errno to a reply; only op_getxattr() does without, whose ENODATA is no damage. For a reader
 * of a file, all that is wrong with the pack is EIO. */
static void reply_error(fuse_req_t req, int error)
{
	bool damaged = error == -EBADMSG || error == -ENODATA || error == -ESTALE;

	fuse_reply_err(req, damaged ? EIO : -error);
}

/* --- the tree -------------------------------------------------------------------------------- */

/* If the caller made the mount, the kernel may not check modes; see mount.h. */
static int check_access(fuse_req_t req, fuse_ino_t ino, int access)
{
	const struct tree *tree = tree_of(req);
	const struct fuse_ctx *from = fuse_req_ctx(req);
	struct tree_user user = {
		.pid = from->pid, .known = true, .uid = from->uid, .gid = from->gid};

	return mount_checks_modes(mount_of(req)) && from->uid != 0
		       ? tree_access(tree, tree_entry(tree, ino), access, &user)
		       : 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *mount = mount_of(req);
	struct fuse_entry_param reply = {.attr_timeout = FOREVER, .entry_timeout = FOREVER};
	const struct tree *tree = tree_of(req);
	uint32_t entry;
	int r = check_access(req, parent, X_OK);

	if (r == 0 && strlen(name) > FORMAT_NAME_MAX)
		r = -ENAMETOOLONG;
	if (r == 0)
		r = dataset_lookup(tree->dataset, tree_entry(tree, parent), name, strlen(name),
				   &entry);
	if (r == 0)
		r = tree_stat(tree, entry, &reply.attr);
	mount_count(mount, REQUEST_LOOKUP);
	if (r == 0) {
		reply.ino = reply.attr.st_ino;
		notify_store_known(mount_store(mount), tree_entry(tree, reply.ino), true);
	}
	/* An entry without inode number: the kernel remembers that there is none. */
	if (r == 0 || r == -ENOENT)
		fuse_reply_entry(req, &reply);
	else
		reply_error(req, r);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct mount *mount = mount_of(req);

	for (size_t i = 0; i < count; i++)
		notify_store_known(mount_store(mount), tree_entry(tree_of(req), forgets[i].ino),
				   false);
	mount_count(mount, REQUEST_FORGET);
	fuse_reply_none(req);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	op_forget_multi(req, 1, &(struct fuse_forget_data){ino, count});
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	struct mount *mount = mount_of(req);
	struct stat st;
	int r;

	(void)file;
	mount_count(mount, REQUEST_GETATTR);
	r = tree_stat(tree_of(req), tree_entry(tree_of(req), ino), &st);
	if (r < 0)
		reply_error(req, r);
	else
		fuse_reply_attr(req, &st,
				ino == FUSE_ROOT_ID && mount_is_leaving(mount) ? 0 : FOREVER);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	SCOPE_FREE char *target = NULL;
	const char *packed;
	size_t len;

	packed = dataset_target(tree_of(req)->dataset, tree_entry(tree_of(req), ino), &len);
	target = strndup(packed, len);
	if (target)
		fuse_reply_readlink(req, target);
	else
		reply_error(req, -ENOMEM);
}

/* --- listings -------------------------------------------------------------------------------- */

/* With attributes, so that the kernel knows the files; but not the folder itself and its parent. */
static size_t add_plus(fuse_req_t req, char *buf, size_t room, uint64_t place,
		       const struct dataset_child *child)
{
	struct mount *mount = mount_of(req);
	struct fuse_entry_param entry = {.attr_timeout = FOREVER, .entry_timeout = FOREVER};
	char name[FORMAT_NAME_MAX + 1];
	size_t used;

	memcpy(name, child->name, child->name_len);
	name[child->name_len] = '\0';
	if (tree_stat(tree_of(req), child->inode, &entry.attr) < 0)
		entry.attr = (struct stat){.st_ino = tree_ino(tree_of(req), child->inode),
					   .st_mode = tree_type(child->kind)};
	else if (place >= 2)
		entry.ino = entry.attr.st_ino;
	used = fuse_add_direntry_plus(req, buf, room, name, &entry, (off_t)place + 1);
	if (used > room)
		return 0;
	if (entry.ino)
		notify_store_known(mount_store(mount), child->inode, true);
	return used;
}

/* Not by fuse_add_direntry(): it needs each name NUL-ended and a stat of each, and a listing of
 * 1,281,167 names took a tenth longer with it. */
static size_t add_dirent(fuse_req_t req, char *buf, size_t room, uint64_t place,
			 const struct dataset_child *child)
{
	struct fuse_dirent record = {
		.ino = tree_ino(tree_of(req), child->inode),
		.off = place + 1,
		.namelen = (uint32_t)child->name_len,
		.type = IFTODT(tree_type(child->kind)),
	};
	size_t len = FUSE_NAME_OFFSET + child->name_len, whole = FUSE_DIRENT_ALIGN(len);

	if (whole > room)
		return 0;
	memcpy(buf, &record, FUSE_NAME_OFFSET);
	memcpy(buf + FUSE_NAME_OFFSET, child->name, child->name_len);
	memset(buf + len, 0, whole - len);
	return whole;
}

/* Adds the record of a child. Returns the bytes used; 0: it does not fit. */
typedef size_t add_fn(fuse_req_t req, char *buf, size_t room, uint64_t place,
		      const struct dataset_child *child);

static void reply_listing(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, add_fn *add)
{
	const struct tree *tree = tree_of(req);
	uint64_t place = (uint64_t)offset;
	char buf[LISTING_MAX];
	struct dataset_child child;
	size_t used = 0, len;

	if (offset == 0)
		mount_count_folder(mount_of(req));
	if (size > sizeof(buf))
		size = sizeof(buf);
	for (; tree_child(tree, tree_entry(tree, ino), place, &child); place++) {
		len = add(req, buf + used, size - used, place, &child);
		if (len == 0)
			break;
		used += len;
	}
	fuse_reply_buf(req, buf, used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		       struct fuse_file_info *file)
{
	(void)file;
	mount_count(mount_of(req), REQUEST_READDIR);
	reply_listing(req, ino, size, offset, add_dirent);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			   struct fuse_file_info *file)
{
	(void)file;
	mount_count(mount_of(req), REQUEST_READDIRPLUS);
	reply_listing(req, ino, size, offset, add_plus);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct dataset_info *info = dataset_info(tree_of(req)->dataset);
	struct statvfs fs = {
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_blocks = (info->super->bytes + 4095) / 4096,
		.f_files = info->super->entries,
		.f_namemax = FORMAT_NAME_MAX,
	};

	(void)ino;
	fuse_reply_statfs(req, &fs);
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* ENOSYS holds for all files, or all folders, and the life of the mount: the kernel never opens or
 * releases here again, and keeps what it has cached. */
static void reply_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file, bool folder)
{
	int r = mount_opens(mount_of(req), folder)
			? check_access(req, ino, file->flags & FMODE_EXEC ? X_OK : R_OK)
			: -ENOSYS;

	mount_count(mount_of(req), REQUEST_OPEN);
	if (r < 0) {
		reply_error(req, r);
		return;
	}
	file->keep_cache = true;
	FUSE_KEEP_FOLDER(file);
	fuse_reply_open(req, file);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	reply_open(req, ino, file, false);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	reply_open(req, ino, file, true);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	int r = mask & W_OK ? -EROFS : check_access(req, ino, mask & (R_OK | X_OK));

	reply_error(req, mount_checks_modes(mount_of(req)) ? r : -ENOSYS);
}

/* The error of the storage goes to the log; readers get EIO. */
static void reply_read(void *arg, int error, const struct iovec *iov, int count)
{
	fuse_req_t req = arg;

	if (error)
		reply_error(req, error == -ENOMEM || error == -EINTR ? error : -EIO);
	else
		fuse_reply_iov(req, iov, count);
}

/* Called when a reader whose request is parked gets a signal. */
static void read_interrupted(fuse_req_t req, void *data)
{
	struct mount *mount = data;

	if (cache_cancel(mount_cache(mount), req))
		reply_error(req, -EINTR);
}

/* If an INTERRUPT came before the request was parked, cache_cancel() found nothing. */
static bool read_gone(void *arg)
{
	return fuse_req_interrupted(arg);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *file)
{
	struct mount *mount = mount_of(req);
	uint32_t entry = tree_entry(tree_of(req), ino);
	uint64_t from = (uint64_t)offset;
	struct dataset_entry e;

	(void)file;
	mount_count(mount, REQUEST_READ);
	e = dataset_entry(tree_of(req)->dataset, entry);
	if (from >= e.size) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (from == 0)
		mount_count_file(mount);
	fuse_req_interrupt_func(req, read_interrupted, mount);
	cache_read(mount_cache(mount),
		   &(struct cache_request){
			   .extent = dataset_first_extent(tree_of(req)->dataset, entry) +
				     from / FORMAT_EXTENT,
			   .from = (uint32_t)(from % FORMAT_EXTENT),
			   .size = (uint32_t)min(size, e.size - from),
			   .reader = (uint32_t)fuse_req_ctx(req)->pid,
			   .may_wait = mount_settings(mount)->threads > 1,
			   .done = reply_read,
			   .gone = read_gone,
			   .arg = req,
		   });
}

/* --- the rest -------------------------------------------------------------------------------- */

/* Whether it is what isatty() sends, which depends on the C library. */
static bool asks_for_terminal(unsigned command)
{
	return command == TCGETS || command == (unsigned)TCGETS2 || command == TIOCGWINSZ;
}

/* Root, or the user who mounted, which is whom the daemon runs as. The owner of the files may be
 * another. */
static bool is_owner(fuse_req_t req)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	return uid == 0 || uid == geteuid();
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, fuse_ioctl_command number, void *arg,
		     struct fuse_file_info *file, unsigned flags, const void *in, size_t in_size,
		     size_t out_size)
{
	struct mount *mount = mount_of(req);
	unsigned command = (unsigned)number;
	uint32_t entry = tree_entry(tree_of(req), ino);
	struct order_batch batch;
	struct dataset_entry e;
	int r;

	(void)arg;
	(void)file;
	(void)flags;
	(void)out_size;
	mount_count(mount, REQUEST_IOCTL);
	if (command == ORDER_IOCTL && ino == FUSE_ROOT_ID) {
		r = !is_owner(req) ? -EPERM : in_size != sizeof(batch) ? -EINVAL : 0;
		if (r == 0) {
			memcpy(&batch, in, sizeof(batch));
			r = mount_order(mount, (uint32_t)fuse_req_ctx(req)->pid, &batch);
		}
		if (r < 0)
			reply_error(req, r);
		else
			fuse_reply_ioctl(req, 0, &batch, sizeof(batch));
		return;
	}
	/* Python before 3.14 asks whether each file that it opens is a terminal. If the kernel has
	 * the file cached, or takes it now, this is the only request. */
	e = dataset_entry(tree_of(req)->dataset, entry);
	if (asks_for_terminal(command) && tree_type(e.kind) == S_IFREG && e.size > 0)
		notify_store_opened(mount_store(mount), entry, (uint32_t)fuse_req_ctx(req)->pid);
	reply_error(req, -ENOTTY);
}

/* ENODATA for other names: one ENOSYS would stop requests for the stats as well. */
static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	struct mount *mount = mount_of(req);
	int r = -ENODATA;

	mount_count(mount, REQUEST_GETXATTR);
	if (ino == FUSE_ROOT_ID && strcmp(name, STATS_NAME) == 0)
		r = mount_report(mount, is_owner(req), &json);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (size == 0)
		fuse_reply_xattr(req, json.len + STATS_GROWTH);
	else if (size < json.len)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, json.data, json.len);
}

/* None is listed: a copy would take the stats along, and be refused or get another file's. */
static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	mount_count(mount_of(req), REQUEST_LISTXATTR);
	if (size == 0)
		fuse_reply_xattr(req, 0);
	else
		fuse_reply_buf(req, NULL, 0);
}

static void want(struct fuse_conn_info *conn, unsigned capability, bool on)
{
	if (on && conn->capable & capability)
		conn->want |= capability;
	else
		conn->want &= ~capability;
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
	struct session *session = data;
	struct mount *mount = session_shows(session);

	mount_set_opens(mount, !(conn->capable & FUSE_CAP_NO_OPEN_SUPPORT),
			FUSE_OPENS_FOLDERS(conn));
	/* Asking for attributes again must not drop cached pages. */
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, false);
	want(conn, FUSE_CAP_EXPLICIT_INVAL_DATA, true);
	want(conn, FUSE_CAP_ASYNC_READ, true);
	/* With it, no signal would reach a waiting reader with O_DIRECT. */
	want(conn, FUSE_CAP_ASYNC_DIO, false);
	want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
	want(conn, FUSE_CAP_CACHE_SYMLINKS, true);
	/* d_type is all that a scan needs: five times faster without attributes. But see
	 * notify_store.h. */
	want(conn, FUSE_CAP_READDIRPLUS, notify_store_lists(mount_store(mount)));
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, false);
	/* Data in memory is written to the kernel faster than spliced. */
	want(conn, FUSE_CAP_SPLICE_READ, false);
	want(conn, FUSE_CAP_SPLICE_WRITE, false);
	want(conn, FUSE_CAP_SPLICE_MOVE, false);
	/* It limits reads too, and a read may touch CACHE_READ_EXTENTS extents. */
	if (conn->max_write > READ_MAX)
		conn->max_write = READ_MAX;
	conn->max_background = 128;
	conn->congestion_threshold = 96;
	session_ready(session);
}

const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.access = op_access,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.ioctl = op_ioctl,
};
