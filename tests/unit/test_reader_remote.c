/* A reader of an object on a server, over real connections: remote/reader_remote.h, and with it
 * object, http and their threads. */
#include "base/scope.h"
#include "http_server.h"
#include "remote/fetch.h"
#include "remote/http.h"
#include "remote/object_auth.h"
#include "remote/open.h"
#include "remote/reader_remote.h"
#include "tests/unit/patience.h"
#include "tests/unit/test.h"
#include <errno.h>

#define SIZE (20 * (uint64_t)1048576 + 12345)

static const struct remote_settings patient = {.retry = 60};
static struct remote engine = REMOTE_INIT;

static struct reader *open_how(struct http_server *server, unsigned how,
			       const struct remote_settings *settings)
{
	struct reader *reader = NULL;
	struct err err = {0};
	char url[64];
	int r;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", server->port);
	r = reader_open(url, how, settings, &engine, &reader, &err);
	if (r < 0)
		fail_msg("%s", err.text);
	return reader;
}

static struct reader *open_it(struct http_server *server, const struct remote_settings *settings)
{
	return open_how(server, 0, settings);
}

static void assert_bytes(const unsigned char *data, size_t len, uint64_t offset)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != byte_at(offset + i))
			fail_msg("byte %llu is wrong", (unsigned long long)(offset + i));
}

static void assert_gets(struct reader *reader, size_t len, uint64_t offset)
{
	SCOPE_FREE unsigned char *data = malloc(len);

	assert_int_equal(reader_get(reader, data, len, offset), (ssize_t)len);
	assert_bytes(data, len, offset);
}

#define MANY 300
#define READ ((size_t)3 * 4096)

struct many {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned left; /* protected by lock */
	int error;     /* protected by lock */
	struct reader_request requests[MANY];
	struct iovec iov[MANY][3];
	unsigned char *memory;
};

/* A server, and a reader of what it has. */
struct served {
	struct http_server *server;
	struct reader *reader;
	struct many many;
};

static void set_up(struct served *s)
{
	s->server = server_new(SIZE);
}

static void tear_down(struct served *s)
{
	reader_free(s->reader);
	free(s->many.memory);
	server_stop(s->server);
}

FIXTURE(s, struct served, set_up, tear_down);

/* Once it is open, the server gives other answers. */
static void serve(struct served *s, enum answer then)
{
	s->server->good = 2;
	s->server->then = then;
	server_start(s->server);
	s->reader = open_it(s->server, &patient);
}

/* --- reading ---------------------------------------------------------------------------------- */

TEST_OF(s, an_object_is_opened_by_two_requests)
{
	struct reader_identity identity;

	serve(s, ANSWER_RANGE);
	assert_int_equal(s->server->requests, 2);
	assert_int_equal(reader_identity(s->reader, &identity), 0);
	assert_int_equal(identity.size, SIZE);
	/* Its beginning and its end are here. */
	assert_gets(s->reader, 152, 4096);
	assert_gets(s->reader, 65536, 0);
	assert_gets(s->reader, 1048576, SIZE - 1048576);
	assert_int_equal(s->server->requests, 2);
}

TEST_OF(s, all_of_an_object_comes_in_parts)
{
	serve(s, ANSWER_RANGE);
	assert_gets(s->reader, SIZE, 0);
	assert_int_equal(s->server->requests, 2 + 3);
}

static void expect_whole(uint64_t size, unsigned requests)
{
	struct http_server *server = server_new(size);
	struct reader *reader;
	SCOPE(buf_release) struct buf all = BUF_INIT;

	server_start(server);
	reader = open_how(server, READER_WHOLE, &patient);
	assert_int_equal(reader_get_all(reader, SIZE, &all), 0);
	assert_int_equal(all.len, size);
	assert_bytes((const unsigned char *)all.data, all.len, 0);
	assert_int_equal(server->requests, requests);
	all.len = 0;
	assert_int_equal(reader_get_all(reader, size - 1, &all), -EFBIG);
	reader_free(reader);
	server_stop(server);
}

