#include "pack/tool/create/script.h"

#include "base/exit.h"
#include "base/io.h"
#include "base/log.h"
#include "base/python.h"
#include "base/scope.h"
#include "base/spawn.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER 5 /* status of a script: python/foldfs/sources/images.py */

/* --- running it ------------------------------------------------------------------------------- */

static int spawn_script(struct script *script, const char *path, const char *source,
			const struct foreign_settings *settings, int tar)
{
	/* Names are UTF-8 in any locale. What Python warns of is nothing to the user. */
	const char *const argv[] = {python_program_beside(),
				    "-B",
				    "-X",
				    "utf8",
				    "-W",
				    "ignore",
				    path,
				    source,
				    settings->image_key ? settings->image_key : "",
				    settings->label_key ? settings->label_key : "",
				    settings->name_key ? settings->name_key : "",
				    NULL};

	return spawn_program(argv, (int[]){tar, script->said}, 2, 0, &script->process);
}

int script_begin(struct script *script, const char *name, const char *source,
		 const struct foreign_settings *settings, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE_CLOSE int tar = -1;
	int ends[2], r = python_script("sources", name, &path);

	if (r < 0)
		return err_set(err, r, "%s.py, which reads it, is not installed beside foldpack",
			       name);
	script->said = memfd_create("said", MFD_CLOEXEC);
	if (script->said < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	script->tar = ends[0];
	tar = ends[1];
	r = spawn_script(script, path.data, source, settings, tar);
	if (r < 0)
		script->process = 0;
	return r < 0 ? err_set(err, r,
			       "Python, which reads it, does not start: %s: %s" PYTHON_WAY_OUT,
			       python_program(), strerror(-r))
		     : 0;
}

/* --- what came of it -------------------------------------------------------------------------- */

static int read_said(const struct script *script, struct buf *ret)
{
	struct stat st;
	ssize_t n;
	int r = fstat(script->said, &st) < 0 ? -errno : buf_reserve(ret, (size_t)st.st_size + 1);

	if (r < 0)
		return r;
	n = io_pread(script->said, ret->data, (size_t)st.st_size, 0);
	ret->len = n > 0 ? (size_t)n : 0;
	while (ret->len && ret->data[ret->len - 1] == '\n')
		ret->len--;
	ret->data[ret->len] = '\0';
	return n < 0 ? (int)n : 0;
}

static void say_lines(char *said, const char *source)
{
	for (char *line; (line = strsep(&said, "\n"));)
		if (*line)
			log_notice("%s: %s", source, line);
}

static int fail_script(int status, const char *said, struct err *err)
{
	const char *line = strrchr(said, '\n');

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return err_set(err, -ECANCELED,
			       "the script that reads it was killed, as where memory runs out");
	if (WIFSIGNALED(status))
		return err_set(err, -EBADMSG, "damaged: the library that reads it crashes on it");
	return err_set(err,
		       WEXITSTATUS(status) == EXIT_DAMAGED ? -EBADMSG
		       : WEXITSTATUS(status) == OTHER	   ? -ENOMSG
							   : -ECANCELED,
		       "%s",
		       line    ? line + 1
		       : *said ? said
			       : "the script that reads it failed");
}

int script_end(struct script *script, const char *source, struct err *err)
{
	SCOPE(buf_release) struct buf said = BUF_INIT;
	int status, r;

	if (waitpid(script->process, &status, 0) < 0)
		return -errno;
	script->process = 0;
	r = read_said(script, &said);
	if (r == 0 && status != 0)
		r = fail_script(status, said.data, err);
	else if (r == 0)
		say_lines(said.data, source);
	return r;
}

void script_release(struct script *script)
{
	if (script->process) {
		kill(script->process, SIGKILL);
		waitpid(script->process, NULL, 0);
	}
	scope_close(&script->tar);
	scope_close(&script->said);
}
