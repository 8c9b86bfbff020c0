#include "pack/tool/read/attributes.h"

#include "base/io.h"
#include <errno.h>
#include <sys/stat.h>

void attributes_refuse(const struct attributes *attributes, enum attributes_refusal kind, int error)
{
	atomic_fetch_add(&attributes->refused[kind].count, 1);
	atomic_store(&attributes->refused[kind].error, error);
}

static int change_mode(const struct attributes *attributes, int fd, mode_t mode)
{
	int r = fchmod(fd, mode) < 0 ? -errno : 0;

	if (!io_is_refused(r))
		return r;
	attributes_refuse(attributes, ATTRIBUTES_MODE, r);
	return 0;
}

static int change_times(const struct attributes *attributes, int fd, struct timespec mtime)
{
	int r = futimens(fd, (struct timespec[2]){mtime, mtime}) < 0 ? -errno : 0;

	if (!io_is_refused(r))
		return r;
	attributes_refuse(attributes, ATTRIBUTES_TIME, r);
	return 0;
}

/* The kernel took the umask, or the default ACL, from the mode already, but not on every
 * filesystem.
 */
int attributes_set(const struct attributes *attributes, int folder, int fd,
		   const struct dataset_attr *attr)
{
	mode_t all = attributes_mode(attr), want = all & ~attributes->mask, have;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	have = st.st_mode & 07777;
	if (have != want && ((have & ~all) || !io_has_default_acl(folder)))
		r = change_mode(attributes, fd, want);
	return r < 0 ? r : change_times(attributes, fd, attr->mtime);
}

/* The default ACL of a folder that was made is that of the one above. So is the group, if that one
 * hands it down. */
static mode_t mode_of_folder(const struct attributes *attributes, int fd, bool found, mode_t all,
			     mode_t have)
{
	bool acl = io_has_default_acl(fd);

	if (found)
		return acl ? have : all & ~attributes->mask;
	return (all & (acl ? have | 07000 : ~attributes->mask)) | (have & S_ISGID);
}

int attributes_set_folder(const struct attributes *attributes, int fd, bool found,
			  const struct dataset_attr *attr)
{
	mode_t have, want;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	have = st.st_mode & 07777;
	want = mode_of_folder(attributes, fd, found, attr->mode, have);
	if (have != want)
		r = change_mode(attributes, fd, want);
	return r < 0 ? r : change_times(attributes, fd, attr->mtime);
}