TEST(an_object_that_is_read_whole_is_one_request_or_comes_in_parts)
{
	expect_whole(1000, 1);
	expect_whole(REMOTE_PART, 1);
	expect_whole(SIZE, 1 + 2);
}

TEST_OF(s, nothing_is_behind_the_end)
{
	unsigned char data[100];

	serve(s, ANSWER_RANGE);
	assert_int_equal(reader_get(s->reader, data, 100, SIZE - 50), 50);
	assert_bytes(data, 50, SIZE - 50);
	assert_int_equal(reader_get(s->reader, data, 100, SIZE), 0);
}

TEST_OF(s, what_was_announced_is_asked_for_once)
{
	serve(s, ANSWER_RANGE);
	reader_will_get(s->reader, 1 << 20, 500000);
	reader_will_get(s->reader, 2 << 20, 500000);
	reader_will_get(s->reader, 1 << 20, 500000);
	assert_gets(s->reader, 400000, 1 << 20);
	assert_gets(s->reader, 100000, (1 << 20) + 400000);
	assert_gets(s->reader, 500000, 2 << 20);
	assert_int_equal(s->server->requests, 2 + 2);
	/* It is not kept any longer. */
	assert_gets(s->reader, 500000, 1 << 20);
	assert_int_equal(s->server->requests, 2 + 3);
}

/* --- many at a time --------------------------------------------------------------------------- */

static void many_done(void *arg, int error)
{
	struct many *many = arg;

	SCOPE_LOCK(&many->lock);
	many->error = error ? error : many->error;
	if (--many->left == 0)
		pthread_cond_signal(&many->turn);
}

static uint64_t many_offset(unsigned i)
{
	return (uint64_t)(i * 7919 % 5000) * 4096;
}

/* Three pages each, in memory the other way round; one of `part` is ahead. */
static void many_submit(struct many *many, struct reader *reader, unsigned part)
{
	*many = (struct many){.lock = PTHREAD_MUTEX_INITIALIZER,
			      .turn = PTHREAD_COND_INITIALIZER,
			      .left = MANY,
			      .memory = malloc(MANY * READ)};
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned j = 0; j < 3; j++)
			many->iov[i][j] =
				(struct iovec){.iov_base = many->memory + i * READ + (2 - j) * 4096,
					       .iov_len = 4096};
		many->requests[i] = (struct reader_request){.iov = many->iov[i],
							    .count = 3,
							    .offset = many_offset(i),
							    .needed = READ,
							    .ahead = i % part == part - 1,
							    .done = many_done,
							    .arg = many};
		reader_submit(reader, &many->requests[i]);
	}
}

static int many_wait(struct many *many)
{
	SCOPE_LOCK(&many->lock);
	while (many->left > 0)
		pthread_cond_wait(&many->turn, &many->lock);
	return many->error;
}

static void assert_many(const struct many *many)
{
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned j = 0; j < 3; j++)
			assert_bytes(many->memory + i * READ + (2 - j) * 4096, 4096,
				     many_offset(i) + j * 4096);
}

static void read_many(struct served *s)
{
	struct reader_stats stats;

	serve(s, ANSWER_RANGE);
	assert_int_equal(reader_prepare(s->reader, READER_AUTO), 0);
	many_submit(&s->many, s->reader, 2);
	assert_int_equal(many_wait(&s->many), 0);
	assert_many(&s->many);
	assert_true(reader_stats(s->reader, &stats));
	assert_true(stats.requests >= MANY + 2);
	assert_int_equal(stats.under_way, 0);
}

TEST_OF(s, many_are_under_way_and_each_gets_its_bytes)
{
	read_many(s);
}

