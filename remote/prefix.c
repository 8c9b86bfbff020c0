#include "remote/prefix.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/listed.h"
#include "remote/object.h"
#include "remote/open.h"
#include "remote/page.h"
#include "remote/s3.h"
#include <stdio.h>
#include <string.h>

#define AGAIN_NS  (60 * CLOCK_SECOND) /* between two lines */
#define SECOND_NS ((int64_t)CLOCK_SECOND)

struct prefix {
	struct members members; /* first */
	char *name;		/* with its '/' */
	const char *below;	/* in it: behind the bucket, or the repository */
	bool of_hub;
	struct hub_name hub; /* in the name */
	const struct remote_settings *settings;
	struct remote *remote;
	struct object_group *group;
	uint64_t listed; /* requests of its listing */

	/* Of the bucket, or the repository, and used by the thread of transfers alone while
	 * something is under way. */
	struct object_auth *auth;

	pthread_mutex_t lock; /* protects what follows */
	char *stem;	      /* what all URLs begin with, as `auth` has it now */
	unsigned moves;	      /* how often it was taken over */
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

/* Takes over the URL that `auth` has now: where it leads, and how it is signed, may differ. */
static int take_stem(struct prefix *prefix)
{
	const char *url = prefix->auth->url;
	char *stem = strndup(url, strlen(url) - strlen(PAGE_ANY_KEY));

	if (!stem)
		return -ENOMEM;
	SCOPE_LOCK(&prefix->lock);
	free(prefix->stem);
	prefix->stem = stem;
	prefix->moves++;
	return 0;
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
	size_t above = strlen(finding->prefix->below);
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
	struct listed_ask ask = {.name = prefix->name,
				 .settings = prefix->settings,
				 .remote = prefix->remote,
				 .pages = BOUND_OBJECT_PAGES,
				 .split = true,
				 .found = take_member,
				 .context = &finding};
	int r = prefix->of_hub ? listed_hub(&ask, prefix->auth, &prefix->hub, prefix->below, err)
			       : listed_bucket(&ask, prefix->auth, prefix->below, err);

	prefix->listed = ask.requests;
	return r < 0 ? r : take_stem(prefix);
}

/* --- where a member is ------------------------------------------------------------------------ */

struct member_auth {
	struct object_auth auth; /* first */
	struct prefix *prefix;
	unsigned moves; /* of the prefix, when the URL was made */
	char path[];	/* encoded */
};

static struct member_auth *auth_of(struct object_auth *auth)
{
	return (struct member_auth *)auth;
}

static int make_member_url(struct member_auth *member)
{
	struct prefix *prefix = member->prefix;

	free(member->auth.url);
	member->auth.url = NULL;
	SCOPE_LOCK(&prefix->lock);
	member->moves = prefix->moves;
	if (asprintf(&member->auth.url, "%s%s", prefix->stem, member->path) >= 0)
		return 0;
	member->auth.url = NULL;
	return -ENOMEM;
}

static int member_sign(struct object_auth *auth, const struct url *url, header_add_fn *add,
		       void *context)
{
	struct object_auth *of_all = auth_of(auth)->prefix->auth;

	return of_all->ops->sign(of_all, url, add, context);
}

/* What was asked for before the refusal of another member has moved the bucket, or had the keys
 * renewed, is asked for again. */
static int member_refused(struct object_auth *auth, const struct object_answer *answer,
			  struct err *err)
{
	struct member_auth *member = auth_of(auth);
	struct prefix *prefix = member->prefix;
	int r = 0;

