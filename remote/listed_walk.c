#include "remote/listed_walk.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/object.h"
#include "remote/retry.h"
#include <string.h>

#define AT_ONCE 128

static struct chain *chain_of(struct http_transfer *transfer)
{
	return (struct chain *)transfer;
}

static void forget_page(struct page *page)
{
	free(page->ask);
	free(page->url);
	free(page->headers);
	free(page->body);
	*page = (struct page){0};
}

static void chain_free(struct chain *chain)
{
	if (!chain)
		return;
	forget_page(&chain->page);
	free(chain->prefix);
	free(chain->after);
	free(chain->until);
	free(chain->next);
	free(chain->mark);
	free(chain);
}

static void chain_release(struct chain **chain)
{
	chain_free(*chain);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The URL must live until the request is sent. */
static int ask_for_page(struct page *page, struct object_auth *auth, struct http_message *message)
{
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
	struct chain *chain = chain_of(transfer);
	struct page *page = &chain->page;

	transfer->got = 0;
	page->error = ask_for_page(page, chain->walk->place->auth, ret);
	if (page->error == 0 && !page->begun)
		page->begun = clock_ns();
	return page->error;
}

/* How long it is, is not always said. */
static bool page_accept(struct http_transfer *transfer, unsigned status, const char *headers)
{
	struct page *page = &chain_of(transfer)->page;

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

static struct http_verdict end_page(struct chain *chain, int error)
{
	struct walk *walk = chain->walk;

	chain->page.error = error;
	SCOPE_LOCK(&walk->lock);
	chain->above = walk->come;
	walk->come = chain;
	pthread_cond_signal(&walk->more);
	return (struct http_verdict){0};
}

static struct http_verdict take_page(struct chain *chain, const struct http_outcome *outcome)
{
	struct page *page = &chain->page;

	outage_notice_succeeded(&chain->walk->notice);
	page->cropped = outcome->cropped;
	page->headers = strdup(outcome->answer.headers);
	if (!page->body)
		page->body = malloc(1);
	if (!page->body || !page->headers)
		return end_page(chain, -ENOMEM);
	page->body[page->transfer.got] = '\0';
	return end_page(chain, 0);
}

/* What was sent before others had the URL changed is not refused. */
static struct http_verdict take_refusal(struct chain *chain, const struct http_outcome *outcome)
{
	struct page *page = &chain->page;
	struct object_auth *auth = chain->walk->place->auth;
	int r = 0;

	if (page->moves == auth->moves) {
		r = page->refusals++ < BOUND_REFUSALS
			    ? chain->walk->refused(auth, &outcome->answer, &page->why)
			    : -EIO;
		auth->moves += r == 0;
	}
	return r < 0 ? end_page(chain, r) : (struct http_verdict){.again = true};
}

static struct http_verdict page_finished(struct http_transfer *transfer,
					 const struct http_outcome *outcome)
{
	struct chain *chain = chain_of(transfer);
	struct page *page = &chain->page;
	struct outage_notice *notice = &chain->walk->notice;
	bool answered = outcome->end == HTTP_ANSWERED;
	const struct retry_rule *rule = answered ? retry_rule_of_status(outcome->answer.status)
						 : retry_rule_of_end(outcome->end);
	uint64_t most = min(remote_retry(notice->settings, REMOTE_RETRY), OBJECT_OPENING), waited;
	struct err why = {0};

	if (page->error < 0)
		return end_page(chain, page->error);
	if (answered && outcome->answer.status == 200)
		return take_page(chain, outcome);
	waited = (clock_ns() - page->begun) / CLOCK_SECOND;
	retry_explain(rule, outcome, chain->walk->place->auth->elsewhere, &why);
	if (rule->action == RETRY_AGAIN && waited < most) {
		outage_notice_failed(notice, why.text, most);
		return retry_verdict(rule, outcome, ++page->tries, most - waited);
	}
	if (answered)
		return take_refusal(chain, outcome);
	page->why = why;
	if (outcome->end == HTTP_TOO_LONG)
		err_set(&page->why, 0, "the answer has over %u KiB", (unsigned)(BOUND_PAGE / KIB));
	return end_page(chain, outcome->end == HTTP_TOO_LONG ? -EMSGSIZE : rule->error);
}

/* --- chains ----------------------------------------------------------------------------------- */

static void push_chain(struct walk *walk, struct chain *chain)
{
	chain->above = walk->chains;
	walk->chains = chain;
}

void walk_drop(struct walk *walk)
{
	struct chain *chain;

	while ((chain = walk->chains)) {
		walk->chains = chain->above;
		chain_free(chain);
	}
}

int walk_add(struct walk *walk, const struct chain *like, size_t prefix_len)
{
	struct chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return -ENOMEM;
	chain->walk = walk;
	chain->together = like->together;
	chain->ordered = walk->ordered;
	chain->prefix = strndup(like->prefix, prefix_len);
	chain->after = strdup(like->after ?: "");
	chain->until = strdup(like->until ?: "");
	if (!chain->prefix || !chain->after || !chain->until) {
		chain_free(chain);
		return -ENOMEM;
	}
	push_chain(walk, chain);
	return 0;
}

int walk_refuse_next(struct err *err)
{
	return err_set(err, -EMSGSIZE, "what names its next page has over %u KiB",
		       (unsigned)(BOUND_NEXT / KIB));
}

int walk_note(struct walk *walk, const char *name, const char *above, struct err *err)
{
	if (strlen(name) > BOUND_NAME)
		return err_set(err, -E2BIG, "it has a name of over %u KiB",
			       (unsigned)(BOUND_NAME / KIB));
	if (*name && strncmp(name, above, strlen(above)) != 0)
		return err_set(err, -EPROTO, "its listing has what was not asked for");
	if (!walk->first && *name)
		walk->first = strdup(name);
	return walk->first || !*name ? 0 : -ENOMEM;
}

/* A page that begins as one before did, or is empty and leads on as that did, would come again and
 * again. Each is compared with the last of the 1st, 2nd, 4th and so on, as Brent finds cycles. */
int walk_again(struct walk *walk, struct chain **chain, char **next, struct err *err)
{
	struct chain *known = *chain;
	SCOPE_FREE char *mark = NULL;

	if (asprintf(&mark, "%s%s", walk->first ? "" : "?", walk->first ?: *next) < 0) {
		mark = NULL;
		return -ENOMEM;
	}
	if (known->mark && strcmp(known->mark, mark) == 0)
		return err_set(err, -EPROTO, "its listing has a page that comes again and again");
	if ((known->pages & (known->pages - 1)) == 0) {
		free(known->mark);
		known->mark = steal_ptr(&mark);
	}
	free(known->next);
	known->next = steal_ptr(next);
	known->pages++;
	forget_page(&known->page);
	push_chain(walk, steal_ptr(chain));
	return 0;
}

/* --- all pages -------------------------------------------------------------------------------- */

/* Asks for the next page of chains, as long as there is place. */
static int ask_chains(struct walk *walk, struct err *err)
{
	static const struct http_transfer_ops page_ops = {
		.prepare = page_prepare, .accept = page_accept, .finished = page_finished};
	struct chain *chain;

	while (walk->under_way < AT_ONCE && (chain = walk->chains)) {
		struct page *page = &chain->page;
		int r;

		if (walk->asked++ == walk->ask->pages)
			return err_set(err, -E2BIG, "its listing has over %u pages",
				       walk->ask->pages);
		r = walk->make(chain, &page->ask);
		if (r < 0)
			return r;
		walk->chains = chain->above;
		walk->under_way++;
		page->transfer =
			(struct http_transfer){.ops = &page_ops, .iov = &page->iov, .count = 1};
		http_submit(walk->notice.client, &page->transfer);
	}
	return 0;
}

/* Waits for a page, in any order. NULL: none is under way. */
static struct chain *next_page(struct walk *walk)
{
	struct chain *chain;

	SCOPE_LOCK(&walk->lock);
	while (!walk->come && walk->under_way)
		pthread_cond_wait(&walk->more, &walk->lock);
	chain = walk->come;
	if (chain) {
		walk->come = chain->above;
		walk->under_way--;
	}
	return chain;
}

static int take_next(struct walk *walk, struct chain *taken, struct err *err)
{
	SCOPE(chain_release) struct chain *chain = taken;
	struct page *page = &chain->page;

	free(steal_ptr(&walk->first));
	return page->error ? err_set(err, page->error, "%s", err_text(&page->why, page->error))
			   : walk->turn(walk, &chain, err);
}

static void end_walk(struct walk *walk)
{
	struct reader_stats stats = {0};
	struct chain *chain;

	if (walk->notice.client) {
		http_end(walk->notice.client);
		http_stats(walk->notice.client, &stats);
	}
	while ((chain = next_page(walk)))
		chain_free(chain);
	walk->ask->requests = stats.requests;
	remote_client_free(walk->place->remote, walk->notice.client);
	walk_drop(walk);
	free(walk->first);
	pthread_cond_destroy(&walk->more);
	pthread_mutex_destroy(&walk->lock);
}

int walk_all(struct walk *walk, struct err *err)
{
	const struct listed_place *place = walk->place;
	struct chain *chain;
	int r;

	walk->notice = (struct outage_notice){.shown = place->name, .settings = place->settings};
	pthread_mutex_init(&walk->lock, NULL);
	pthread_cond_init(&walk->more, NULL);
	r = remote_client_new(place->remote, place->settings, place->auth->url,
			      &walk->notice.client, err);
	while (r == 0) {
		r = ask_chains(walk, err);
		chain = r == 0 ? next_page(walk) : NULL;
		if (!chain)
			break;
		r = take_next(walk, chain, err);
	}
	end_walk(walk);
	return r;
}