static enum answer often_wrong(struct http_server *server, unsigned request, const char *text)
{
	(void)server;
	(void)text;
	if (request < 2)
		return ANSWER_RANGE;
	return request % 50 == 7    ? ANSWER_503
	       : request % 50 == 17 ? ANSWER_CUT
	       : request % 50 == 27 ? ANSWER_HANG_UP
				    : ANSWER_RANGE;
}

TEST_OF(s, what_goes_wrong_is_asked_for_again)
{
	s->server->answer = often_wrong;
	read_many(s);
}

/* Its memory is full, or has room for more. */
TEST(an_answer_that_is_too_long_is_asked_for_again_as_a_whole)
{
	for (uint64_t room = 0; room < 2; room++) {
		struct http_server *server = server_new(SIZE);
		uint64_t offset = room ? SIZE / READER_PAGE * READER_PAGE : 5000 * READER_PAGE;
		uint64_t needed = room ? SIZE - offset : READER_PAGE;
		unsigned char data[READER_PAGE];
		struct iovec iov = {data, sizeof(data)};
		struct reader *reader;

		server->good = 2;
		server->then = ANSWER_LONG;
		server->once = true;
		server_start(server);
		reader = open_it(server, &patient);
		assert_int_equal(reader_prepare(reader, READER_AUTO), 0);
		assert_int_equal(reader_read(reader, &iov, 1, offset, needed), 0);
		for (uint64_t i = 0; i < needed; i++)
			assert_int_equal(data[i], byte_at(offset + i));
		reader_free(reader);
		server_stop(server);
	}
}

/* The rest would be a range of no bytes. */
TEST_OF(s, an_answer_that_breaks_after_its_last_byte_is_not_asked_for_again)
{
	unsigned char data[READER_PAGE];
	struct iovec iov = {data, sizeof(data)};

	s->server->once = true;
	serve(s, ANSWER_UNENDED);
	assert_int_equal(reader_prepare(s->reader, READER_AUTO), 0);
	assert_int_equal(reader_read(s->reader, &iov, 1, 5000 * READER_PAGE, sizeof(data)), 0);
	for (uint64_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], byte_at(5000 * READER_PAGE + i));
	assert_int_equal(atomic_load(&s->server->requests), 3);
}

#define ROOM 16 /* connections that a server takes */

static atomic_int inside, closed;

static enum answer closed_beyond_its_room(struct http_server *server, unsigned request,
					  const char *text)
{
	const struct timespec some = {.tv_nsec = 2000000};
	bool room = atomic_fetch_add(&inside, 1) < ROOM;

	(void)server;
	(void)request;
	(void)text;
	nanosleep(&some, NULL);
	atomic_fetch_sub(&inside, 1);
	atomic_fetch_add(&closed, !room);
	return room ? ANSWER_RANGE : ANSWER_HANG_UP;
}

TEST_OF(s, a_server_that_closes_connections_is_asked_less)
{
	unsigned rounds = 0;

	s->server->answer = closed_beyond_its_room;
	serve(s, ANSWER_RANGE);
	do {
		atomic_store(&closed, 0);
		many_submit(&s->many, s->reader, 2);
		assert_int_equal(many_wait(&s->many), 0);
		assert_many(&s->many);
		free(steal_ptr(&s->many.memory));
		assert_true(++rounds < 50);
	} while (atomic_load(&closed) > MANY / 10);
}

TEST_OF(s, a_reader_rests_at_once_whatever_is_under_way)
{
	serve(s, ANSWER_NEVER);
	many_submit(&s->many, s->reader, 2);
	reader_rest(s->reader);
	assert_int_equal(many_wait(&s->many), -ECANCELED);
}

TEST_OF(s, what_rested_reads_again)
{
	serve(s, ANSWER_RANGE);
	for (unsigned i = 0; i < 2; i++)
		reader_rest(s->reader);
	assert_gets(s->reader, 100000, 5000000);
	for (unsigned i = 0; i < 2; i++)
		remote_stop(&engine);
	assert_gets(s->reader, 100000, 7000000);
	remote_stop(&engine);
}

