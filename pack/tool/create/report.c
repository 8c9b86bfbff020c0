#include "pack/tool/create/report.h"

#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/target.h"
#include "pack/tool/work/interrupt.h"
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void report_release(struct report *report)
{
	progress_clear(&report->progress);
	buf_release(&report->lines);
	buf_release(&report->refused);
	buf_release(&report->named_only);
	for (size_t i = 0; i < LEFT_REASONS; i++)
		free(report->left[i].why);
	if (report->bad_list)
		fclose(report->bad_list);
}

static const char *source_slash(const struct report *report, const char *path)
{
	size_t len = strlen(report->source);

	return *path && len > 0 && report->source[len - 1] != '/' ? "/" : "";
}

void report_log(struct report *report, void (*log)(const char *format, ...), const char *path,
		const char *format, ...)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	va_list args;

	progress_clear(&report->progress);
	va_start(args, format);
	buf_addv(&text, format, args);
	va_end(args);
	log("%s%s%s: %s", report->source, source_slash(report, path), path,
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

int report_open_list(struct report *report, int root)
{
	const char *path = report->options->bad_list;
	struct err err = {0};
	struct stat st = {0};
	int r = path ? target_check(path, root, &err) : 0;

	if (!path)
		return 0;
	if (r == 0 && target_is_of(path, report->pack))
		r = err_set(&err, -EINVAL, "belongs to the pack; choose another name");
	if (r == 0) {
		report->bad_list = fopen(path, "a+e");
		r = report->bad_list && fstat(fileno(report->bad_list), &st) == 0 ? 0 : -errno;
	}
	if (r == 0 && S_ISFIFO(st.st_mode) && !io_is_given_pipe(fileno(report->bad_list), path))
		r = err_set(&err, -EINVAL,
			    "a named pipe, which may have no reader; a file, or >(COMMAND), can "
			    "be written");
	if (r == 0 && S_ISREG(st.st_mode) && !is_bad_list(report->bad_list))
		r = err_set(&err, -EEXIST,
			    "exists, and is not a list of bad inputs; choose another name, or "
			    "remove it");
	return r == 0 ? 0 : log_fail(CREATE_REPORTED, "%s: %s", path, err_text(&err, r));
}

static int write_lines(struct report *report)
{
	if (report->lines.len && report->bad_list) {
		fwrite(report->lines.data, 1, report->lines.len, report->bad_list);
		report->lines.len = 0;
	}
	return buf_error(&report->lines);
}

int report_empty_list(struct report *report)
{
	FILE *list = report->bad_list;
	struct stat st;

	if (!list || fstat(fileno(list), &st) < 0 || !S_ISREG(st.st_mode) ||
	    ftruncate(fileno(list), 0) == 0)
		return write_lines(report);
	return log_fail(CREATE_REPORTED, "%s: %s", report->options->bad_list, strerror(errno));
}

/* It must be on the disk. A pipe is on none. */
int report_close_list(struct report *report)
{
	FILE *list = steal_ptr(&report->bad_list);
	bool written;

	if (!list)
		return 0;
	written = fflush(list) == 0 && !ferror(list) && io_sync(fileno(list), fdatasync) >= 0;
	if (fclose(list) == 0 && written)
		return 0;
	return log_fail(CREATE_REPORTED, "%s: cannot be written", report->options->bad_list);
}

int report_list_bad(struct report *report, const char *path, const char *damage, const char *reason)
{
	struct buf *lines = &report->lines;

	if (!report->options->bad_list)
		return 0;
	buf_add_escaped(lines, path, strlen(path), "\t\n\\");
	buf_addf(lines, "\t%s\t", damage);
	buf_add_escaped(lines, reason, strlen(reason), "\t\n\\");
	buf_add(lines, "\n", 1);
	return write_lines(report);
}

/* --- what is said ----------------------------------------------------------------------------- */

#define REFUSED_NAMED 20

/* Adds "SOURCE/path: text" to what is printed at the end. 0 or -ENOMEM. */
static int refuse_bad_input(struct report *report, const char *path, const char *text)
{
	if (++report->counts.refused > REFUSED_NAMED)
		return 0;
	return buf_addf(&report->refused, "%s%s%s: %s%c", report->source,
			source_slash(report, path), path, text, '\0');
}

int report_refused(struct report *report)
{
	const char *line = report->refused.data, *end = line + report->refused.len;
	char count[SIZE_TEXT];

	progress_clear(&report->progress);
	for (; line < end; line += strlen(line) + 1)
		log_error("%s", line);
	return log_fail(CREATE_REPORTED,
			"%s: not made, as %s %s damaged; --on-bad=skip leaves such files out, "
			"--on-bad=keep packs them%s",
			report->pack, count_noun(report->counts.refused, "input", count),
			report->counts.refused == 1 ? "is" : "are",
			report->bad_list ? "" : ", --bad-list=FILE lists them");
}

int report_unreadable(void *context, const char *path, const char *reason)
{
	struct report *report = context;

	if (report_list_bad(report, path, DAMAGE_UNREADABLE, reason) < 0)
		return -ENOMEM;
	if (report->counts.refused)
		return refuse_bad_input(report, path, reason);
	if (report->options->on_bad != ON_BAD_SKIP) {
		report_log(report, log_error, path, "%s; --on-bad=skip leaves such files out",
			   reason);
		return CREATE_REPORTED;
	}
	report_log(report, log_notice, path, "%s; left out", reason);
	report->counts.skipped++;
	return 0;
}

int report_left(struct report *report, const char *why, size_t len)
{
	struct report_left *left = report->left, *last = left + LEFT_REASONS - 1;

	while (left < last && left->why &&
	       (strlen(left->why) != len || memcmp(left->why, why, len) != 0))
		left++;
	if (!left->why)
		left->why = strndup(why, len);
	left->images++;
	report->counts.left++;
	return left->why ? 0 : -ENOMEM;
}

int report_named(struct report *report, const char *path, const char *reason)
{
	if (report->counts.named_only++ > 0)
		return 0;
	return buf_addf(&report->named_only, "%s (%s)", path, reason);
}

void report_log_named(struct report *report)
{
	uint64_t files = report->counts.named_only;
	char count[SIZE_TEXT];

	if (files)
		report_log(
			report, log_notice, "",
			"%s %s the name of an image but not the header of one, such as %s; packed "
			"anyway; --check=header refuses such files",
			count_noun(files, "file", count), files == 1 ? "has" : "have",
			report->named_only.data);
	if (report->counts.unsure)
		report_log(report, log_notice, "",
			   "PIL, which is not there, may refuse %s that foldpack cannot judge; "
			   "packed anyway; --check=header needs PIL",
			   count_noun(report->counts.unsure, "image", count));
}

/* A finding that is usable is packed without a notice. */
int report_found(struct report *report, const char *path, const struct check_finding *finding)
{
	const char *text = finding->text;

	if (report_list_bad(report, path, finding->damage, text) < 0)
		return -ENOMEM;
	if (finding->named_only && create_is_lenient(report->options))
		return report_named(report, path, text);
	if (finding->usable) {
		report_log(report, log_detail, path, "%s", text);
		return 0;
	}
	switch (report->options->on_bad) {
	case ON_BAD_FAIL:
		return refuse_bad_input(report, path, text) < 0 ? -ENOMEM : 1;
	case ON_BAD_KEEP:
		report_log(report, log_notice, path, "%s; packed anyway", text);
		report->counts.kept++;
		return 0;
	default:
		report_log(report, log_notice, path, "%s; left out", text);
		report->counts.skipped++;
		return 1;
	}
}

void report_special(void *context, const char *path, const char *what)
{
	struct report *report = context;

	report_log(report, log_notice, path, "%s, which a pack cannot hold; left out", what);
	report->counts.skipped++;
}

static int on_tick(void *context, uint64_t entries)
{
	struct report *report = context;

	progress_add(&report->progress, entries - report->progress.files, 0);
	return interrupt_pending() ? -EINTR : 0;
}

struct scan_watch report_watch(struct report *report)
{
	return (struct scan_watch){.bad = report_unreadable,
				   .special = report_special,
				   .tick = on_tick,
				   .context = report};
}
