/* One thread, one curl multi handle, epoll. libcurl says which sockets to watch, and when to call
 * it next (multi_socket_action). For small ranges this takes a third less processor time than
 * poll(2) on all sockets each time. */
#include "remote/curl.h"

#if REMOTE_CURL

#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include "remote/http_slot.h"
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define LIMIT_LEAST  4
#define WANTED_SHARE 8 /* this part of the limit, an eighth, is for what somebody waits for */
#define NOT_YET_NS   (10 * CLOCK_SECOND / 1000)
#define OVERLOAD_NS  CLOCK_SECOND /* refusals within this time are one overload */
#define EVENTS	     64

struct http_list {
	struct http_transfer *first, **end;
};

struct http {
	struct curl curl;
	const struct remote_settings *settings;
	_Atomic uint64_t requests, bytes, retries, overloaded, under_way;

	pthread_mutex_t lock;
	bool running, stopping, cancelling; /* protected by lock */
	struct http_list wanted, ahead;	    /* protected by lock: not begun */
	pthread_t thread;
	int wake; /* eventfd */

	/* What follows belongs to the thread alone. */
	CURLM *multi;
	int epoll;
	uint64_t timer; /* when to call libcurl, ns; 0: not at all */
	struct http_list pausing;
	struct http_slot *idle, *slots;
	uint64_t limit;		  /* of transfers under way */
	uint64_t slowed, answers; /* when the limit was last halved; answers since it last grew */
};

/* --- lists ------------------------------------------------------------------------------------ */

static void list_init(struct http_list *list)
{
	*list = (struct http_list){.end = &list->first};
}

static void list_add(struct http_list *list, struct http_transfer *transfer)
{
	transfer->next = NULL;
	*list->end = transfer;
	list->end = &transfer->next;
}

static struct http_transfer *list_take(struct http_list *list)
{
	struct http_transfer *transfer = list->first;

	if (transfer) {
		list->first = transfer->next;
		if (!list->first)
			list->end = &list->first;
	}
	return transfer;
}

static void list_put_back(struct http_list *list, struct http_transfer *transfer)
{
	transfer->next = list->first;
	if (!list->first)
		list->end = &transfer->next;
	list->first = transfer;
}

static void list_move(struct http_list *from, struct http_list *to)
{
	*to = *from;
	if (!to->first)
		to->end = &to->first;
	list_init(from);
}

