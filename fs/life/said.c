#include "fs/life/said.h"
#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct said said_begin(void)
{
	struct said said = {.usual = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
			    .kept = memfd_create("foldfs-said", MFD_CLOEXEC)};

	if (said.usual >= 0 && said.kept >= 0)
		dup2(said.kept, STDERR_FILENO);
	return said;
}

void said_end(struct said *said, struct err *ret)
{
	SCOPE_CLOSE int usual = said->usual, kept = said->kept;
	char text[sizeof(ret->text)] = "";

	*ret = (struct err){0};
	if (usual < 0 || kept < 0)
		return;
	dup2(usual, STDERR_FILENO);
	if (io_pread(kept, text, sizeof(text) - 1, 0) > 0) {
		char *rest = text, *line;

		while ((line = strsep(&rest, "\n")))
			if (*line)
				err_set(ret, 0, "%s%s%s", ret->text, ret->text[0] ? "; " : "",
					line);
	}
}
