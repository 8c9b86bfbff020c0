/* Programs that answer one question after another: pack/tool/work/coprocess.h. cat(1) gives back as
 * an answer what it is asked. */
#include "base/scope.h"
#include "pack/tool/work/coprocess.h"
#include "tests/unit/test.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define LARGE (5 << 20) /* more than pipes hold */

static struct coprocesses *start(const char *const argv[], unsigned patience_ms)
{
	const struct coprocess_params params = {.argv = argv,
						.name = "it",
						.way_out = "; try another",
						.most = 2,
						.patience_ms = patience_ms};
	struct coprocesses *all;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(coprocesses_new(&params, &all), 0);
	return all;
}

static int ask(struct coprocesses *all, const char *question, const char *bytes, size_t len,
	       struct answer *ret, struct err *err)
{
	*err = (struct err){0};
	return coprocesses_ask(all, "a/b.png", question, bytes, len, ret, err);
}

static void expect_failure(const char *const argv[], int code, const char *why)
{
	struct coprocesses *all = start(argv, 300);
	SCOPE_FREE char *large = calloc(1, LARGE);
	struct answer answer = {0};
	struct err err;

	assert_non_null(large);
	assert_int_equal(ask(all, "a", large, LARGE, &answer, &err), code);
	assert_string_equal(err.text, why);
	assert_int_equal(ask(all, "b", "", 0, &answer, &err), code);
	assert_string_equal(err.text, why);
	coprocesses_free(all);
}

#define SHELL(text) ((const char *const[]){"/bin/sh", "-c", text, NULL})
#define ASKED	    " while processing a/b.png"

TEST(an_answer_is_a_word_a_sentence_and_bytes)
{
	static const char *const cat[] = {"cat", NULL};
	struct coprocesses *all = start(cat, 0);
	SCOPE_FREE char *large = malloc(LARGE);
	struct err err;

	assert_non_null(large);
	memset(large, 'x', LARGE);
	for (size_t len = 0; len <= LARGE; len = 7 * len + 1) {
		SCOPE(answer_release) struct answer answer = {0};

		assert_int_equal(ask(all, "made by a cat", large, len, &answer, &err), 0);
		assert_string_equal(answer.word, "made");
		assert_string_equal(answer.why, "by a cat");
		assert_int_equal(answer.bytes.len, len);
		assert_memory_equal(answer.bytes.data, large, len);
	}
	coprocesses_free(all);
}

TEST(what_is_no_answer_is_the_last_one)
{
	static const char *const missing[] = {"/no/such/program", NULL};

	expect_failure(missing, -ECHILD,
		       "it does not start: /no/such/program: No such file or directory; try "
		       "another");
	expect_failure(SHELL("exit 7"), -ECHILD, "it ended with status 7" ASKED);
	expect_failure(SHELL("exec 0<&- 1>&-; exit 0"), -ECHILD, "it ended with status 0" ASKED);
	expect_failure(SHELL("kill -TERM $$"), -ECHILD,
		       "it was ended by a signal while processing a/b.png");
	expect_failure(SHELL("kill -9 $$"), -ECHILD,
		       "it was killed, perhaps for lack of memory, at a/b.png");
	expect_failure(SHELL("echo Hello, world; cat >/dev/null"), -ECHILD,
		       "it gave an answer that foldpack-images(7) does not allow" ASKED);
	expect_failure(SHELL("printf '\\1\\0\\0\\0\\0\\0\\0\\0\\n'; cat /dev/zero"), -ECHILD,
		       "it gave an answer that foldpack-images(7) does not allow" ASKED);
	expect_failure(SHELL("printf '\\012\\0\\0\\0\\0\\0\\0\\0failed why'; cat /dev/zero"),
		       -ECHILD, "why");
	expect_failure(SHELL("exec sleep 1000"), -ECHILD,
		       "it has not answered for 0 seconds" ASKED);
}

TEST(one_that_crashes_is_started_again)
{
	struct coprocesses *all =
		start(SHELL("case $(head -c 9 | tail -c 1) in c) kill -SEGV $$;; esac; exit 5"), 0);
	struct answer answer = {0};
	struct err err;

	assert_int_equal(ask(all, "c", "", 0, &answer, &err), -EBADMSG);
	assert_string_equal(err.text, "it crashes on it (Segmentation fault)");
	assert_int_equal(ask(all, "c", "", 0, &answer, &err), -EBADMSG);
	assert_int_equal(ask(all, "d", "", 0, &answer, &err), -ECHILD);
	assert_string_equal(err.text, "it ended with status 5" ASKED);
	coprocesses_free(all);
}

static void *ask_often(void *argument)
{
	char text[32];

	for (unsigned i = 0; i < 200; i++) {
		SCOPE(answer_release) struct answer answer = {0};
		struct err err;

		snprintf(text, sizeof(text), "%u", i);
		if (ask(argument, text, text, strlen(text), &answer, &err) != 0 ||
		    strcmp(answer.word, text) != 0 || answer.bytes.len != strlen(text))
			return argument;
	}
	return NULL;
}

TEST(many_threads_ask_a_few)
{
	static const char *const cat[] = {"cat", NULL};
	struct coprocesses *all = start(cat, 0);
	pthread_t threads[8];
	void *wrong;

	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, all), 0);
	for (size_t i = 0; i < 8; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	coprocesses_free(all);
}
