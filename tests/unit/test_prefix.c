/* The objects below a folder of a server, listed side by side and read one by one: remote/prefix.h.
 * The server is this test's; that real ones list as it does is seen by tests/mount/test_prefix.py.
 */
#define TEST_MAIN
#include "base/clock.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/prefix.h"
#include "tests/unit/aws_home.h"
#include "tests/unit/http_server.h"
#include <errno.h>

#define ABOVE_ALL "\xf4\x8f\xbf\xbf"

/* Whether this takes minutes with ThreadSanitizer, which finds the same races in small buckets. */
#ifdef __SANITIZE_THREAD__
#define IS_SLOW true
#else
#define IS_SLOW false
#endif

/* A bucket. Its keys are sorted: those given, or train/c00000/000000.jpg and so on. */
static struct {
	const char *const *keys;
	const char *const *sorted; /* the same, where the server has another order */
	size_t count, files;	   /* keys, and those of a folder */
	size_t page;		   /* keys, and folders, that one has */
	unsigned delay_ms;
	bool no_after;		   /* it does not know start-after */
	bool by_folders;	   /* its keys are sorted as folders are walked */
	atomic_uint listed, asked; /* requests */
	atomic_uint busy;	   /* requests that get a 503 */
	atomic_uint most, now;	   /* listings under way */
	const char *changed, *gone, *refused;
} store;

static const char *key_at(size_t number, char *room)
{
	if (store.keys)
		return store.keys[number];
	snprintf(room, 64, "train/c%05zu/%06zu.jpg", number / store.files, number % store.files);
	return room;
}

