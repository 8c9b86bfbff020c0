/* One thread, one curl multi handle, epoll. libcurl says which sockets to watch, and when to call
 * it next (multi_socket_action). For small ranges this takes a third less processor time than
 * poll(2) on all sockets each time. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include "remote/http_host.h"
#include "remote/http_slot.h"
#include "remote/url.h"
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define NOT_YET_NS (10 * CLOCK_SECOND / 1000)
#define EVENTS	   64

struct http {
	struct curl curl;
	const struct remote_settings *settings;

	pthread_mutex_t lock;
	bool running, cancelling; /* protected by lock */
	atomic_bool stopping;
	struct http_host *hosts;       /* protected by lock */
	struct http_transfer *waiting; /* protected by lock: for their turn, the oldest first */
	uint64_t submitted;	       /* protected by lock: transfers, ever */
	pthread_cond_t finished;       /* a client has no transfers left */
	pthread_t thread;
	int wake; /* eventfd */

	/* What follows belongs to the thread alone. */
	CURLM *multi;
	int epoll;
	uint64_t timer; /* when to call libcurl, ns; 0: not at all */
	struct http_slots slots;
	uint64_t under_way, most;
	uint64_t turns; /* of hosts */
	uint64_t now;	/* since when pauses that were over have been looked at, ns */
};

struct http_client {
	struct http *http;
	struct http_host *host;	    /* protected by the lock of http: the server that is asked */
	uint64_t left;		    /* protected by it: transfers that have not finished */
	_Atomic uint64_t cancelled; /* what was submitted before this number is cancelled */
	atomic_bool ending;	    /* all is */
	_Atomic uint64_t requests, bytes, retries, overloaded, under_way;
};

/* --- hosts ------------------------------------------------------------------------------------ */

/* Called with the lock held. NULL: no memory. */
static struct http_host *host_of(struct http *http, const char *url)
{
	struct url parts SCOPE(url_release) = {0};
	int r = url_parse(url, &parts);
	const char *name = r == 0 ? parts.host : ""; /* libcurl will say what is wrong with it */
	struct http_host *host = http->hosts;

	if (r == -ENOMEM)
		return NULL;
	while (host && strcasecmp(host->name, name) != 0)
		host = host->next;
	if (host)
		return host;
	host = http_host_new(name);
	if (host) {
		host->next = http->hosts;
		http->hosts = host;
	}
	return host;
}

