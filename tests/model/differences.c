/* In what the mount may differ from a plain folder. */
#include "tests/model/model.h"

#include <errno.h>
#include <string.h>

enum { ANY_SUCCESS = -1 };

/* What stat(2) may say otherwise is left out by outcome_stat(), what statfs(2) by statfs_operation:
 * only its flags and the longest name are compared. The order of a listing is the filesystem's
 * own. Against ext4 instead of tmpfs two more would be needed: it refuses O_DIRECT where offset or
 * length is not aligned, and seeks beyond its largest file. */
static const struct {
	const char *operation;
	int plain, mount; /* errno */
} allowed[] = {
	/* Packs do not keep extended attributes. The mount lists none, and has no ACLs. */
	{"getxattr", ANY_SUCCESS, ENODATA}, {"getxattr", ENODATA, EOPNOTSUPP},
	{"getxattr", ERANGE, ENODATA},	    {"listxattr", ANY_SUCCESS, 0},
	{"listxattr", ERANGE, 0},
};

static bool is_of_path(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
}

/* Without FUSE, an open by O_PATH is one that may neither read nor write, so the model has none;
 * and of two paths that are wrong, another one may be found first. */
bool difference_allowed(const char *operation, const struct outcome *plain,
			const struct outcome *mount, bool no_fuse)
{
	if (no_fuse && (strcmp(operation, "rename") == 0 || strcmp(operation, "link") == 0) &&
	    is_of_path(plain->error) && is_of_path(mount->error))
		return true;
	/* Folders are those of the filesystem that they were made on. */
	if (no_fuse && strcmp(operation, "sendfile") == 0 && mount->error == EOVERFLOW)
		return true;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		if (strcmp(allowed[i].operation, operation) == 0 &&
		    mount->error == allowed[i].mount &&
		    plain->error == (allowed[i].plain == ANY_SUCCESS ? 0 : allowed[i].plain))
			return true;
	return false;
}
