#include "remote/prefix.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listed.h"
#include "remote/object.h"
#include "remote/open.h"
#include <stdio.h>
#include <string.h>

#define AGAIN_NS  (60 * CLOCK_SECOND) /* between two lines */
#define SECOND_NS ((int64_t)CLOCK_SECOND)

struct prefix {
	struct members members; /* first */
	char *name;		/* with its '/' */
	/* Used by the thread of transfers alone while something is under way. */
	struct listed_place place;
	struct object_group *group;
	uint64_t listed; /* requests of its listing */

	pthread_mutex_t lock; /* protects what follows */
	uint64_t logged;      /* when the user was last told of a read that failed, ns; 0: never */
	unsigned more;	      /* since then */
};

static struct prefix *prefix_of(struct members *members)
{
	return (struct prefix *)members;
}

bool name_is_prefix(const char *name)
{
	size_t server = name_scheme(name) + strlen("://"), len = strlen(name);

	return name_is_url(name) && len > server && name[len - 1] == '/';
}

/* --- listing ---------------------------------------------------------------------------------- */

struct finding {
	struct prefix *prefix;
	member_found_fn *found;
	void *arg;
	unsigned count;
};

static int take_member(void *context, const struct listed *listed, struct err *err)
{
	struct finding *finding = context;
	size_t above = strlen(finding->prefix->place.path);
	const struct member member = {.path = *listed->path ? listed->path + above : "",
				      .size = listed->size,
				      .mtime = listed->modified,
				      .tag = listed->tag};

	if (finding->count++ == BOUND_OBJECTS)
		return err_set(err, -E2BIG, "it has over %u objects", BOUND_OBJECTS);
	return finding->found(finding->arg, &member);
}