/* Of a folder, what is in it stands before what has a longer name. */
static int compare_texts(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	if (store.by_folders && *a && *b && (*a == '/' || *b == '/'))
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

/* The first key that is not below this text. */
static size_t first_key(const char *text)
{
	size_t low = 0, high = store.count;
	char room[64];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_texts(key_at(middle, room), text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t size_of(const char *key)
{
	return strlen(key) * 997 % 70000;
}

/* `len` bytes of an object, from the one at `first`. */
static char *bytes_of(const char *key, size_t first, size_t len)
{
	size_t period = strlen(key);
	char *bytes = malloc(len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(key[(first + i) % period] + (char)((first + i) >> 8));
	return bytes;
}

/* A parameter of the query, decoded; "": there is none. */
static void find_parameter(const char *text, const char *name, char *ret)
{
	const char *at = strstr(text, name), *end = strstr(text, " HTTP/");

	if (at && at < end)
		for (at += strlen(name); at < end && *at != '&'; at++) {
			int byte = name_percent_byte(at);

			*ret++ = byte >= 0 ? (char)byte : *at;
			at += byte >= 0 ? 2 : 0;
		}
	*ret = '\0';
}

static bool send_listing(int fd, const char *text)
{
	SCOPE(buf_release) struct buf body = BUF_INIT;
	char prefix[4096], after[4096], token[4096], delimiter[8], room[64], folder[4200];
	size_t at, found = 0;

	find_parameter(text, "prefix=", prefix);
	find_parameter(text, "start-after=", after);
	find_parameter(text, "continuation-token=", token);
	find_parameter(text, "delimiter=", delimiter);
	at = first_key(prefix);
	if (*after && !*token && !store.no_after) {
		at = first_key(after);
		at += at < store.count && strcmp(key_at(at, room), after) == 0;
	}
	if (*token)
		at = strtoul(token, NULL, 10);
	buf_adds(&body, "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	while (at < store.count && found++ < store.page) {
		const char *key = key_at(at, room), *slash;

		if (strncmp(key, prefix, strlen(prefix)) != 0)
			break;
		slash = *delimiter ? strchr(key + strlen(prefix), '/') : NULL;
		if (slash) {
			snprintf(folder, sizeof(folder), "%.*s\xff", (int)(slash + 1 - key), key);
			buf_addf(&body, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>",
				 (int)(slash + 1 - key), key);
			at = first_key(folder);
			continue;
		}
		buf_addf(&body,
			 "<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.500Z"
			 "</LastModified><ETag>&quot;%zu&quot;</ETag><Size>%zu</Size></Contents>",
			 key, strlen(key), size_of(key));
		at++;
	}
	if (at < store.count && strncmp(key_at(at, room), prefix, strlen(prefix)) == 0)
		buf_addf(&body, "<NextContinuationToken>%zu</NextContinuationToken>", at);
	buf_adds(&body, "</ListBucketResult>");
	return send_text(fd, "", body.data, body.len);
}

static bool send_object(int fd, const char *text)
{
	const char *range = strstr(text, "Range: bytes="), *match = strstr(text, "If-Match: \"");
	size_t first, last, tag, at;
	char key[4096], headers[256];
	SCOPE_FREE char *body = NULL;
	int n;

	find_parameter(text, "GET /b/", key);
	at = first_key(key);
	if (at == store.count || (store.gone && strcmp(store.gone, key) == 0))
		return send_status(fd, "404 Not Found");
	if (store.refused && strcmp(store.refused, key) == 0)
		return send_status(fd, "403 Forbidden");
	tag = strlen(key) + (store.changed && strcmp(store.changed, key) == 0);
	if (match && strtoul(match + strlen("If-Match: \""), NULL, 10) != tag)
		return send_status(fd, "412 Precondition Failed");
	assert_int_equal(sscanf(range, "Range: bytes=%zu-%zu", &first, &last), 2);
	body = bytes_of(key, first, last - first + 1);
	n = snprintf(headers, sizeof(headers),
		     "HTTP/1.1 206 Partial Content\r\nContent-Length: %zu\r\n"
		     "Content-Range: bytes %zu-%zu/%zu\r\nETag: \"%zu\"\r\n\r\n",
		     last - first + 1, first, last, size_of(key), tag);
	return send(fd, headers, (size_t)n, MSG_NOSIGNAL | MSG_MORE) == n &&
	       send_all(fd, body, last - first + 1);
}

static bool take_one(atomic_uint *count)
{
	unsigned left = atomic_load(count);

	while (left && !atomic_compare_exchange_weak(count, &left, left - 1))
		;
	return left;
}

static bool reply(struct http_server *server, int fd, const char *text)
{
	bool listing = strstr(text, "list-type=2"), goes_on;
	unsigned now = atomic_fetch_add(&store.now, 1) + 1, most = atomic_load(&store.most);

	(void)server;
	while (now > most && !atomic_compare_exchange_weak(&store.most, &most, now))
		;
	atomic_fetch_add(listing ? &store.listed : &store.asked, 1);
	if (store.delay_ms)
		nanosleep(&(struct timespec){.tv_nsec = store.delay_ms * 1000000L}, NULL);
	goes_on = take_one(&store.busy) ? send_status(fd, "503 Slow Down")
		  : listing		? send_listing(fd, text)
					: send_object(fd, text);
	atomic_fetch_sub(&store.now, 1);
	return goes_on;
}

/* --- listing ---------------------------------------------------------------------------------- */

struct one {
	char *path, *tag;
	uint64_t size;
};

struct world {
	struct http_server *server;
	struct remote engine;
	struct remote_settings settings;
	char endpoint[64];
	struct members *members;
	struct buf found; /* struct one */
};

static char said[8192];

static void notice(const char *line)
{
	strncat(said, line, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

static struct world *world_new(const char *name)
{
	struct world *world = calloc(1, sizeof(*world));
	struct err err = {0};

	*world = (struct world){.engine = REMOTE_INIT, .server = server_new(0)};
	world->server->reply = reply;
	server_start(world->server);
	snprintf(world->endpoint, sizeof(world->endpoint), "http://127.0.0.1:%u",
		 world->server->port);
	world->settings = (struct remote_settings){
		.anonymous = true, .endpoint = world->endpoint, .retry = 60, .notice = notice};
	*said = '\0';
	if (prefix_open(name, &world->settings, &world->engine, &world->members, &err) < 0)
		fail_msg("%s", err.text);
	return world;
}

static void world_free(struct world *world)
{
	struct one *ones = BUF_ITEMS(&world->found, struct one);

	for (size_t i = 0; i < BUF_COUNT(&world->found, struct one); i++) {
		free(ones[i].path);
		free(ones[i].tag);
	}
	buf_release(&world->found);
	world->members->ops->free(world->members);
	server_stop(world->server);
	free(world);
}

static int keep(void *arg, const struct member *member)
{
	struct world *world = arg;
	const struct one one = {strdup(member->path), strdup(member->tag), member->size};

	assert_int_equal(member->mtime, 1767323045500000000);
	return buf_add(&world->found, &one, sizeof(one));
}

static int compare_ones(const void *a, const void *b)
{
	return strcmp(((const struct one *)a)->path, ((const struct one *)b)->path);
}

static void list_all(struct world *world)
{
	struct err err = {0};

	atomic_store(&store.listed, 0);
	atomic_store(&store.most, 0);
	if (world->members->ops->list(world->members, keep, world, &err) < 0)
		fail_msg("%s", err.text);
	buf_sort(&world->found, sizeof(struct one), compare_ones);
}

/* Leaves out what was found before. Returns how many that were, but for names above all others,
 * which may be found again and again. */
static size_t leave_one_of_each(struct buf *found)
{
	struct one *ones = BUF_ITEMS(found, struct one);
	size_t count = BUF_COUNT(found, struct one), kept = 0, twice = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && strcmp(ones[kept - 1].path, ones[i].path) == 0) {
			twice += !strstr(ones[i].path, ABOVE_ALL);
			free(ones[i].path);
			free(ones[i].tag);
		} else {
			ones[kept++] = ones[i];
		}
	}
	found->len = kept * sizeof(*ones);
	return twice;
}

/* All keys are found. Returns how many were found twice. */
static size_t finds_all(const char *name)
{
	struct world *world = world_new(name);
	const char *below = name + strlen("s3://b/");
	size_t at = 0, twice;
	const struct one *ones;

	list_all(world);
	twice = leave_one_of_each(&world->found);
	ones = BUF_ITEMS(&world->found, struct one);
	for (size_t i = 0; i < store.count; i++) {
		char room[64];
		const char *key = store.sorted ? store.sorted[i] : key_at(i, room);

		if (strncmp(key, below, strlen(below)) != 0)
			continue;
		assert_in_range(at, 0, BUF_COUNT(&world->found, struct one) - 1);
		assert_string_equal(ones[at].path, key + strlen(below));
		assert_int_equal(ones[at].size, size_of(key));
		assert_int_equal(strtoul(ones[at].tag + 1, NULL, 10), strlen(key));
		at++;
	}
	assert_int_equal(at, BUF_COUNT(&world->found, struct one));
	/* Where an overload lasts two seconds, as on a busy machine, that is said. */
	assert_true(!*said || strstr(said, "asking again"));
	world_free(world);
	return twice;
}

/* And each once. */
static void finds_each(const char *name)
{
	assert_int_equal(finds_all(name), 0);
}

static void set_folders(size_t folders, size_t files, size_t page)
{
	store.keys = NULL;
	store.count = folders * files;
	store.files = files;
	store.page = page;
}

TEST(what_fits_into_a_page_is_one_request)
{
	set_folders(30, 30, 1000);
	finds_each("s3://b/train/");
	assert_int_equal(store.listed, 1);
	finds_each("s3://b/train/c00007/");
	assert_int_equal(store.listed, 1);
	finds_each("s3://b/none/");
	assert_int_equal(store.listed, 1);
}

/* Small folders are not asked for by themselves, and large ones side by side. */
static const struct {
	size_t folders, files, page;
	bool large;	   /* it is slow */
	unsigned delay_ms; /* of each request; 0: how many are under way at once is not known */
	unsigned least, most;
} buckets[] = {
	{2000, 3, 100, false, 0, 60, 61},     {10000, 1, 1000, false, 0, 10, 11},
	{7, 1111, 100, false, 0, 77, 100},    {1, 4000, 100, false, 0, 40, 50},
	{260, 77, 1000, false, 30, 28, 40},   {100, 129, 100, false, 30, 200, 210},
	{10000, 20, 1000, true, 0, 200, 300}, {20000, 5, 1000, true, 0, 100, 170},
};

TEST(a_bucket_takes_so_many_requests_many_at_once)
{
	for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++) {
		print_message("%zu folders of %zu\n", buckets[i].folders, buckets[i].files);
		if (IS_SLOW && buckets[i].large)
			continue;
		set_folders(buckets[i].folders, buckets[i].files, buckets[i].page);
		store.delay_ms = buckets[i].delay_ms;
		finds_each("s3://b/");
		store.delay_ms = 0;
		assert_in_range(store.listed, buckets[i].least, buckets[i].most);
		if (buckets[i].delay_ms)
			assert_in_range(store.most, 4, 200);
	}
}

/* The first page tells nothing of them. */
TEST(folders_that_grow_are_listed_side_by_side)
{
	static char *keys[20000];
	size_t count = 0;

	for (int folder = 0; folder < 100; folder++)
		for (int file = 0; file < (folder < 50 ? 20 : 380); file++)
			assert_true(asprintf(&keys[count++], "t/%02d/%03d", folder, file) > 0);
	store.keys = (const char *const *)keys;
	store.count = count;
	store.page = 100;
	store.delay_ms = 30;
	finds_each("s3://b/");
	store.delay_ms = 0;
	assert_in_range(store.listed, 200, 320);
	assert_in_range(store.most, 4, 200);
	while (count)
		free(keys[--count]);
}

TEST(a_server_that_takes_no_start_after_is_listed_page_by_page)
{
	set_folders(20, 100, 100);
	store.no_after = true;
	assert_in_range(finds_all("s3://b/"), 1, 2000);
	assert_in_range(store.listed, 20, 30);
	store.no_after = false;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_as_folders(const void *a, const void *b)
{
	return compare_texts(*(const char *const *)a, *(const char *const *)b);
}

/* Takes the keys over, and lists them in pages of all lengths, whatever the server does. */
static void lists_always(char **keys, size_t count)
{
	SCOPE_FREE char **sorted = malloc(count * sizeof(*sorted));

	qsort(keys, count, sizeof(*keys), compare_keys);
	memcpy(sorted, keys, count * sizeof(*keys));
	store.keys = (const char *const *)keys;
	store.sorted = (const char *const *)sorted;
	store.count = count;
	for (unsigned kind = 0; kind < 3; kind++) {
		store.no_after = kind == 1;
		store.by_folders = kind == 2;
		qsort(keys, count, sizeof(*keys), compare_as_folders);
		for (store.page = 1; store.page <= count; store.page = store.page * 3 + 1) {
			size_t twice = finds_all("s3://b/");

			assert_in_range(twice, 0, kind ? count : 2);
			finds_all("s3://b/a/");
			finds_all("s3://b/a/b/");
		}
	}
	store.by_folders = false;
	store.sorted = NULL;
	for (size_t i = 0; i < count; i++)
		free(keys[i]);
}

/* Each below one before, whose name is sorted before or behind a '/'. */
TEST(trees_of_all_kinds_are_found)
{
	static const char *const names[] = {"a", "b",  "a-", "a0",	 "!",
					    "",	 "b.", "~",  "\xc3\xa9", ABOVE_ALL};

	if (IS_SLOW)
		skip();
	srandom(1);
	for (int round = 0; round < 6; round++) {
		char folders[12][64] = {""};
		char *keys[200];
		size_t count = 20 + (size_t)random() % 180;

		for (size_t i = 1; i < 12; i++) {
			char above[41];

			snprintf(above, sizeof(above), "%.40s", folders[(size_t)random() % i]);
			snprintf(folders[i], sizeof(folders[i]), "%s%s/", above,
				 names[random() % 10]);
		}
		for (size_t i = 0; i < count; i++)
			assert_true(asprintf(&keys[i], "%s%s%zu",
					     folders[random() % (1 + random() % 12)],
					     names[random() % 10], i) > 0);
		lists_always(keys, count);
	}
}

TEST(an_overload_passes)
{
	set_folders(40, 40, 500);
	atomic_store(&store.busy, 3);
	finds_each("s3://b/");
	assert_int_equal(store.busy, 0);
}

/* What becomes of them is up to who asks. */
TEST(names_that_are_no_paths_are_found)
{
	static const char *keys[] = {"t/", "t/../x", "t//x", "t/a", "t/a/", "t/a/b"};

	store.keys = keys;
	store.count = sizeof(keys) / sizeof(keys[0]);
	for (store.page = 1; store.page <= 6; store.page++)
		finds_each("s3://b/t/");
}

TEST(plain_servers_have_no_listings)
{
	struct remote engine = REMOTE_INIT;
	const struct remote_settings settings = {.anonymous = true};
	struct members *members;
	struct err err = {0};

	assert_int_equal(prefix_open("https://host/train/", &settings, &engine, &members, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "s3://BUCKET/FOLDER/"));
	assert_true(name_is_prefix("https://host/train/"));
	assert_true(name_is_prefix("s3://b/"));
	assert_false(name_is_prefix("s3://b"));
	assert_false(name_is_prefix("http://"));
	assert_false(name_is_prefix("/nfs/train/"));
}

/* --- reading ---------------------------------------------------------------------------------- */

struct read_one {
	struct iovec iov;
	int error;
	atomic_uint *left;
};

static void read_ended(void *arg, int error)
{
	struct read_one *read = arg;

	read->error = error;
	atomic_fetch_sub(read->left, 1);
}

/* All members at once; `failed` gets the number of those that fail. */
static void read_all(struct world *world, const char *fails, int error)
{
	size_t count = BUF_COUNT(&world->found, struct one);
	const struct one *ones = BUF_ITEMS(&world->found, struct one);
	SCOPE_FREE struct read_one *reads = calloc(count, sizeof(*reads));
	atomic_uint left = (unsigned)count;

	for (size_t i = 0; i < count; i++) {
		const struct member member = {
			.path = ones[i].path, .size = ones[i].size, .tag = ones[i].tag};

		reads[i] = (struct read_one){
			{malloc(ones[i].size + 4096), ones[i].size + 4096}, 1, &left};
		world->members->ops->submit(world->members, &member, &reads[i].iov, 1, 0,
					    ones[i].size, NULL, read_ended, &reads[i]);
	}
	while (atomic_load(&left))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	for (size_t i = 0; i < count; i++) {
		SCOPE_FREE char *bytes = NULL, *read = reads[i].iov.iov_base;
		char key[512];

		snprintf(key, sizeof(key), "train/%s", ones[i].path);
		bytes = bytes_of(key, 0, ones[i].size);
		assert_int_equal(reads[i].error,
				 fails && strcmp(fails, ones[i].path) == 0 ? error : 0);
		if (reads[i].error == 0)
			assert_memory_equal(read, bytes, ones[i].size);
	}
}

TEST(members_are_read_many_at_once)
{
	struct world *world;
	struct reader_stats stats;
	uint64_t begin, all_us;

	set_folders(20, 20, 1000);
	world = world_new("s3://b/train/");
	list_all(world);
	atomic_store(&store.asked, 0);
	store.delay_ms = 30;
	begin = clock_ns();
	read_all(world, NULL, 0);
	all_us = (clock_ns() - begin) / 1000;
	store.delay_ms = 0;
	world->members->ops->stats(world->members, &stats);
	assert_int_equal(stats.requests, 400);
	assert_int_equal(store.asked, 400);
	assert_in_range(stats.first_byte_p50_us, 4000, all_us * 9 / 8); /* a bucket is that wide */
	assert_in_range(store.most, 8, 384);
	world_free(world);
}

TEST(one_that_changed_or_is_gone_fails_alone)
{
	struct world *world;

	set_folders(5, 20, 1000);
	world = world_new("s3://b/train/");
	list_all(world);
	store.changed = "train/c00003/000007.jpg";
	read_all(world, "c00003/000007.jpg", -ESTALE);
	store.changed = NULL;
	store.gone = "train/c00001/000002.jpg";
	read_all(world, "c00001/000002.jpg", -ENOENT);
	read_all(world, "c00001/000002.jpg", -ENOENT);
	store.gone = NULL;
	assert_string_equal(said, "");
	store.refused = "train/c00002/000003.jpg";
	read_all(world, "c00002/000003.jpg", -EACCES);
	read_all(world, "c00002/000003.jpg", -EACCES);
	store.refused = NULL;
	print_message("%s", said);
	assert_ptr_equal(strstr(said, "s3://b/train/c00002/000003.jpg: "), said);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	world_free(world);
}

/* Only the size tells then. */
TEST(a_tag_that_would_end_a_header_does_not_count)
{
	struct world *world;

	set_folders(1, 1, 1000);
	world = world_new("s3://b/train/");
	list_all(world);
	free(BUF_ITEMS(&world->found, struct one)->tag);
	BUF_ITEMS(&world->found, struct one)->tag = strdup("\"1\"\r\nX-Other: 1");
	read_all(world, NULL, 0);
	world_free(world);
}

TEST(reads_of_an_overloaded_server_are_repeated)
{
	struct world *world;

	set_folders(5, 20, 1000);
	world = world_new("s3://b/train/");
	list_all(world);
	atomic_store(&store.busy, 30);
	read_all(world, NULL, 0);
	assert_int_equal(store.busy, 0);
	world_free(world);
}

int main(void)
{
	return test_run(aws_home_enter, aws_home_leave);
}
