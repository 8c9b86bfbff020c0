/* Several packs of one folder, each made by a run of its own, with the same options; and
 * --shard-done, which hands each pack to a command of the user, once, while the next one is packed.
 * No more than two lie here then. A pack whose command fails stays, and the run goes on; it is
 * named at the end. */
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include "base/size.h"
#include "base/spawn.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_messages.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <xxhash.h>

/* --- options ---------------------------------------------------------------------------------- */

bool create_is_cut(const struct create *create)
{
	return create->options.cut.size || create->options.cut.part;
}

/* Parses a number of digits only, at most `most`. */
static bool parse_count(const char **text, uint32_t most, uint32_t *ret)
{
	const char *start = *text;
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9' && value <= most; ++*text)
		value = value * 10 + (uint64_t)(**text - '0');
	*ret = (uint32_t)value;
	return *text > start && value <= most;
}

/* Whether {} is between single quotes with other text, where the shell leaves "$1" as it is. */
static bool is_quoted(const char *command)
{
	bool single = false, twice = false;

	for (const char *at = command; *at; at++) {
		if (*at == '\\' && !single && at[1])
			at++;
		else if (*at == '"' && !single)
			twice = !twice;
		else if (*at == '\'' && !twice)
			single = !single;
		else if (single && strncmp(at, "{}", 2) == 0 && (at[-1] != '\'' || at[2] != '\''))
			return true;
	}
	return false;
}

