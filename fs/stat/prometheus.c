#include "fs/stat/prometheus.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "fs/stat/asker.h"
#include "fs/stat/modes.h"
#include "fs/stat/mounts.h"
#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ASKED_MOST 256
#define PATIENCE_S 5
#define MEMBER_MAX 64

/* What of the stats becomes a metric. */
static const struct row {
	enum row_kind { ROW_OBJECT, ROW_END, ROW_METRIC, ROW_LABEL } kind;
	const char *word;
	const char *name; /* of the metric, or of the label */
	const char *help;
} rows[] = {
#define OBJECT(word, ...)	       {ROW_OBJECT, #word, NULL, NULL},
#define END			       {ROW_END, NULL, NULL, NULL},
#define COUNT(word, value, name, help) {ROW_METRIC, #word, name, help},
#define STATE(word, value, name, help) {ROW_METRIC, #word, name, help},
#define LABEL(word, value, label)      {ROW_LABEL, #word, label, NULL},
#define REQUEST(word, ...)                                                   \
	{ROW_METRIC, #word, "foldfs_requests_total,operation=\"" #word "\"", \
	 "Requests of the kernel."},
#include "fs/stats.def"
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* --- labels -------------------------------------------------------------------------------- */

/* Bytes of the value that are no text become \\ooo. */
static void add_label(struct buf *buf, const char *before, const char *name, const char *value)
{
	size_t left = strlen(value), len;
	uint32_t code;

	buf_addf(buf, "%s%s=\"", before, name);
	for (; left; value += len, left -= len) {
		len = utf8_decode(value, left, &code);
		if (len == 0 || code < 0x20 || code == 0x7f)
			buf_addf(buf, "\\\\%03o", (unsigned char)*value);
		else if (code == '\\' || code == '"')
			buf_addf(buf, "\\%c", (char)code);
		else
			buf_add(buf, value, len);
		len = len ? len : 1;
	}
	buf_adds(buf, "\"");
}

/* `name`: of the metric, and perhaps a label after a comma. */
static void begin_sample(struct buf *buf, const char *name, const struct exposed_mount *mount)
{
	size_t len = strcspn(name, ",");

	buf_add(buf, name, len);
	add_label(buf, "{", "mount", mount->path);
	buf_adds(buf, name + len);
}

static void add_heading(struct buf *buf, const char *name, const char *type, const char *help)
{
	int len = (int)strcspn(name, ",");

	buf_addf(buf, "# HELP %.*s %s\n# TYPE %.*s %s\n", len, name, help, len, name, type);
}

/* --- metrics ------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Goes on to the next row of this kind. Keeps its place in the object in `member`, as "/pool/hits".
 * NULL after the last. */
static const struct row *next_row(const struct row *row, enum row_kind kind,
				  char member[static MEMBER_MAX])
{
	for (row = row ? row + 1 : rows; row < rows + ROWS; row++) {
		size_t object = (size_t)(strrchr(member, '/') - member);

		if (row->kind == ROW_OBJECT)
			snprintf(member, MEMBER_MAX, "/%s/", row->word);
		else if (row->kind == ROW_END)
			snprintf(member, MEMBER_MAX, "/");
		else
			snprintf(member + object, MEMBER_MAX - object, "/%s", row->word);
		if (row->kind == kind)
			return row;
	}
	return NULL;
}

/* A sample of each mount that has this member: an integer, or a flag. `headed`: the metric that was
 * begun last. */
static void add_metric(struct buf *buf, const struct row *row, const char *member,
		       const struct exposed_mount *mounts, size_t count, const char **headed)
{
	double unit = ends_with(member, "_ms") ? 1e-3 : ends_with(member, "_us") ? 1e-6 : 0;
	size_t len = strcspn(row->name, ",") + 1;

	for (size_t i = 0; i < count; i++) {
		const struct snapshot *now = &mounts[i].now;
		uint64_t value = snapshot_count(now, member) + snapshot_flag(now, member);

		if (!snapshot_member(now, member, json_type_int) &&
		    !snapshot_member(now, member, json_type_boolean))
			continue;
		if (row->help && strncmp(*headed, row->name, len) != 0) {
			*headed = row->name;
			add_heading(buf, row->name,
				    strstr(row->name, "_total")	    ? "counter"
				    : strstr(row->name, "quantile") ? "summary"
								    : "gauge",
				    row->help);
		}
		begin_sample(buf, row->name, &mounts[i]);
		if (unit > 0)
			buf_addf(buf, "} %.6f\n", (double)value * unit);
		else
			buf_addf(buf, "} %" PRIu64 "\n", value);
	}
}

/* Whether each has answered, and what is text in its stats. */
static void add_infos(struct buf *buf, const struct exposed_mount *mounts, size_t count)
{
	add_heading(buf, "foldfs_up", "gauge", "1 if the mount has answered.");
	for (size_t i = 0; i < count; i++) {
		begin_sample(buf, "foldfs_up", &mounts[i]);
		buf_adds(buf, mounts[i].now.stats ? "} 1\n" : "} 0\n");
	}
	add_heading(buf, "foldfs_mount_info", "gauge", "Always 1; the labels tell.");
	for (size_t i = 0; i < count; i++) {
		char member[MEMBER_MAX] = "/";
		const struct row *row = NULL;

		if (!mounts[i].now.stats)
			continue;
		begin_sample(buf, "foldfs_mount_info", &mounts[i]);
		while ((row = next_row(row, ROW_LABEL, member)))
			add_label(buf, ",", row->name, snapshot_text(&mounts[i].now, member));
		buf_adds(buf, "} 1\n");
	}
}

int prometheus_add(const struct exposed_mount *mounts, size_t count, struct buf *buf)
{
	char member[MEMBER_MAX] = "/";
	const struct row *row = NULL;
	const char *headed = "";

	add_infos(buf, mounts, count);
	while ((row = next_row(row, ROW_METRIC, member)))
		add_metric(buf, row, member, mounts, count, &headed);
	return buf_error(buf);
}

/* --- the command ---------------------------------------------------------------------------- */

struct asked {
	struct asker *asker;
	int error; /* why there is no snapshot */
	struct err err;
};

static int take_by(uint64_t deadline, struct asked *asked, struct snapshot *ret)
{
	struct pollfd answer = {.fd = asker_fd(asked->asker), .events = POLLIN};
	uint64_t now = clock_ns();
	int left_ms = now < deadline ? (int)((deadline - now) / 1000000) : 0;
	SCOPE(buf_release) struct buf json = BUF_INIT;
	int r;

	if (poll(&answer, 1, left_ms) <= 0)
		return err_set(&asked->err, -ETIMEDOUT, "it does not answer");
	r = asker_take(asked->asker, &json, &asked->err);
	return r < 0 ? r : snapshot_parse(json.data, json.len, 0, ret, &asked->err);
}

int prometheus_print(const char *path, struct err *err)
{
	SCOPE_FREE struct asked *asked = calloc(ASKED_MOST, sizeof(*asked));
	SCOPE_FREE struct exposed_mount *mounts = calloc(ASKED_MOST, sizeof(*mounts));
	SCOPE(buf_release) struct buf text = BUF_INIT;
	char *paths[ASKED_MOST] = {path ? strdup(path) : NULL};
	int count = path ? 1 : mounts_here(paths, ASKED_MOST);
	int r = !asked || !mounts || (path && !paths[0]) ? -ENOMEM : count < 0 ? count : 0;
	uint64_t deadline;

	/* All are asked before any is waited for. */
	for (int i = 0; i < count && r == 0; i++) {
		asked[i].asker = asker_of_stats(paths[i]);
		if (asked[i].asker)
			asked[i].error = asker_ask(asked[i].asker);
		else
			r = -errno;
	}
	deadline = clock_ns() + PATIENCE_S * CLOCK_SECOND;
	for (int i = 0; i < count && r == 0; i++) {
		mounts[i].path = paths[i];
		if (asked[i].error == 0)
			asked[i].error = take_by(deadline, &asked[i], &mounts[i].now);
	}
	if (r == 0 && path && asked[0].error < 0 && asked[0].error != -ETIMEDOUT)
		r = err_set(err, asked[0].error, "%s", err_text(&asked[0].err, asked[0].error));
	if (r == 0)
		r = prometheus_add(mounts, (size_t)count, &text);
	if (r == 0)
		fputs(text.data, stdout);
	for (int i = 0; i < count; i++) {
		if (asked)
			asker_free(asked[i].asker);
		if (mounts)
			snapshot_release(&mounts[i].now);
		free(paths[i]);
	}
	return r;
}