/* --- what libcurl wants to hear of ------------------------------------------------------------ */

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
	struct http *http = context;
	struct epoll_event event = {.data.fd = fd};

	(void)easy;
	(void)known;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(http->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events =
		(what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	if (epoll_ctl(http->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
		epoll_ctl(http->epoll, EPOLL_CTL_ADD, fd, &event);
	return 0;
}

static int set_timer(CURLM *multi, long ms, void *context)
{
	struct http *http = context;

	(void)multi;
	http->timer = ms < 0 ? 0 : clock_ns() + (uint64_t)ms * 1000000;
	return 0;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* The transfer waits for its turn, which comes in the order of submission, after a pause. Called
 * with the lock held. */
static void add_waiting(struct http *http, struct http_transfer *transfer, uint64_t pause_ns)
{
	struct http_transfer **at = &http->waiting;

	while (*at && (*at)->number < transfer->number)
		at = &(*at)->next;
	transfer->due = pause_ns ? clock_ns() + pause_ns : 0;
	transfer->next = *at;
	*at = transfer;
}

static void finish_transfer(struct http *http, struct http_transfer *transfer,
			    const struct http_outcome *outcome)
{
	struct http_client *client = transfer->client;
	struct http_host *host = transfer->host;
	struct http_verdict verdict = transfer->ops->finished(transfer, outcome);

	if (verdict.overloaded) {
		atomic_fetch_add_explicit(&client->overloaded, 1, memory_order_relaxed);
		http_host_slow_down(host);
	} else if (outcome->end == HTTP_ANSWERED) {
		http_host_speed_up(host);
	} else if (outcome->end == HTTP_NO_CONNECTION || outcome->end == HTTP_BROKEN ||
		   outcome->end == HTTP_CUT) {
		http_host_closed(host);
	}
	SCOPE_LOCK(&http->lock);
	if (verdict.again) {
		atomic_fetch_add_explicit(&client->retries, 1, memory_order_relaxed);
		add_waiting(http, transfer, verdict.pause_ns);
	} else if (--client->left == 0) { /* the transfer is its owner's */
		pthread_cond_broadcast(&http->finished);
	}
}

static void end_early(struct http *http, struct http_transfer *transfer, enum http_end end)
{
	const struct http_outcome outcome = {.end = end, .reason = "", .answer.headers = ""};

	finish_transfer(http, transfer, &outcome);
}

static void count_under_way(struct http *http, struct http_transfer *transfer, uint64_t change)
{
	http->under_way += change;
	transfer->host->under_way += change;
	atomic_fetch_add_explicit(&transfer->client->under_way, change, memory_order_relaxed);
}

static void begin_transfer(struct http *http, struct http_transfer *transfer)
{
	struct http_message message;
	struct http_slot *slot = http_slots_take(&http->slots, &http->curl, http->settings);
	int r = slot ? http_slot_send(slot, transfer, http->multi, &message) : -ENOMEM;

	if (slot && r < 0)
		http_slots_put(&http->slots, slot);
	if (r < 0 && r != -EAGAIN) {
		end_early(http, transfer, r == -ENOMEM ? HTTP_NO_MEMORY : HTTP_IMPOSSIBLE);
		return;
	}
	SCOPE_LOCK(&http->lock);
	if (r == 0) {
		/* It may go to another server than the one before, as where that redirects to. */
		struct http_host *host = host_of(http, message.url);

		if (host)
			transfer->client->host = host;
		transfer->host = transfer->client->host;
		count_under_way(http, transfer, 1);
		atomic_fetch_add_explicit(&transfer->client->requests, 1, memory_order_relaxed);
	} else {
		add_waiting(http, transfer, NOT_YET_NS);
	}
}

static bool http_is_ahead(const struct http_transfer *transfer)
{
	return transfer->ahead && atomic_load_explicit(transfer->ahead, memory_order_relaxed);
}

/* Takes the oldest that may begin, of the server whose turn was longest ago. Called with the lock
 * held. */
static struct http_transfer *take_waiting(struct http *http, bool ahead)
{
	struct http_transfer **best = NULL, *taken;

	for (struct http_transfer **at = &http->waiting; *at; at = &(*at)->next) {
		const struct http_host *host = (*at)->client->host;

		if ((*at)->due <= http->now && http_is_ahead(*at) == ahead &&
		    http_host_has_place(host, ahead) &&
		    (!best || host->turn < (*best)->client->host->turn))
			best = at;
	}
	if (!best)
		return NULL;
	taken = *best;
	*best = taken->next;
	taken->client->host->turn = ++http->turns;
	return taken;
}

static struct http_transfer *next_transfer(struct http *http)
{
	struct http_transfer *transfer = NULL;
	uint64_t most = http->most;

	SCOPE_LOCK(&http->lock);
	if (http->under_way < most)
		transfer = take_waiting(http, false);
	if (!transfer && http->under_way < most - most / HTTP_WANTED_SHARE)
		transfer = take_waiting(http, true);
	return transfer;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void end_finished(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = http->curl.multi_info_read(http->multi, &left))) {
		struct http_outcome outcome;
		struct http_slot *slot;

		http->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
		http_slot_outcome(slot, message->data.result, &outcome);
		http->curl.multi_remove_handle(http->multi, slot->easy);
		count_under_way(http, slot->transfer, UINT64_MAX);
		finish_transfer(http, slot->transfer, &outcome);
		http_slots_put(&http->slots, slot);
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Nobody waits for what is ahead or pauses. */
static bool is_cancelled(const struct http_transfer *transfer)
{
	const struct http_client *client = transfer->client;

	return atomic_load(&client->ending) ||
	       (transfer->number < atomic_load(&client->cancelled) &&
		(transfer->due > clock_ns() || http_is_ahead(transfer)));
}

static struct http_transfer *take_cancelled(struct http *http, bool all)
{
	struct http_transfer **at = &http->waiting, *taken;

	SCOPE_LOCK(&http->lock);
	while (*at && !all && !is_cancelled(*at))
		at = &(*at)->next;
	taken = *at;
	if (taken)
		*at = taken->next;
	return taken;
}

/* What is under way, and what waits; `all`: not only what is cancelled. */
static void cancel(struct http *http, bool all)
{
	struct http_transfer *transfer;

	for (struct http_slot *slot = http->slots.all; slot; slot = slot->next) {
		transfer = slot->transfer;
		if (!transfer || !(all || is_cancelled(transfer)))
			continue;
		http->curl.multi_remove_handle(http->multi, slot->easy);
		count_under_way(http, transfer, UINT64_MAX);
		http_slots_put(&http->slots, slot);
		end_early(http, transfer, HTTP_CANCELLED);
	}
	while ((transfer = take_cancelled(http, all)))
		end_early(http, transfer, HTTP_CANCELLED);
}

static void cancel_if_asked(struct http *http)
{
	bool asked;

	pthread_mutex_lock(&http->lock);
	asked = http->cancelling;
	http->cancelling = false;
	pthread_mutex_unlock(&http->lock);
	if (asked)
		cancel(http, false);
}

/* How long until a pause is over, or libcurl wants to be called. */
static int wait_ms(struct http *http)
{
	uint64_t now = clock_ns(), next = http->timer ? http->timer : UINT64_MAX;

	SCOPE_LOCK(&http->lock);
	for (struct http_transfer *at = http->waiting; at; at = at->next)
		if (at->due > http->now)
			next = min(next, at->due);
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static void handle_events(struct http *http, int ms)
{
	struct epoll_event events[EVENTS];
	int running, count = epoll_wait(http->epoll, events, EVENTS, ms);

	for (int i = 0; i < count; i++) {
		uint32_t what = events[i].events;
		int mask = (what & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (what & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
		uint64_t calls;

		if (events[i].data.fd == http->wake)
			calls = (uint64_t)read(http->wake, &calls, sizeof(calls));
		else
			http->curl.multi_socket_action(http->multi, events[i].data.fd, mask,
						       &running);
	}
	if (http->timer && http->timer <= clock_ns()) {
		http->timer = 0;
		http->most = min(HTTP_MOST_IN_ALL, limits_spare_files());
		http->curl.multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

static void *http_thread(void *context)
{
	struct http *http = context;
	struct http_transfer *transfer;

	while (!atomic_load(&http->stopping)) {
		cancel_if_asked(http);
		http->now = clock_ns();
		while ((transfer = next_transfer(http)))
			begin_transfer(http, transfer);
		handle_events(http, wait_ms(http));
		end_finished(http);
	}
	return NULL;
}

/* --- beginning and ending all ----------------------------------------------------------------- */

static void close_all(struct http *http)
{
	if (http->multi)
		http->curl.multi_cleanup(http->multi);
	http_slots_free(&http->slots);
	http->multi = NULL;
	scope_close(&http->epoll);
	scope_close(&http->wake);
	http->epoll = http->wake = -1;
}

static int http_begin(struct http *http)
{
	struct epoll_event event = {.events = EPOLLIN};

	http->epoll = epoll_create1(EPOLL_CLOEXEC);
	http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	http->multi = http->curl.multi_init();
	event.data.fd = http->wake;
	if (!http->multi || http->wake < 0 ||
	    epoll_ctl(http->epoll, EPOLL_CTL_ADD, http->wake, &event) < 0)
		return -ENOMEM;
	http->curl.multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	http->curl.multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	http->curl.multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	http->curl.multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	http->curl.multi_setopt(http->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	http->curl.multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_MOST);
	http->timer = 0;
	http->most = min(HTTP_MOST_IN_ALL, limits_spare_files());
	return thread_without_signals(&http->thread, http_thread, http);
}

static void http_wake(struct http *http)
{
	const uint64_t one = 1;
	ssize_t n = write(http->wake, &one, sizeof(one));

	(void)n; /* full: it is awake */
}

void http_rest(struct http *http)
{
	pthread_mutex_lock(&http->lock);
	if (!http->running) {
		pthread_mutex_unlock(&http->lock);
		return;
	}
	atomic_store(&http->stopping, true);
	http_wake(http);
	pthread_mutex_unlock(&http->lock);
	pthread_join(http->thread, NULL);
	cancel(http, true);
	close_all(http);
	atomic_store(&http->stopping, false);
	http->cancelling = http->running = false;
}

int http_new(const struct remote_settings *settings, struct http **ret, struct err *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	r = remote_check_files(settings, err);
	if (r == 0)
		r = curl_load(&http->curl, err);
	if (r < 0) {
		free(http);
		return r;
	}
	http->settings = settings;
	http->epoll = http->wake = -1;
	pthread_mutex_init(&http->lock, NULL);
	pthread_cond_init(&http->finished, NULL);
	*ret = http;
	return 0;
}

void http_free(struct http *http)
{
	struct http_host *host;

	if (!http)
		return;
	http_rest(http);
	while ((host = http->hosts)) {
		http->hosts = host->next;
		free(host);
	}
	pthread_cond_destroy(&http->finished);
	pthread_mutex_destroy(&http->lock);
	free(http);
}

/* --- clients ---------------------------------------------------------------------------------- */

int http_client_new(struct http *http, const char *url, struct http_client **ret)
{
	struct http_client *client = calloc(1, sizeof(*client));

	SCOPE_LOCK(&http->lock);
	if (client)
		client->host = host_of(http, url);
	if (!client || !client->host) {
		free(client);
		return -ENOMEM;
	}
	client->http = http;
	*ret = client;
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	http_end(client);
	http_hush(client);
	free(client);
}

void http_submit(struct http_client *client, struct http_transfer *transfer)
{
	struct http *http = client->http;
	bool running;

	pthread_mutex_lock(&http->lock);
	client->left++;
	transfer->client = client;
	transfer->received = &client->bytes;
	transfer->number = http->submitted++;
	running = http->running || http_begin(http) == 0;
	http->running = running;
	if (running) {
		add_waiting(http, transfer, 0);
		http_wake(http);
	} else {
		close_all(http);
	}
	pthread_mutex_unlock(&http->lock);
	if (!running)
		end_early(http, transfer, HTTP_CANCELLED);
}

/* Called with the lock held. */
static void ask_to_cancel(struct http *http)
{
	if (!http->running)
		return;
	http->cancelling = true;
	http_wake(http);
}

void http_cancel(struct http_client *client)
{
	SCOPE_LOCK(&client->http->lock);
	atomic_store(&client->cancelled, client->http->submitted);
	ask_to_cancel(client->http);
}

void http_end(struct http_client *client)
{
	struct http *http = client->http;

	SCOPE_LOCK(&http->lock);
	atomic_store(&client->ending, true);
	if (client->left)
		ask_to_cancel(http);
	while (client->left)
		pthread_cond_wait(&http->finished, &http->lock);
	atomic_store(&client->ending, false);
}

bool http_speak(struct http_client *client)
{
	SCOPE_LOCK(&client->http->lock);
	return http_host_speak(client->host, client);
}

void http_hush(struct http_client *client)
{
	SCOPE_LOCK(&client->http->lock);
	for (struct http_host *host = client->http->hosts; host; host = host->next)
		http_host_hush(host, client);
}

void http_hurry(struct http_client *client)
{
	SCOPE_LOCK(&client->http->lock);
	for (struct http_transfer *t = client->http->waiting; t; t = t->next)
		if (t->client->host == client->host)
			t->due = 0;
}

void http_stats(struct http_client *client, struct reader_stats *ret)
{
	*ret = (struct reader_stats){.requests = atomic_load(&client->requests),
				     .bytes = atomic_load(&client->bytes),
				     .retries = atomic_load(&client->retries),
				     .refused = atomic_load(&client->overloaded),
				     .under_way = atomic_load(&client->under_way)};
}