int create_take_cut(struct create *create)
{
	struct create_cut *cut = &create->options.cut;
	const char *text = cut->part;

	if (cut->size && cut->size < MIB)
		return create_usage_error("'--shard-size': at least 1M");
	if (cut->size && text)
		return create_usage_error("'--part' and '--shard-size' do not go together");
	if (cut->done && !cut->size)
		return create_usage_error("'--shard-done' goes with '--shard-size' only");
	if (cut->done && !strstr(cut->done, "{}"))
		return create_usage_error("'--shard-done': no {}, where the path of a pack goes");
	if (cut->done && is_quoted(cut->done))
		return create_usage_error(
			"'--shard-done': {} is within quotes, where it is no path: "
			"sh -c '... \"$1\" ...' sh {}");
	if (!text)
		return EXIT_DONE;
	if (!parse_count(&text, SLICES_MOST, &cut->first) || *text++ != '/' ||
	    !parse_count(&text, SLICES_MOST, &cut->many) || *text || cut->first >= cut->many)
		return create_usage_error("'--part': K/N, with K from 0 to N - 1");
	return EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------------------ */

#define SAID	  4096 /* bytes, with the NUL, of what it wrote that are kept: the last ones */
#define PERIOD_MS 100  /* between two looks at whether it has ended, or is to end */

struct handover {
	struct buf command; /* with "$1" for {} */
	struct buf refused; /* paths of packs whose command failed, with ", " between */

	/* Of the pack that is handed over: the thread's while it runs. */
	bool runs;
	pthread_t thread;
	char *path;
	int result; /* 0, -EINTR, or CREATE_REPORTED: the command failed */
};

static void handover_release(struct handover *handover)
{
	buf_release(&handover->command);
	buf_release(&handover->refused);
	free(handover->path);
}

/* {} becomes "$1", whatever quotes are around it. */
static int set_command(struct buf *text, const char *command)
{
	int r = buf_adds(text, "");

	for (const char *at; r == 0 && (at = strstr(command, "{}")); command = at) {
		char quote = at > command && (at[-1] == '"' || at[-1] == '\'') ? at[-1] : '\0';
		bool quoted = quote && at[2] == quote;

		r = buf_addf(text, "%.*s\"$1\"", (int)(at - command) - quoted, command);
		at += 2 + quoted;
	}
	return r < 0 ? r : buf_adds(text, command);
}

/* Takes what there is to be read, of which the last bytes are kept; false: there will be no more.
 */
static bool drain(int output, char said[SAID])
{
	char text[SAID - 1];
	ssize_t n;

	while ((n = read(output, text, sizeof(text))) > 0) {
		size_t len = (size_t)n, kept = strlen(said);
		size_t over = sub_sat(kept + len, SAID - 1);

		memmove(said, said + over, kept - over);
		memcpy(said + kept - over, text, len);
		said[kept - over + len] = '\0';
	}
	return n < 0 && errno == EAGAIN;
}

static int await(pid_t process, int output, char said[SAID])
{
	struct pollfd more = {.fd = output, .events = POLLIN};
	bool told = false;
	int status;

	for (;;) {
		pid_t ended = waitpid(process, &status, WNOHANG);

		if (more.fd >= 0 && !drain(output, said))
			more.fd = -1;
		if (ended)
			return ended < 0 ? -errno : status;
		if (interrupt_pending() && !told)
			told = kill(-process, interrupt_pending()) == 0;
		poll(&more, 1, PERIOD_MS);
	}
}

/* Runs `sh -c COMMAND` with the path as $1, and awaits its end: its status, as waitpid(2) gives it,
 * or -errno. It reads nothing. A signal that asks foldpack to stop is passed on to it and to the
 * programs that it runs; where foldpack dies, it goes on until it writes. */
static int run_shell(const char *command, const char *path, char ret_said[SAID])
{
	const char *const argv[] = {"/bin/sh", "-c", command, "sh", path, NULL};
	SCOPE_CLOSE int output = -1, input = -1;
	pid_t process;
	int ends[2], r;

	ret_said[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	output = ends[0];
	input = ends[1];
	if (fcntl(output, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	/* A session of its own has no terminal to ask for a password, and is what signals are
	 * passed to. */
	r = spawn_program(argv, (int[]){input, input}, 2, POSIX_SPAWN_SETSID, &process);
	close(steal_fd(&input));
	return r < 0 ? r : await(process, output, ret_said);
}

static void *run_command(void *context)
{
	struct handover *handover = context;
	const char *path = handover->path;
	char text[SAID] = "", *said = text;
	int status = interrupt_pending() ? -EINTR : run_shell(handover->command.data, path, text);

	handover->result = status == 0 ? 0 : interrupt_pending() ? -EINTR : CREATE_REPORTED;
	/* Both outputs of the command, a line each. */
	for (char *line; handover->result != -EINTR && (line = strsep(&said, "\r\n"));)
		if (*line)
			(status == 0 ? log_detail : log_error)("%s: %s", path, line);
	if (status == 0)
		log_info("%s: taken", path);
	else if (handover->result == -EINTR)
		log_notice("%s: not taken; --resume goes on with it", path);
	else if (status < 0)
		log_error("%s: the command of --shard-done cannot be run: %s", path,
			  strerror(-status));
	else if (WIFSIGNALED(status))
		log_error("%s: the command of --shard-done was ended by signal %d", path,
			  WTERMSIG(status));
	else
		log_error("%s: the command of --shard-done ended with status %d", path,
			  WEXITSTATUS(status));
	return NULL;
}

int create_await_handover(struct handover *handover)
{
	if (!handover || !handover->runs)
		return 0;
	pthread_join(handover->thread, NULL);
	handover->runs = false;
	if (handover->result == CREATE_REPORTED)
		return buf_addf(&handover->refused, "%s%s", handover->refused.len ? ", " : "",
				handover->path);
	return handover->result;
}

/* --- packs ------------------------------------------------------------------------------------ */

/* Scans SOURCE, and cuts it as the options say. 0, CREATE_REPORTED, CREATE_REFUSED or -errno. */
static int cut_folder(struct create *create)
{
	const struct create_options *options = &create->options;
	const struct import_dir_params params = create_folder_params(create);
	struct slices_cut cut = {.size = options->cut.size, .parts = options->cut.many};
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err err = {0};
	const struct builder *entries;
	uint64_t count;
	int r = create_options_text(create, &text);

	if (r < 0)
		return r;
	cut.seed = XXH3_64bits(text.data, text.len);
	progress_begin(&create->progress, "looking", cmd_progress(&options->common));
	create->held = &create->slice.scanned;
	r = slices_new(&params.scan, params.order, &cut, &create->slice.slices, &err);
	create->held = NULL;
	create->slice.owned = r == 0;
	progress_clear(&create->progress);
	if (r < 0)
		return err.text[0] ? create_fail(create, r, &err) : r;
	entries = slices_entries(create->slice.slices, &count);
	return create_look_ahead(create, entries, count);
}

/* "x.lmdb" -> "x-00003-of-00015.lmdb" */
static int add_name(struct buf *names, const char *path, uint32_t slice, uint32_t count)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t before = dot && dot > name ? (size_t)(dot - path) : strlen(path);

	return buf_addf(names, "%.*s-%05" PRIu32 "-of-%05" PRIu32 "%s%c", (int)before, path, slice,
			count, path + before, '\0');
}

/* Sets up `one` for a slice, with `names` of its own for the pack and for the list of bad inputs.
 * The first slice also gets the lines of the scan. */
static int begin_slice(struct create *create, uint32_t slice, struct create *one, struct buf *names)
{
	const struct create_cut *cut = &create->options.cut;
	const struct slices *slices = create->slice.slices;
	const char *bad_list = create->options.bad_list;
	uint32_t count = slices_count(slices), later = cut->many ? 0 : count;
	struct shard shard = slices_shard(slices, slice);
	int r = add_name(names, create->pack, slice, count);

	if (r == 0 && bad_list)
		r = add_name(names, bad_list, slice, count);
	if (r < 0)
		return r;
	*one = (struct create){.options = create->options,
			       .source = create->source,
			       .pack = names->data,
			       .root = fcntl(create->root, F_DUPFD_CLOEXEC, 0),
			       .how = create->how,
			       .transforms = create->transforms,
			       .images = create->images,
			       .slice = {.slices = create->slice.slices,
					 .number = slice,
					 .handover = create->slice.handover,
					 .scanned = create->slice.scanned},
			       .counts = create->counts};
	create->slice.scanned = BUF_INIT;
	create->counts = (struct create_counts){0};
	/* Where packs are handed over, the one before gives its room back. */
	if (cut->done)
		later = slice == 0 && count > 1 ? 2 : 0;
	for (uint32_t i = slice + 1; i < later; i++)
		one->slice.later += slices_bytes(slices, i);
	one->watch = create_watch(one);
	if (bad_list)
		one->options.bad_list = names->data + strlen(names->data) + 1;
	shard_write(&shard, one->options.cut.text);
	return one->root < 0 ? -errno : 0;
}

static bool is_done(int status)
{
	return status == EXIT_DONE || status == EXIT_SKIPPED;
}

/* Makes the pack of a slice, and hands it over, once the one before is taken. 0; -EINTR: that was
 * not; or -errno. *ret is the exit status of a pack. */
static int pack_slice(struct create *create, uint32_t slice, int *ret)
{
	struct handover *handover = create->slice.handover;
	SCOPE(buf_release) struct buf names = BUF_INIT;
	SCOPE(create_release) struct create one = {.root = -1};
	int r = begin_slice(create, slice, &one, &names);

	if (r < 0)
		return r;
	*ret = create_pack(&one);
	if (!handover || !is_done(*ret))
		return 0;
	r = create_await_handover(handover);
	if (r < 0)
		return r;
	free(handover->path);
	/* With a path from the root, it matters to no program what the name begins with. */
	handover->path = realpath(names.data, NULL);
	if (!handover->path)
		return log_fail(CREATE_REPORTED, "%s: %s", names.data, strerror(errno));
	r = thread_without_signals(&handover->thread, run_command, handover);
	handover->runs = r == 0;
	return r;
}

/* Each pack stands alone: --resume goes on with the one that was interrupted, and leaves those
 * before it as they are. */
int create_shards(struct create *create)
{
	const struct create_cut *cut = &create->options.cut;
	SCOPE(handover_release) struct handover handover = {0};
	int status = EXIT_DONE, last = EXIT_DONE, r;
	uint32_t end;

	if (transform_decodes(&create->how))
		create_warn_of_bitmaps(create);
	r = cut_folder(create);
	if (r == 0 && cut->done) {
		create->slice.handover = &handover;
		r = set_command(&handover.command, cut->done);
	}
	end = cut->many || r < 0 ? cut->first + 1 : slices_count(create->slice.slices);
	for (uint32_t slice = cut->first; r == 0 && slice < end && is_done(last); slice++) {
		r = pack_slice(create, slice, &last);
		if (last != EXIT_DONE)
			status = last;
	}
	last = create_await_handover(create->slice.handover);
	r = r < 0 ? r : last;
	if (r == -EINTR)
		return create_interrupted(create);
	if (r == 0 && handover.refused.len)
		r = log_fail(CREATE_REPORTED, "not taken by the command of --shard-done: %s",
			     handover.refused.data);
	return r < 0 ? create_failed(create, r) : status;
}