TEST_OF(s, what_was_cancelled_is_not_asked_for_again)
{
	serve(s, ANSWER_503);
	many_submit(&s->many, s->reader, 2);
	reader_cancel(s->reader);
	assert_int_equal(many_wait(&s->many), -ECANCELED);
}

/* --- many readers ----------------------------------------------------------------------------- */

static pthread_mutex_t crowd_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t crowd_change = PTHREAD_COND_INITIALIZER;
/* Protected by crowd_lock: requests that wait for so many others. */
static unsigned crowd, crowd_wanted;

#define READERS 4

static enum answer once_all_are_there(struct http_server *server, unsigned request,
				      const char *text)
{
	(void)server;
	(void)text;
	if (request < 2 * READERS)
		return ANSWER_RANGE;
	SCOPE_LOCK(&crowd_lock);
	crowd++;
	pthread_cond_broadcast(&crowd_change);
	while (crowd < crowd_wanted)
		pthread_cond_wait(&crowd_change, &crowd_lock);
	return ANSWER_RANGE;
}

struct reading {
	struct reader *readers[READERS];
	struct many many[READERS];
};

/* Nothing is answered before so many requests have come. One of `part` is ahead. */
static void read_in_a_crowd(struct served *s, unsigned wanted, unsigned part, struct reading *ret)
{
	crowd = 0;
	crowd_wanted = wanted;
	s->server->answer = once_all_are_there;
	server_start(s->server);
	for (unsigned i = 0; i < READERS; i++)
		ret->readers[i] = open_it(s->server, &patient);
	for (unsigned i = 0; i < READERS; i++)
		many_submit(&ret->many[i], ret->readers[i], part);
}

static void end_reading(struct reading *reading)
{
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(many_wait(&reading->many[i]), 0);
		free(reading->many[i].memory);
		reader_free(reading->readers[i]);
	}
}

TEST_OF(s, many_readers_ask_no_more_of_a_server_at_once_than_one)
{
	struct reading reading;

	read_in_a_crowd(s, HTTP_MOST, 2, &reading);
	end_reading(&reading);
	assert_true(crowd >= HTTP_MOST);
	assert_in_range(s->server->connected, HTTP_MOST, HTTP_MOST + 2 * READERS);
}

/* What is ahead gets seven eighths of the places. */
TEST_OF(s, what_somebody_waits_for_comes_first)
{
	unsigned char page[READER_PAGE];
	struct iovec iov = {page, sizeof(page)};
	struct reading reading;

	read_in_a_crowd(s, HTTP_MOST - HTTP_MOST / HTTP_WANTED_SHARE + 1, 1, &reading);
	assert_int_equal(reader_read(reading.readers[0], &iov, 1, 5000 * READER_PAGE, sizeof(page)),
			 0);
	end_reading(&reading);
}

TEST(a_server_that_does_not_answer_holds_up_no_other)
{
	struct http_server *dead = server_new(SIZE), *alive = server_new(SIZE);
	struct reader *waits, *goes_on;
	struct many many, others;

	dead->good = 2;
	dead->then = ANSWER_NEVER;
	server_start(dead);
	server_start(alive);
	waits = open_it(dead, &patient);
	goes_on = open_it(alive, &patient);
	many_submit(&many, waits, 2);
	many_submit(&others, goes_on, 2);
	assert_int_equal(many_wait(&others), 0);
	reader_cancel(goes_on);
	reader_rest(waits);
	assert_int_equal(many_wait(&many), -ECANCELED);
	assert_gets(goes_on, 100000, 5000000);
	reader_free(waits);
	reader_free(goes_on);
	free(many.memory);
	free(others.memory);
	server_stop(dead);
	server_stop(alive);
}

#define ENDS 70 /* packs */