static int prefix_list(struct members *members, member_found_fn *found, void *arg, struct err *err)
{
	struct prefix *prefix = prefix_of(members);
	struct finding finding = {.prefix = prefix, .found = found, .arg = arg};
	struct listed_ask ask = {.pages = BOUND_OBJECT_PAGES,
				 .split = true,
				 .found = take_member,
				 .context = &finding};
	int r = listed_all(&prefix->place, prefix->place.path, &ask, err);

	prefix->listed = ask.requests;
	return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A read of a member, with an object of its own. */
struct reading {
	struct prefix *prefix;
	struct object *object;
	reader_done_fn *done;
	void *arg;
	char path[];
};

/* At most a line a minute. Who reads says what was replaced, or is gone. */
static void note_loss(struct reading *reading, int error, const struct err *why)
{
	struct prefix *prefix = reading->prefix;
	SCOPE(buf_release) struct buf line = BUF_INIT;
	uint64_t now = clock_ns();
	unsigned more;

	pthread_mutex_lock(&prefix->lock);
	more = prefix->more++;
	if (prefix->logged && now - prefix->logged < AGAIN_NS) {
		pthread_mutex_unlock(&prefix->lock);
		return;
	}
	prefix->logged = now;
	prefix->more = 0;
	pthread_mutex_unlock(&prefix->lock);
	buf_addf(&line, "%s%s", prefix->name, reading->path);
	if (more)
		buf_addf(&line, ", and %u more before", more);
	buf_addf(&line, ": %s", err_text(why, error));
	if (prefix->place.settings->notice && buf_error(&line) == 0)
		prefix->place.settings->notice(line.data);
}

static void reading_done(void *arg, int64_t result, const struct err *why)
{
	struct reading *reading = arg;
	reader_done_fn *done = reading->done;
	void *done_arg = reading->arg;

	if (result < 0 && result != -ECANCELED && result != -ESTALE && result != -ENOENT)
		note_loss(reading, (int)result, why);
	object_free(reading->object);
	free(reading);
	done(done_arg, result < 0 ? (int)result : 0);
}

/* The path of a member, or of all of them (""), in a URL of the place. */
static int add_path(const struct prefix *prefix, const char *path, struct buf *ret)
{
	url_encode(ret, prefix->place.path, "/");
	return url_encode(ret, path, "/");
}

static int reading_new(struct prefix *prefix, const struct member *member, struct reading **ret)
{
	struct reading *reading = calloc(1, sizeof(*reading) + strlen(member->path) + 1);
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = reading ? add_path(prefix, member->path, &path) : -ENOMEM;

	if (r == 0)
		r = object_new(prefix->group, prefix->place.auth, path.data, &reading->object);
	if (r < 0) {
		free(reading);
		return r;
	}
	object_preset(reading->object, member->size, member->tag, prefix->place.of_hub,
		      member->mtime / SECOND_NS);
	reading->prefix = prefix;
	memcpy(reading->path, member->path, strlen(member->path));
	*ret = reading;
	return 0;
}

static void prefix_submit(struct members *members, const struct member *member,
			  const struct iovec *iov, int count, uint64_t offset, uint64_t needed,
			  const atomic_bool *ahead, reader_done_fn *done, void *arg)
{
	struct object_range range = {.first = offset, .ahead = ahead};
	uint64_t len = 0;
	struct reading *reading = NULL;
	int r;

	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	range.len = min(len, sub_sat(member->size, offset));
	r = range.len < needed ? -ENODATA : 0;
	if (r == 0 && range.len)
		r = reading_new(prefix_of(members), member, &reading);
	if (r < 0 || range.len == 0) {
		done(arg, r);
		return;
	}
	reading->done = done;
	reading->arg = arg;
	object_get(reading->object, iov, count, &range, reading_done, reading);
}

/* --- operations ------------------------------------------------------------------------------- */

static int prefix_prepare(struct members *members, enum reader_io io)
{
	(void)io;
	atomic_store(&prefix_of(members)->group->cancelled, false);
	return 0;
}

static void prefix_cancel(struct members *members)
{
	struct object_group *group = prefix_of(members)->group;

	atomic_store(&group->cancelled, true);
	http_cancel(group->notice.client);
}

static void prefix_rest(struct members *members)
{
	http_end(prefix_of(members)->group->notice.client);
}

static void prefix_stats(struct members *members, struct reader_stats *ret)
{
	object_group_stats(prefix_of(members)->group, ret);
	ret->listed = prefix_of(members)->listed;
}

static void prefix_free(struct members *members)
{
	struct prefix *prefix = prefix_of(members);

	object_group_free(prefix->group);
	if (prefix->place.auth)
		prefix->place.auth->ops->free(prefix->place.auth);
	pthread_mutex_destroy(&prefix->lock);
	free(members->place);
	free(prefix->name);
	free(prefix);
}

static const struct members_ops prefix_ops = {
	.list = prefix_list,
	.submit = prefix_submit,
	.prepare = prefix_prepare,
	.cancel = prefix_cancel,
	.rest = prefix_rest,
	.stats = prefix_stats,
	.free = prefix_free,
};

/* --- opening ---------------------------------------------------------------------------------- */

/* The place of the bucket, and the path in it. */
static int find_prefix_place(struct prefix *prefix)
{
	SCOPE(buf_release) struct buf place = BUF_INIT;
	int r;

	buf_adds(&place, prefix->place.auth->place);
	r = add_path(prefix, "", &place);
	if (r == 0)
		prefix->members.place = steal_ptr(&place.data);
	return r;
}

static int open_parts(struct prefix *prefix, const struct remote_settings *settings,
		      struct remote *remote, struct err *err)
{
	int r = listed_open(prefix->name, settings, remote, &prefix->place, err);

	if (r == 0)
		r = object_group_new(prefix->name, prefix->place.auth->url, settings, remote,
				     &prefix->group, err);
	if (r == 0)
		r = find_prefix_place(prefix);
	if (r == 0)
		prefix->group->many = true;
	return r;
}

int prefix_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct members **ret, struct err *err)
{
	struct prefix *prefix;
	int r;

	if (name_has_scheme(name, "http") || name_has_scheme(name, "https"))
		return err_set(err, -EINVAL,
			       "servers of http:// and https:// do not list what is in a folder: "
			       "s3://BUCKET/FOLDER/, gs://BUCKET/FOLDER/ and "
			       "hf://datasets/OWNER/NAME/FOLDER/ can be listed");
	prefix = calloc(1, sizeof(*prefix));
	if (!prefix)
		return -ENOMEM;
	prefix->members = (struct members){.ops = &prefix_ops, .direct = true};
	pthread_mutex_init(&prefix->lock, NULL);
	prefix->name = strdup(name);
	r = prefix->name ? open_parts(prefix, settings, remote, err) : -ENOMEM;
	if (r < 0) {
		prefix_free(&prefix->members);
		return r;
	}
	*ret = &prefix->members;
	return 0;
}