static bool is_ahead(const struct http_transfer *transfer)
{
	return transfer->ahead && atomic_load_explicit(transfer->ahead, memory_order_relaxed);
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

/* --- handles ---------------------------------------------------------------------------------- */

static struct http_slot *slot_take(struct http *http)
{
	struct http_slot *slot = http->idle;

	if (slot) {
		http->idle = slot->next_idle;
		return slot;
	}
	slot = http_slot_new(&http->curl, http->settings, &http->bytes);
	if (slot) {
		slot->next = http->slots;
		http->slots = slot;
	}
	return slot;
}

static void slot_put(struct http *http, struct http_slot *slot)
{
	http_slot_clear(slot);
	slot->next_idle = http->idle;
	http->idle = slot;
}

static void free_slots(struct http *http)
{
	struct http_slot *slot;

	while ((slot = http->slots)) {
		http->slots = slot->next;
		http_slot_free(slot);
	}
	http->idle = NULL;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* The transfer waits for its turn again. */
static void pause_transfer(struct http *http, struct http_transfer *transfer, uint64_t ns)
{
	transfer->due = clock_ns() + ns;
	list_add(&http->pausing, transfer);
}

/* Halves the number of transfers under way, once for each overload. */
static void slow_down(struct http *http)
{
	uint64_t now = clock_ns();

	atomic_fetch_add_explicit(&http->overloaded, 1, memory_order_relaxed);
	http->answers = 0;
	if (now - http->slowed < OVERLOAD_NS)
		return;
	http->slowed = now;
	http->limit = max(min(http->limit, http->under_way) / 2, LIMIT_LEAST);
}

static void speed_up(struct http *http)
{
	if (http->limit == HTTP_MOST || ++http->answers < http->limit)
		return;
	http->answers = 0;
	http->limit++;
}

static void finish_transfer(struct http *http, struct http_transfer *transfer,
			    const struct http_outcome *outcome)
{
	struct http_verdict verdict = transfer->ops->finished(transfer, outcome);

	if (verdict.overloaded)
		slow_down(http);
	else if (outcome->end == HTTP_ANSWERED)
		speed_up(http);
	if (!verdict.again)
		return;
	atomic_fetch_add_explicit(&http->retries, 1, memory_order_relaxed);
	pause_transfer(http, transfer, verdict.pause_ns);
}

static void end_early(struct http *http, struct http_transfer *transfer, enum http_end end)
{
	const struct http_outcome outcome = {.end = end, .reason = "", .answer.headers = ""};

	finish_transfer(http, transfer, &outcome);
}

static void begin_transfer(struct http *http, struct http_transfer *transfer)
{
	struct http_slot *slot = slot_take(http);
	int r = slot ? http_slot_send(slot, transfer, http->multi) : -ENOMEM;

	if (r == 0) {
		http->under_way++;
		atomic_fetch_add_explicit(&http->requests, 1, memory_order_relaxed);
		return;
	}
	if (slot)
		slot_put(http, slot);
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
	list_move(&http->pausing, &pausing);
	SCOPE_LOCK(&http->lock);
	while ((transfer = list_take(&pausing))) {
		if (transfer->due > now)
			list_add(&http->pausing, transfer);
		else
			list_put_back(is_ahead(transfer) ? &http->ahead : &http->wanted, transfer);
	}
}

/* The first transfer that was ahead when it came, and that somebody waits for now. */
static struct http_transfer *take_overtaken(struct http_list *list)
{
	for (struct http_transfer **at = &list->first; *at; at = &(*at)->next) {
		struct http_transfer *transfer = *at;

		if (is_ahead(transfer))
			continue;
		*at = transfer->next;
		if (list->end == &transfer->next)
			list->end = at;
		return transfer;
	}
	return NULL;
}

/* The next transfer that may begin. */
static struct http_transfer *next_transfer(struct http *http)
{
	struct http_transfer *transfer = NULL;

	SCOPE_LOCK(&http->lock);
	if (http->under_way < http->limit) {
		transfer = list_take(&http->wanted);
		if (!transfer)
			transfer = take_overtaken(&http->ahead);
	}
	if (!transfer && http->under_way < http->limit - http->limit / WANTED_SHARE)
		transfer = list_take(&http->ahead);
	return transfer;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void end_slot(struct http *http, struct http_slot *slot, CURLcode code)
{
	struct http_outcome outcome;

	http_slot_outcome(slot, code, &outcome);
	http->curl.multi_remove_handle(http->multi, slot->easy);
	http->under_way--;
	finish_transfer(http, slot->transfer, &outcome);
	slot_put(http, slot);
}

static void end_finished(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = http->curl.multi_info_read(http->multi, &left))) {
		CURLcode code = message->data.result;
		struct http_slot *slot;

		http->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
		end_slot(http, slot, code);
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

	while ((transfer = list_take(list)))
		end_early(http, transfer, HTTP_CANCELLED);
}

static void cancel_under_way(struct http *http, bool all)
{
	for (struct http_slot *slot = http->slots; slot; slot = slot->next) {
		struct http_transfer *transfer = slot->transfer;

		if (!transfer || !(all || is_ahead(transfer)))
			continue;
		http->curl.multi_remove_handle(http->multi, slot->easy);
		http->under_way--;
		slot_put(http, slot);
		end_early(http, transfer, HTTP_CANCELLED);
	}
}

static void cancel_if_asked(struct http *http)
{
	struct http_list ahead, pausing;
	bool asked;

	pthread_mutex_lock(&http->lock);
	asked = http->cancelling;
	http->cancelling = false;
	if (asked)
		list_move(&http->ahead, &ahead);
	pthread_mutex_unlock(&http->lock);
	if (!asked)
		return;
	list_move(&http->pausing, &pausing);
	cancel_list(http, &pausing);
	cancel_list(http, &ahead);
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

static void begin_transfers(struct http *http)
{
	struct http_transfer *transfer;

	while ((transfer = next_transfer(http)))
		begin_transfer(http, transfer);
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
		http->curl.multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

static void *http_thread(void *context)
{
	struct http *http = context;

	while (!is_stopping(http)) {
		cancel_if_asked(http);
		end_pauses(http);
		begin_transfers(http);
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
	free_slots(http);
	http->multi = NULL;
	scope_close(&http->epoll);
	scope_close(&http->wake);
	http->epoll = http->wake = -1;
}

static int open_all(struct http *http)
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
	return 0;
}

static int http_begin(struct http *http)
{
	int r = open_all(http);

	http->timer = 0;
	http->under_way = 0;
	if (r == 0)
		r = thread_without_signals(&http->thread, http_thread, http);
	if (r < 0)
		close_all(http);
	http->running = r == 0;
	return r;
}

static void http_wake(struct http *http)
{
	const uint64_t one = 1;
	ssize_t n = write(http->wake, &one, sizeof(one));

	(void)n; /* full: it is awake */
}

void http_submit(struct http *http, struct http_transfer *transfer)
{
	bool accepted;

	pthread_mutex_lock(&http->lock);
	accepted = http->running || http_begin(http) == 0;
	if (accepted) {
		list_add(is_ahead(transfer) ? &http->ahead : &http->wanted, transfer);
		http_wake(http);
	}
	pthread_mutex_unlock(&http->lock);
	if (!accepted)
		end_early(http, transfer, HTTP_CANCELLED);
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
	cancel_list(http, &http->wanted);
	cancel_list(http, &http->ahead);
	close_all(http);
	http->stopping = http->cancelling = http->running = false;
}

void http_cancel(struct http *http)
{
	SCOPE_LOCK(&http->lock);
	if (!http->running)
		return;
	http->cancelling = true;
	http_wake(http);
}

void http_hurry(struct http *http)
{
	for (struct http_transfer *t = http->pausing.first; t; t = t->next)
		t->due = 0;
}

int http_new(const struct remote_settings *settings, struct http **ret, struct err *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return -ENOMEM;
	r = curl_load(&http->curl, err);
	if (r < 0) {
		free(http);
		return r;
	}
	http->settings = settings;
	http->epoll = http->wake = -1;
	http->limit = HTTP_MOST;
	pthread_mutex_init(&http->lock, NULL);
	list_init(&http->wanted);
	list_init(&http->ahead);
	list_init(&http->pausing);
	*ret = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	http_rest(http);
	pthread_mutex_destroy(&http->lock);
	free(http);
}

void http_stats(struct http *http, struct reader_stats *ret)
{
	*ret = (struct reader_stats){.requests = atomic_load(&http->requests),
				     .bytes = atomic_load(&http->bytes),
				     .retries = atomic_load(&http->retries),
				     .refused = atomic_load(&http->overloaded),
				     .under_way = atomic_load(&http->under_way)};
}

#endif
