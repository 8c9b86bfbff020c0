#include "remote/page.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/object.h"
#include "remote/outage_notice.h"
#include "remote/retry.h"
#include <string.h>

struct pages {
	struct object_auth *auth;
	page_refused_fn *refused;
	struct remote *remote;
	struct outage_notice notice; /* has the client */

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct page *come;  /* protected by lock: pages, and what ended without one */
	unsigned under_way; /* protected by lock: those, too */
};

static struct page *page_of(struct http_transfer *transfer)
{
	return (struct page *)transfer;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	free(page->ask);
	free(page->headers);
	free(page->body);
	free(page->url);
	free(page);
}

void page_release(struct page **page)
{
	page_free(*page);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The URL must live until the request is sent. */
static int ask_for_page(struct page *page, struct http_message *message)
{
	struct object_auth *auth = page->pages->auth;

	page->moves = auth->moves;
	free(page->url);
	if (asprintf(&page->url, "%s%s", *page->ask == '?' ? auth->url : "", page->ask) < 0) {
		page->url = NULL;
		return -ENOMEM;
	}
	message->url = page->url;
	return object_sign(auth, message, &page->why);
}

static int page_prepare(struct http_transfer *transfer, struct http_message *ret)
{
	struct page *page = page_of(transfer);

	transfer->got = 0;
	page->error = ask_for_page(page, ret);
	if (page->error == 0 && !page->begun)
		page->begun = clock_ns();
	return page->error;
}

/* How long it is, is not always said. */
static bool page_accept(struct http_transfer *transfer, unsigned status, const char *headers)
{
	struct page *page = page_of(transfer);

	(void)headers;
	if (status != 200)
		return false;
	if (!page->body)
		page->body = malloc(BOUND_PAGE + 1);
	if (!page->body)
		page->error = -ENOMEM;
	page->iov = (struct iovec){.iov_base = page->body, .iov_len = BOUND_PAGE};
	return page->body;
}

/* --- the answer ------------------------------------------------------------------------------- */

static struct http_verdict end_page(struct page *page, int error)
{
	struct pages *pages = page->pages;

	page->error = error;
	SCOPE_LOCK(&pages->lock);
	page->next = pages->come;
	pages->come = page;
	pthread_cond_signal(&pages->more);
	return (struct http_verdict){0};
}

static struct http_verdict take_page(struct page *page, const struct http_outcome *outcome)
{
	size_t got = page->transfer.got;

	outage_notice_succeeded(&page->pages->notice);
	page->cropped = outcome->cropped;
	page->headers = strdup(outcome->answer.headers);
	if (!page->body)
		page->body = malloc(1);
	if (!page->body || !page->headers)
		return end_page(page, -ENOMEM);
	page->body[got] = '\0';
	return end_page(page, 0);
}

/* What was sent before others had the URL changed is not refused. */
static struct http_verdict take_refusal(struct page *page, const struct http_outcome *outcome)
{
	struct object_auth *auth = page->pages->auth;
	int r = 0;

	if (page->moves == auth->moves) {
		r = page->refusals++ < BOUND_REFUSALS
			    ? page->pages->refused(auth, &outcome->answer, &page->why)
			    : -EIO;
		auth->moves += r == 0;
	}
	return r < 0 ? end_page(page, r) : (struct http_verdict){.again = true};
}

static struct http_verdict ask_for_page_again(struct page *page, const struct http_outcome *outcome,
					      const struct retry_rule *rule, uint64_t left)
{
	/* No two fail in the same nanosecond. */
	uint64_t random = clock_ns() * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	return (struct http_verdict){.again = true,
				     .overloaded = rule->overloaded,
				     .pause_ns =
					     retry_pause(++page->tries, rule->overloaded,
							 min(outcome->retry_after, left), random)};
}

static struct http_verdict page_finished(struct http_transfer *transfer,
					 const struct http_outcome *outcome)
{
	struct page *page = page_of(transfer);
	bool answered = outcome->end == HTTP_ANSWERED;
	const struct retry_rule *rule = answered ? retry_rule_of_status(outcome->answer.status)
						 : retry_rule_of_end(outcome->end);
	struct outage_notice *notice = &page->pages->notice;
	uint64_t now = clock_ns(), waited;
	uint64_t most = min(remote_retry(notice->settings, REMOTE_RETRY), OBJECT_OPENING);
	struct err why = {0};

	if (page->error < 0)
		return end_page(page, page->error);
	if (answered && outcome->answer.status == 200)
		return take_page(page, outcome);
	waited = (now - page->begun) / CLOCK_SECOND;
	retry_explain(rule, outcome, page->pages->auth->elsewhere, &why);
	if (rule->action == RETRY_AGAIN && waited < most) {
		outage_notice_failed(notice, why.text, most);
		return ask_for_page_again(page, outcome, rule, most - waited);
	}
	if (answered)
		return take_refusal(page, outcome);
	page->why = why;
	if (outcome->end == HTTP_TOO_LONG)
		err_set(&page->why, 0, "the answer has over %u KiB", (unsigned)(BOUND_PAGE / KIB));
	return end_page(page, outcome->end == HTTP_TOO_LONG ? -EMSGSIZE : rule->error);
}

/* --- the face --------------------------------------------------------------------------------- */

int pages_ask(struct pages *pages, char *ask, void *of)
{
	static const struct http_transfer_ops page_ops = {
		.prepare = page_prepare, .accept = page_accept, .finished = page_finished};
	struct page *page = calloc(1, sizeof(*page));

	if (!page) {
		free(ask);
		return -ENOMEM;
	}
	page->transfer = (struct http_transfer){.ops = &page_ops, .iov = &page->iov, .count = 1};
	page->pages = pages;
	page->ask = ask;
	page->of = of;
	pthread_mutex_lock(&pages->lock);
	pages->under_way++;
	pthread_mutex_unlock(&pages->lock);
	http_submit(pages->notice.client, &page->transfer);
	return 0;
}

struct page *pages_next(struct pages *pages)
{
	struct page *page;

	SCOPE_LOCK(&pages->lock);
	while (!pages->come && pages->under_way)
		pthread_cond_wait(&pages->more, &pages->lock);
	page = pages->come;
	if (page) {
		pages->come = page->next;
		pages->under_way--;
	}
	return page;
}

void pages_end(struct pages *pages)
{
	http_end(pages->notice.client);
}

int pages_new(const char *shown, struct object_auth *auth, page_refused_fn *refused,
	      const struct remote_settings *settings, struct remote *remote, struct pages **ret,
	      struct err *err)
{
	struct pages *pages = calloc(1, sizeof(*pages));
	int r;

	if (!pages)
		return -ENOMEM;
	*pages = (struct pages){.auth = auth,
				.refused = refused,
				.remote = remote,
				.notice = {.shown = shown, .settings = settings}};
	pthread_mutex_init(&pages->lock, NULL);
	pthread_cond_init(&pages->more, NULL);
	r = remote_client_new(remote, settings, auth->url, &pages->notice.client, err);
	if (r < 0) {
		pages_free(pages);
		return r;
	}
	*ret = pages;
	return 0;
}

uint64_t pages_free(struct pages *pages)
{
	struct reader_stats stats = {0};

	if (!pages)
		return 0;
	if (pages->notice.client)
		http_stats(pages->notice.client, &stats);
	remote_client_free(pages->remote, pages->notice.client);
	pthread_cond_destroy(&pages->more);
	pthread_mutex_destroy(&pages->lock);
	free(pages);
	return stats.requests;
}
