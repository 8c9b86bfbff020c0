#include "fs/stat/prometheus.h"
#include "base/clock.h"
#include "base/scope.h"
#include "fs/stat/asker.h"
#include "fs/stat/exposition.h"
#include "fs/stat/mounts.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ASKED_MOST 256
#define PATIENCE_S 5

struct asked {
	char *path;
	struct asker *asker;
	int error; /* why there is no snapshot */
	struct err err;
};

/* All are asked before any is waited for. */
static int ask_each(struct asked *asked, int count)
{
	for (int i = 0; i < count; i++) {
		asked[i].asker = asker_of_stats(asked[i].path);
		if (!asked[i].asker)
			return -errno;
		asked[i].error = asker_ask(asked[i].asker);
	}
	return 0;
}

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

static void take_answers(struct asked *asked, struct exposed_mount *mounts, int count)
{
	uint64_t deadline = clock_ns() + PATIENCE_S * CLOCK_SECOND;

	for (int i = 0; i < count; i++) {
		mounts[i].path = asked[i].path;
		if (asked[i].error == 0)
			asked[i].error = take_by(deadline, &asked[i], &mounts[i].now);
	}
}

static int find_paths(const char *path, struct asked *asked)
{
	char *paths[ASKED_MOST];
	int count = 1;

	paths[0] = path ? strdup(path) : NULL;
	if (!path)
		count = mounts_here(paths, ASKED_MOST);
	else if (!paths[0])
		return -ENOMEM;
	for (int i = 0; i < count; i++)
		asked[i].path = paths[i];
	return count;
}

static int print_all(const char *path, struct asked *asked, int count, struct err *err)
{
	SCOPE_FREE struct exposed_mount *mounts = calloc((size_t)count + 1, sizeof(*mounts));
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = mounts ? ask_each(asked, count) : -ENOMEM;

	if (r < 0)
		return r;
	take_answers(asked, mounts, count);
	if (path && asked[0].error < 0 && asked[0].error != -ETIMEDOUT)
		return err_set(err, asked[0].error, "%s", err_text(&asked[0].err, asked[0].error));
	r = exposition_add(mounts, (size_t)count, &text);
	if (r == 0)
		fputs(text.data, stdout);
	for (int i = 0; i < count; i++)
		snapshot_release(&mounts[i].now);
	return r;
}

int prometheus_print(const char *path, struct err *err)
{
	SCOPE_FREE struct asked *asked = calloc(ASKED_MOST, sizeof(*asked));
	int count = asked ? find_paths(path, asked) : -ENOMEM, r = count;

	if (count >= 0)
		r = print_all(path, asked, count, err);
	for (int i = 0; i < count; i++) {
		asker_free(asked[i].asker);
		free(asked[i].path);
	}
	return r;
}