	if (member->moves == prefix->moves) {
		r = prefix->auth->ops->refused(prefix->auth, answer, err);
		if (r == 0)
			r = take_stem(prefix);
	}
	return r < 0 ? r : make_member_url(member);
}

static void member_auth_free(struct object_auth *auth)
{
	free(auth->url);
	free(auth);
}

static const struct object_auth_ops member_auth_ops = {
	.sign = member_sign,
	.refused = member_refused,
	.free = member_auth_free,
};

static int member_auth_new(struct prefix *prefix, const char *path, struct object_auth **ret)
{
	SCOPE(buf_release) struct buf encoded = BUF_INIT;
	const struct object_auth *of_all = prefix->auth;
	struct member_auth *member = NULL;
	int r;

	url_encode(&encoded, prefix->below, "/");
	r = url_encode(&encoded, path, "/");
	if (r == 0)
		r = buf_adds(&encoded, "");
	if (r == 0)
		member = calloc(1, sizeof(*member) + encoded.len + 1);
	if (!member)
		return -ENOMEM;
	memcpy(member->path, encoded.data, encoded.len);
	member->prefix = prefix;
	member->auth = (struct object_auth){.ops = &member_auth_ops,
					    .follows = of_all->follows,
					    .netrc = of_all->netrc,
					    .refresh = of_all->refresh,
					    .elsewhere = of_all->elsewhere};
	r = make_member_url(member);
	if (r < 0) {
		member_auth_free(&member->auth);
		return r;
	}
	*ret = &member->auth;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A read of a member, with an object of its own. */
struct reading {
	struct prefix *prefix;
	struct object *object;
	uint64_t len;
	reader_done_fn *done;
	void *arg;
	char path[];
};

/* At most a line a minute. Who reads says what was replaced, or is gone. */
static void note_loss(struct reading *reading, int error)
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
	buf_addf(&line, ": %s", err_text(&reading->object->why, error));
	if (prefix->settings->notice && buf_error(&line) == 0)
		prefix->settings->notice(line.data);
}

static void reading_done(void *arg, int64_t result)
{
	struct reading *reading = arg;
	reader_done_fn *done = reading->done;
	void *done_arg = reading->arg;

	if (result >= 0 && (uint64_t)result < reading->len)
		result = -ENODATA;
	if (result < 0 && result != -ECANCELED && result != -ESTALE && result != -ENOENT)
		note_loss(reading, (int)result);
	object_free(reading->object);
	free(reading);
	done(done_arg, result < 0 ? (int)result : 0);
}

static int reading_new(struct prefix *prefix, const struct member *member, struct reading **ret)
{
	struct reading *reading = calloc(1, sizeof(*reading) + strlen(member->path) + 1);
	struct object_auth *auth;
	int r = reading ? member_auth_new(prefix, member->path, &auth) : -ENOMEM;

	if (r == 0)
		r = object_new(prefix->group, auth, &reading->object);
	if (r < 0) {
		free(reading);
		return r;
	}
	object_preset(reading->object, member->size, member->tag, prefix->of_hub,
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
	reading->len = range.len;
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
	if (prefix->auth)
		prefix->auth->ops->free(prefix->auth);
	pthread_mutex_destroy(&prefix->lock);
	free(members->place);
	free(prefix->stem);
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

static int open_bucket(struct prefix *prefix, struct err *err)
{
	size_t bucket = name_scheme(prefix->name) + strlen("://");
	size_t len = bucket + strcspn(prefix->name + bucket, "/") + 1;
	SCOPE_FREE char *any = NULL;

	prefix->below = prefix->name + len;
	if (asprintf(&any, "%.*s" PAGE_ANY_KEY, (int)len, prefix->name) < 0) {
		any = NULL;
		return -ENOMEM;
	}
	return s3_auth_new(any, prefix->settings, fetch, prefix->remote, &prefix->auth, err);
}

static int open_repository(struct prefix *prefix, struct err *err)
{
	int r = hub_parse(prefix->name, &prefix->hub, err);

	prefix->of_hub = true;
	if (r < 0)
		return r;
	prefix->below = prefix->hub.path;
	return listed_hub_auth(&prefix->hub, prefix->settings, &prefix->auth, err);
}

/* The place of the bucket, and the path in it. */
static int find_prefix_place(struct prefix *prefix)
{
	SCOPE_FREE char *root = NULL;
	SCOPE(buf_release) struct buf place = BUF_INIT;
	int r = url_place(prefix->auth->place ?: prefix->auth->url, &root);

	if (r < 0)
		return r;
	buf_add(&place, root, strlen(root) - strlen(PAGE_ANY_KEY));
	r = url_encode(&place, prefix->below, "/");
	if (r == 0)
		r = buf_adds(&place, "");
	if (r == 0)
		prefix->members.place = steal_ptr(&place.data);
	return r;
}

static int open_parts(struct prefix *prefix, struct err *err)
{
	int r = name_has_scheme(prefix->name, "hf") ? open_repository(prefix, err)
						    : open_bucket(prefix, err);

	if (r == 0)
		r = object_group_new(prefix->name, prefix->auth->url, prefix->settings,
				     prefix->remote, &prefix->group, err);
	if (r == 0)
		r = take_stem(prefix);
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
	prefix->settings = settings;
	prefix->remote = remote;
	pthread_mutex_init(&prefix->lock, NULL);
	prefix->name = strdup(name);
	r = prefix->name ? open_parts(prefix, err) : -ENOMEM;
	if (r < 0) {
		prefix_free(&prefix->members);
		return r;
	}
	*ret = &prefix->members;
	return 0;
}
