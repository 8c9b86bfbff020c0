/* What is said of an outage, and for how long reads are repeated: base/outage.h. */
#include "base/clock.h"
#include "base/outage.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

#define SECONDS 30

static uint64_t now = 1000 * CLOCK_SECOND; /* ns */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = (time_t)(now / CLOCK_SECOND),
				 .tv_nsec = (long)(now % CLOCK_SECOND)};
	return 0;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *then)
{
	(void)cond;
	(void)mutex;
	now = (uint64_t)then->tv_sec * CLOCK_SECOND + (uint64_t)then->tv_nsec;
	return ETIMEDOUT;
}

static char lines[1024];

static void keep_line(const char *line)
{
	strcat(lines, line);
	strcat(lines, "\n");
}

static struct outage *begin(void)
{
	struct outage *outage;

	lines[0] = '\0';
	assert_int_equal(outage_new("pack", SECONDS, keep_line, &outage), 0);
	outage_allow(outage, true);
	return outage;
}

/* Returns how often the read was tried. */
static unsigned read_in_vain(struct outage *outage, bool works)
{
	struct outage_tries tries = {0};

	while (outage_again(outage, &tries, -EIO))
		tries.works = works;
	return tries.count;
}

static void succeed(struct outage *outage)
{
	struct outage_tries tries = {0};

	assert_false(outage_again(outage, &tries, 0));
}

TEST(an_outage_is_waited_for_once_and_both_its_ends_are_said)
{
	struct outage *outage = begin();

	assert_int_equal(read_in_vain(outage, false), SECONDS + 1);
	assert_int_equal(read_in_vain(outage, false), 1);
	succeed(outage);
	assert_string_equal(lines,
			    "pack: Input/output error; reads are repeated for up to 30 s\n"
			    "pack: can be read again, after 30 s\n");
	outage_free(outage);
}

TEST(it_has_ended_when_another_part_can_be_read)
{
	struct outage *outage = begin();

	read_in_vain(outage, false);
	now += 70 * CLOCK_SECOND;
	assert_int_equal(read_in_vain(outage, true), 3);
	succeed(outage);
	assert_non_null(strstr(lines, "\npack: can be read again, after 101 s\n"));
	outage_free(outage);
}

TEST(a_part_that_fails_is_no_outage)
{
	struct outage *outage = begin();

	for (unsigned i = 0; i < 3; i++, now += 20 * CLOCK_SECOND)
		assert_int_equal(read_in_vain(outage, true), 3);
	assert_int_equal(read_in_vain(outage, false), SECONDS + 1);
	assert_string_equal(lines, "pack: Input/output error; reads are repeated for up to 30 s\n");
	outage_free(outage);
}

TEST(the_next_outage_is_said_as_well_though_nobody_saw_the_first_one_end)
{
	struct outage *outage = begin();

	read_in_vain(outage, false);
	now += 3600 * CLOCK_SECOND;
	lines[0] = '\0';
	assert_int_equal(read_in_vain(outage, false), SECONDS + 1);
	succeed(outage);
	assert_string_equal(lines,
			    "pack: Input/output error; reads are repeated for up to 30 s\n"
			    "pack: can be read again, after 30 s\n");
	outage_free(outage);
}
