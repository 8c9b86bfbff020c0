#include "base/python.h"
#include "base/scope.h"
#include <limits.h>
#include <string.h>

/* Any Python from 2.7 on takes this. Where it is not isolated, scripts import what is beside them.
 */
const char python_run[] =
	"import sys\n"
	"if sys.version_info < (3, 8):\n"
	"    sys.exit('%s: Python %s is too old: install 3.8 or later, or let FOLDFS_PYTHON name "
	"one'\n"
	"             % (sys.executable, sys.version.split()[0]))\n"
	"del sys.argv[0]\n"
	"__file__ = sys.argv[0]\n"
	"if not sys.flags.isolated:\n"
	"    sys.path[0] = __file__.rpartition('/')[0]\n"
	"with open(__file__, 'rb') as code:\n"
	"    code = code.read()\n"
	"exec(compile(code, __file__, 'exec'))\n";

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
