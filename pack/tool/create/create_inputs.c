/* Bad inputs: their list, and what is said of them. */
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create_messages.h"
#include "pack/tool/create/target.h"
#include "pack/tool/work/interrupt.h"
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *source_slash(const struct create *create, const char *path)
{
	size_t len = strlen(create->source);

	return *path && len > 0 && create->source[len - 1] != '/' ? "/" : "";
}

void create_log(struct create *create, void (*log)(const char *format, ...), const char *path,
		const char *format, ...)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	va_list args;

	progress_clear(&create->progress);
	va_start(args, format);
	buf_addv(&text, format, args);
	va_end(args);
	log("%s%s%s: %s", create->source, source_slash(create, path), path,
	    buf_error(&text) < 0 ? strerror(ENOMEM) : text.data);
}

/* --- the list --------------------------------------------------------------------------------- */

/* Whether a file is empty, or has a line of an earlier list; any other is somebody's. */
static bool is_bad_list(FILE *list)
{
	static const char *const words[] = {
		DAMAGE_EMPTY,	    DAMAGE_NO_IMAGE,  DAMAGE_TRUNCATED, DAMAGE_CORRUPT,
		DAMAGE_NO_EOI,	    DAMAGE_NO_SIZE,   DAMAGE_TOO_LARGE, DAMAGE_UNSUPPORTED,
		DAMAGE_NOT_DECODED, DAMAGE_EXTENSION, DAMAGE_CMYK,	DAMAGE_UNREADABLE,
	};
	char text[64 * KIB + 1] = "", *rest = text, *line, *damage;
	ssize_t len = io_pread(fileno(list), text, sizeof(text) - 1, 0);
	bool found = len == 0;

	while (!found && (line = strsep(&rest, "\n"))) {
		strsep(&line, "\t");
		damage = strsep(&line, "\t");
		for (size_t i = 0; !found && line && i < sizeof(words) / sizeof(*words); i++)
			found = strcmp(damage, words[i]) == 0;
	}
	return found;
}

int create_open_list(struct create *create)
{
	const char *path = create->options.bad_list;
	struct err err = {0};
	struct stat st = {0};
	int r = path ? target_check(path, create->root, &err) : 0;

	if (!path)
		return 0;
	if (r == 0 && target_is_of(path, create->pack))
		r = err_set(&err, -EINVAL, "belongs to the pack; choose another name");
	if (r == 0) {
		create->bad_list = fopen(path, "a+e");
		r = create->bad_list && fstat(fileno(create->bad_list), &st) == 0 ? 0 : -errno;
	}
	if (r == 0 && S_ISFIFO(st.st_mode) && !io_is_given_pipe(fileno(create->bad_list), path))
		r = err_set(&err, -EINVAL,
			    "a named pipe, which may have no reader; a file, or >(COMMAND), can "
			    "be written");
	if (r == 0 && S_ISREG(st.st_mode) && !is_bad_list(create->bad_list))
		r = err_set(&err, -EEXIST,
			    "exists, and is not a list of bad inputs; choose another name, or "
			    "remove it");
	return r == 0 ? 0 : log_fail(CREATE_REPORTED, "%s: %s", path, err_text(&err, r));
}

int create_empty_list(const struct create *create)
{
	FILE *list = create->bad_list;
	struct stat st;

	if (!list || fstat(fileno(list), &st) < 0 || !S_ISREG(st.st_mode) ||
	    ftruncate(fileno(list), 0) == 0)
		return 0;
	return log_fail(CREATE_REPORTED, "%s: %s", create->options.bad_list, strerror(errno));
}

/* It must be on the disk. A pipe is on none. */
int create_close_list(struct create *create)
{
	FILE *list = steal_ptr(&create->bad_list);
	bool written;

	if (!list)
		return 0;
	written = fflush(list) == 0 && !ferror(list) && io_sync(fileno(list), fdatasync) >= 0;
	if (fclose(list) == 0 && written)
		return 0;
	return log_fail(CREATE_REPORTED, "%s: cannot be written", create->options.bad_list);
}

int create_list_bad(struct create *create, const char *path, const char *damage, const char *reason)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	struct buf *lines = create->held ? create->held : &line;

	if (!create->options.bad_list)
		return 0;
	buf_add_escaped(lines, path, strlen(path), "\t\n\\");
	buf_addf(lines, "\t%s\t", damage);
	buf_add_escaped(lines, reason, strlen(reason), "\t\n\\");
	buf_add(lines, "\n", 1);
	create_list_held(create, &line);
	return buf_error(lines);
}