TEST_OF(s, what_many_readers_keep_of_their_ends_is_bounded)
{
	struct reader *readers[ENDS];
	unsigned asked;

	server_start(s->server);
	for (unsigned i = 0; i < ENDS; i++)
		readers[i] = open_it(s->server, &patient);
	assert_int_equal(engine.kept, REMOTE_ENDS * (REMOTE_TAIL + REMOTE_HEAD));
	asked = s->server->requests;
	assert_gets(readers[ENDS - 1], 65536, 0);
	assert_gets(readers[ENDS - 1], 1048576, SIZE - 1048576);
	assert_int_equal(s->server->requests, asked);
	assert_gets(readers[0], 65536, 0);
	assert_int_equal(s->server->requests, asked + 1);
	for (unsigned i = 0; i < ENDS; i += 2)
		assert_int_equal(reader_prepare(readers[i], READER_AUTO), 0);
	for (unsigned i = 0; i < ENDS; i++)
		reader_free(readers[i]);
	assert_int_equal(engine.kept, 0);
	for (unsigned i = 0; i < REMOTE_ENDS; i++)
		assert_null(engine.ends[i]);
}

/* --- credentials ------------------------------------------------------------------------------ */

/* Credentials that do not come, once they are wanted. */
static atomic_bool wanted, asked;

static int never_sign(struct object_auth *auth, const struct url *url, struct buf *headers,
		      struct err *err)
{
	(void)auth, (void)url, (void)headers, (void)err;
	if (!atomic_load(&wanted))
		return 0;
	atomic_store(&asked, true);
	return -EAGAIN;
}

static void auth_free(struct object_auth *auth)
{
	free(auth->url);
	free(auth);
}

TEST_OF(s, a_read_that_was_cancelled_does_not_wait_for_credentials)
{
	static const struct object_auth_ops signs = {.sign = never_sign, .free = auth_free};
	struct object_auth *auth = calloc(1, sizeof(*auth));
	struct err err = {0};

	server_start(s->server);
	*auth = (struct object_auth){.ops = &signs};
	assert_true(asprintf(&auth->url, "http://127.0.0.1:%u/x", s->server->port) > 0);
	assert_int_equal(reader_remote_open("x", auth, 0, &patient, &engine, &s->reader, &err), 0);
	atomic_store(&wanted, true);
	many_submit(&s->many, s->reader, 2);
	assert_true(poll_until(atomic_load(&asked)));
	reader_cancel(s->reader);
	assert_int_equal(many_wait(&s->many), -ECANCELED);
}

/* Whether the test's server, as a proxy, is asked for what is elsewhere. */
static bool goes_through_proxy(struct served *s, bool direct)
{
	const unsigned before = s->server->requests;
	const struct fetch_request request = {.method = "GET",
					      .url = "http://192.0.2.1/x",
					      .timeout_ms = 300,
					      .direct = direct,
					      .settings = &patient};
	SCOPE(buf_release) struct buf body = BUF_INIT;
	struct err err = {0};
	unsigned status;

	assert_int_equal(fetch(&request, &status, &body, &err) == 0, !direct);
	return s->server->requests > before;
}

TEST_OF(s, a_question_for_credentials_goes_through_no_proxy)
{
	char proxy[64];

	s->server->then = ANSWER_503;
	server_start(s->server);
	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", s->server->port);
	setenv("http_proxy", proxy, 1);
	assert_true(goes_through_proxy(s, false));
	assert_false(goes_through_proxy(s, true));
	unsetenv("http_proxy");
}

TEST_OF(s, a_question_for_credentials_ends_when_nobody_waits)
{
	const atomic_bool stops = true;
	struct fetch_request request = {
		.method = "GET", .timeout_ms = 60000, .stops = &stops, .settings = &patient};
	struct buf body = BUF_INIT;
	struct err err = {0};
	unsigned status;
	char url[64];

	s->server->then = ANSWER_NEVER;
	server_start(s->server);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", s->server->port);
	request.url = url;
	assert_int_equal(fetch(&request, &status, &body, &err), -ECANCELED);
}
