#include "base/python.h"
#include "base/beside.h"
#include "base/scope.h"
#include <stdlib.h>

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
