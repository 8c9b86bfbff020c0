#include "remote/outage_notice.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdarg.h>

#define OUTAGE_NS (2 * CLOCK_SECOND)  /* without a success before the user is told */
#define AGAIN_NS  (60 * CLOCK_SECOND) /* between two lines about reads that were given up */

static void say(const struct outage_notice *notice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct outage_notice *notice, const char *format, ...)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	va_list args;

	buf_addf(&line, "%s: ", notice->shown);
	va_start(args, format);
	buf_addv(&line, format, args);
	va_end(args);
	if (notice->settings->notice && buf_error(&line) == 0)
		notice->settings->notice(line.data);
}

void outage_notice_failed(struct outage_notice *notice, const char *why, uint64_t seconds)
{
	uint64_t now = clock_ns();

	if (!notice->failing_since)
		notice->failing_since = now;
	if (notice->logged || now - notice->failing_since < OUTAGE_NS ||
	    !http_speak(notice->client))
		return;
	notice->logged = true;
	say(notice, "%s; asking again for up to %" PRIu64 " s", why, seconds);
}

void outage_notice_succeeded(struct outage_notice *notice)
{
	uint64_t since = notice->failing_since, outage = since ? clock_ns() - since : 0;

	notice->failing_since = 0;
	if (outage >= OUTAGE_NS)
		http_hurry(notice->client);
	if (!notice->logged)
		return;
	notice->logged = false;
	http_hush(notice->client);
	say(notice, "answers again, after %" PRIu64 " s", outage / CLOCK_SECOND);
}

void outage_notice_given_up(struct outage_notice *notice, const char *why)
{
	uint64_t now = clock_ns();

	if (notice->logged || (notice->given_up && now - notice->given_up < AGAIN_NS) ||
	    !http_speak(notice->client))
		return;
	notice->logged = true;
	notice->given_up = now;
	if (!notice->failing_since)
		notice->failing_since = now;
	say(notice, "%s", why);
}
