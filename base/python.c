#include "base/python.h"
#include "base/scope.h"
#include <limits.h>
#include <string.h>

static int look(const char *folder, int len, const char *below, const char *name, struct buf *ret)
{
	int r;

	ret->len = 0;
	r = buf_addf(ret, "%.*s%s%s", len, folder, below, name);
	return r == 0 && access(ret->data, R_OK) < 0 ? -errno : r;
}

int beside_find(const char *built, const char *installed, const char *name, struct buf *ret)
{
	char self[PATH_MAX] = "";
	const char *slash;
	int len, r;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	slash = strrchr(self, '/');
	len = slash ? (int)(slash + 1 - self) : 0;
	r = look(self, len, built, name, ret);
	return r == -ENOENT ? look(self, len, installed, name, ret) : r;
}

const char *python_program(void)
{
	const char *named = getenv("FOLDFS_PYTHON");

	return named && *named ? named : "python3";
}

const char *python_program_beside(void)
{
	unsetenv("PYTHONSAFEPATH");
	return python_program();
}

int python_script(const char *folder, const char *name, struct buf *ret)
{
	SCOPE(buf_release) struct buf built = BUF_INIT, installed = BUF_INIT, file = BUF_INIT;
	int r = buf_addf(&built, "%s/", folder);

	if (r == 0)
		r = buf_addf(&installed, "../share/foldfs/%s/", folder);
	if (r == 0)
		r = buf_addf(&file, "%s.py", name);
	return r < 0 ? r : beside_find(built.data, installed.data, file.data, ret);
}
