/* One thread, one curl multi handle, epoll. libcurl says which sockets to watch, and when to call
 * it next (multi_socket_action). For small ranges this takes a third less processor time than
 * poll(2) on all sockets each time. */
#include "remote/curl.h"

#if REMOTE_CURL

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
	bool running, stopping, cancelling; /* protected by lock */
	/* Protected by lock: the hosts, and what waits for each; whose turn it is; how many. */
	struct http_host *hosts, *turn;
	unsigned host_count;
	uint64_t submitted;	 /* protected by lock: transfers, ever */
	pthread_cond_t finished; /* a client has no transfers left */
	pthread_t thread;
	int wake; /* eventfd */

	/* What follows belongs to the thread alone. */
	CURLM *multi;
	int epoll;
	uint64_t timer; /* when to call libcurl, ns; 0: not at all */
	struct http_list pausing;
	struct http_slots slots;
	uint64_t under_way, most;
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
		http->host_count++;
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

/* The transfer waits for its turn again. */
static void pause_transfer(struct http *http, struct http_transfer *transfer, uint64_t ns)
{
	transfer->due = clock_ns() + ns;
	http_list_add(&http->pausing, transfer);
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
	if (verdict.again) {
		atomic_fetch_add_explicit(&client->retries, 1, memory_order_relaxed);
		pause_transfer(http, transfer, verdict.pause_ns);
		return;
	}
	SCOPE_LOCK(&http->lock); /* the transfer is its owner's */
	if (--client->left == 0)
		pthread_cond_broadcast(&http->finished);
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

/* A request may go to another server than the one before, as where that redirects to. */
static void go_to(struct http *http, struct http_transfer *transfer, const char *url)
{
	struct http_host *host;

	SCOPE_LOCK(&http->lock);
	host = host_of(http, url);
	if (host)
		transfer->host = transfer->client->host = host;
}

static void begin_transfer(struct http *http, struct http_transfer *transfer)
{
	struct http_message message;
	struct http_slot *slot = http_slots_take(&http->slots, &http->curl, http->settings);
	int r = slot ? http_slot_send(slot, transfer, http->multi, &message) : -ENOMEM;

	if (r == 0) {
		go_to(http, transfer, message.url);
		count_under_way(http, transfer, 1);
		atomic_fetch_add_explicit(&transfer->client->requests, 1, memory_order_relaxed);
		return;
	}
	if (slot)
		http_slots_put(&http->slots, slot);
	if (r == -EAGAIN)
		pause_transfer(http, transfer, NOT_YET_NS);
	else
		end_early(http, transfer, r == -ENOMEM ? HTTP_NO_MEMORY : HTTP_IMPOSSIBLE);
}

/* Transfers whose pause is over go to the head of the list that they came from: they are the
 * oldest. */
static void end_pauses(struct http *http)
{
	struct http_list pausing;
	struct http_transfer *transfer;
	uint64_t now = clock_ns();

	if (!http->pausing.first)
		return;
	http_list_move(&http->pausing, &pausing);
	SCOPE_LOCK(&http->lock);
	while ((transfer = http_list_take(&pausing))) {
		if (transfer->due > now)
			http_list_add(&http->pausing, transfer);
		else
			http_host_put_back(transfer->client->host, transfer);
	}
}

/* One server after another. Called with the lock held. */
static struct http_transfer *take_from_hosts(struct http *http, bool ahead)
{
	struct http_transfer *transfer = NULL;

	for (unsigned i = 0; !transfer && i < http->host_count; i++) {
		struct http_host *host = http->turn ? http->turn : http->hosts;

		transfer = http_host_take(host, ahead);
		http->turn = host->next;
	}
	return transfer;
}

/* The next transfer that may begin. A client may have gone to another server meanwhile. */
static struct http_transfer *next_transfer(struct http *http)
{
	struct http_transfer *transfer = NULL;
	uint64_t most = http->most;

	SCOPE_LOCK(&http->lock);
	for (;;) {
		if (http->under_way < most)
			transfer = take_from_hosts(http, false);
		if (!transfer && http->under_way < most - most / HTTP_WANTED_SHARE)
			transfer = take_from_hosts(http, true);
		if (!transfer || transfer->host == transfer->client->host)
			return transfer;
		http_host_put_back(transfer->client->host, transfer);
		transfer = NULL;
	}
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

static bool is_stopping(struct http *http)
{
	SCOPE_LOCK(&http->lock);
	return http->stopping;
}

/* The list belongs to this thread. */
static void cancel_list(struct http *http, struct http_list *list)
{
	struct http_transfer *transfer;

	while ((transfer = http_list_take(list)))
		end_early(http, transfer, HTTP_CANCELLED);
}

/* Nobody waits for what is ahead or pauses. */
static bool is_cancelled(const struct http_transfer *transfer, bool pauses)
{
	const struct http_client *client = transfer->client;

	return atomic_load(&client->ending) ||
	       (transfer->number < atomic_load(&client->cancelled) &&
		(pauses || http_is_ahead(transfer)));
}

static void take_cancelled(struct http_list *list, bool pauses, struct http_list *ret)
{
	struct http_transfer *transfer;
	struct http_list all;

	http_list_move(list, &all);
	while ((transfer = http_list_take(&all)))
		http_list_add(is_cancelled(transfer, pauses) ? ret : list, transfer);
}

static void cancel_under_way(struct http *http, bool all)
{
	for (struct http_slot *slot = http->slots.all; slot; slot = slot->next) {
		struct http_transfer *transfer = slot->transfer;

		if (!transfer || !(all || is_cancelled(transfer, false)))
			continue;
		http->curl.multi_remove_handle(http->multi, slot->easy);
		count_under_way(http, transfer, UINT64_MAX);
		http_slots_put(&http->slots, slot);
		end_early(http, transfer, HTTP_CANCELLED);
	}
}

/* Returns whether anything is to be cancelled. */
static bool take_all_cancelled(struct http *http, struct http_list *ret)
{
	bool asked;

	SCOPE_LOCK(&http->lock);
	asked = http->cancelling;
	http->cancelling = false;
	for (struct http_host *host = http->hosts; asked && host; host = host->next) {
		take_cancelled(&host->wanted, false, ret);
		take_cancelled(&host->ahead, false, ret);
	}
	return asked;
}

static void cancel_if_asked(struct http *http)
{
	struct http_list cancelled;

	http_list_init(&cancelled);
	if (!take_all_cancelled(http, &cancelled))
		return;
	take_cancelled(&http->pausing, true, &cancelled);
	cancel_list(http, &cancelled);
	cancel_under_way(http, false);
}

/* How long until a pause is over, or libcurl wants to be called. */
static int wait_ms(const struct http *http)
{
	uint64_t now = clock_ns(), next = http->timer ? http->timer : UINT64_MAX;

	for (struct http_transfer *at = http->pausing.first; at; at = at->next)
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

	while (!is_stopping(http)) {
		cancel_if_asked(http);
		end_pauses(http);
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
	http->stopping = true;
	http_wake(http);
	pthread_mutex_unlock(&http->lock);
	pthread_join(http->thread, NULL);
	cancel_under_way(http, true);
	cancel_list(http, &http->pausing);
	for (struct http_host *host = http->hosts; host; host = host->next) {
		cancel_list(http, &host->wanted);
		cancel_list(http, &host->ahead);
	}
	close_all(http);
	http->stopping = http->cancelling = http->running = false;
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
	http_list_init(&http->pausing);
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
	transfer->host = client->host;
	transfer->received = &client->bytes;
	transfer->number = http->submitted++;
	running = http->running || http_begin(http) == 0;
	http->running = running;
	if (running) {
		http_host_add(client->host, transfer);
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
	for (struct http_transfer *t = client->http->pausing.first; t; t = t->next)
		if (t->host == client->host)
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

#endif