void create_list_held(struct create *create, struct buf *held)
{
	if (held->len && create->bad_list)
		fwrite(held->data, 1, held->len, create->bad_list);
	held->len = 0;
}

/* --- what is said ----------------------------------------------------------------------------- */

#define REFUSED_NAMED 20

/* Adds "SOURCE/path: text" to what is printed at the end. 0 or -ENOMEM. */
static int refuse_bad_input(struct create *create, const char *path, const char *text)
{
	if (++create->counts.refused > REFUSED_NAMED)
		return 0;
	return buf_addf(&create->refused, "%s%s%s: %s%c", create->source,
			source_slash(create, path), path, text, '\0');
}

int create_refuse(struct create *create)
{
	const char *line = create->refused.data, *end = line + create->refused.len;
	char count[SIZE_TEXT];

	progress_clear(&create->progress);
	for (; line < end; line += strlen(line) + 1)
		log_error("%s", line);
	return log_fail(CREATE_REPORTED,
			"%s: not made, as %s %s damaged; --on-bad=skip leaves such files out, "
			"--on-bad=keep packs them%s",
			create->pack, count_noun(create->counts.refused, "input", count),
			create->counts.refused == 1 ? "is" : "are",
			create->bad_list ? "" : ", --bad-list=FILE lists them");
}

int create_unreadable(void *context, const char *path, const char *reason)
{
	struct create *create = context;

	if (create_list_bad(create, path, DAMAGE_UNREADABLE, reason) < 0)
		return -ENOMEM;
	if (create->counts.refused)
		return refuse_bad_input(create, path, reason);
	if (create->options.on_bad != ON_BAD_SKIP) {
		create_log(create, log_error, path, "%s; --on-bad=skip leaves such files out",
			   reason);
		return CREATE_REPORTED;
	}
	create_log(create, log_notice, path, "%s; left out", reason);
	create->counts.skipped++;
	return 0;
}

int create_count_left(struct create *create, const char *why, size_t len)
{
	struct create_left *left = create->left, *last = left + LEFT_REASONS - 1;

	while (left < last && left->why &&
	       (strlen(left->why) != len || memcmp(left->why, why, len) != 0))
		left++;
	if (!left->why)
		left->why = strndup(why, len);
	left->images++;
	create->counts.left++;
	return left->why ? 0 : -ENOMEM;
}

int create_note_named(struct create *create, const char *path, const char *reason)
{
	if (create->counts.named_only++ > 0)
		return 0;
	return buf_addf(&create->named_only, "%s (%s)", path, reason);
}

void create_log_named(struct create *create)
{
	uint64_t files = create->counts.named_only;
	char count[SIZE_TEXT];

	if (files)
		create_log(
			create, log_notice, "",
			"%s %s the name of an image but not the header of one, such as %s; packed "
			"anyway; --check=header refuses such files",
			count_noun(files, "file", count), files == 1 ? "has" : "have",
			create->named_only.data);
	if (create->counts.unsure)
		create_log(create, log_notice, "",
			   "PIL, which is not there, may refuse %s that foldpack cannot judge; "
			   "packed anyway; --check=header needs PIL",
			   count_noun(create->counts.unsure, "image", count));
}

/* A finding that is usable is packed without a notice. */
int create_found(struct create *create, const char *path, const struct check_finding *finding)
{
	const char *text = finding->text;

	if (create_list_bad(create, path, finding->damage, text) < 0)
		return -ENOMEM;
	if (finding->named_only && create_is_lenient(create))
		return create_note_named(create, path, text);
	if (finding->usable) {
		create_log(create, log_detail, path, "%s", text);
		return 0;
	}
	switch (create->options.on_bad) {
	case ON_BAD_FAIL:
		return refuse_bad_input(create, path, text) < 0 ? -ENOMEM : 1;
	case ON_BAD_KEEP:
		create_log(create, log_notice, path, "%s; packed anyway", text);
		create->counts.kept++;
		return 0;
	default:
		create_log(create, log_notice, path, "%s; left out", text);
		create->counts.skipped++;
		return 1;
	}
}

void create_special(void *context, const char *path, const char *what)
{
	struct create *create = context;

	create_log(create, log_notice, path, "%s, which a pack cannot hold; left out", what);
	create->counts.skipped++;
}

static int on_tick(void *context, uint64_t entries)
{
	struct create *create = context;

	progress_add(&create->progress, entries - create->progress.files, 0);
	return interrupt_pending() ? -EINTR : 0;
}

struct scan_watch create_watch(struct create *create)
{
	return (struct scan_watch){.bad = create_unreadable,
				   .special = create_special,
				   .tick = on_tick,
				   .context = create};
}
