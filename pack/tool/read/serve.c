#include "pack/tool/read/serve.h"

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/name.h"
#include "base/python.h"
#include "base/scope.h"
#include "base/signals.h"
#include "base/size.h"
#include "pack/image_kind.h"
#include "pack/labels.h"
#include "pack/options.h"
#include "pack/tool/image/check.h"
#include "pack/tool/image/image.h"
#include "pack/tool/read/listing.h"
#include "pack/tool/read/summary.h"
#include "pack/tool/work/batch_ahead.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/pipeline.h"
#include "pack/tool/work/progress.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <xxhash.h>

#define INSIDE	     (64 * MIB) /* bytes of files at once */
#define INSIDE_COUNT 1024	/* files at once */
#define PIPE	     ((int)MIB)
#define SHARED	     (64 * MIB) /* memory that the script has, too */
#define TREE_PIECE   (64 * KIB)
#define ENDED	     64 /* status of the script where the server of the first pack has ended */

struct server {
	const struct serve *serve;
	struct dataset *dataset;
	int asks, answers;
	uint8_t *shared; /* NULL: there is none */
};

/* A file on its way. */
struct piece {
	size_t number;
	struct serve_answer answer;
	struct buf look;
	void *data;
	void *own;    /* its bytes, where they are not shared */
	uint64_t end; /* of what is shared, counted from the first file on */
};

struct stream {
	struct server *server;
	struct serve_files asked;
	struct serve_file *files;
	uint32_t *entries; /* of these */
	struct batch_ahead *ahead;
	struct piece ring[INSIDE_COUNT];
	size_t next;	    /* file to be put in */
	size_t done;	    /* files that the script is done with */
	uint64_t end, free; /* of shared memory: what is taken, and given back */
	struct progress progress;
};

/* --- the tree --------------------------------------------------------------------------------- */

static int add_head(const struct server *server, const struct serve_open *asked, struct buf *to)
{
	SCOPE(labels_release) struct labels labels = {0};
	SCOPE(summary_release) struct summary summary = {0};
	const struct classes *classes = &summary.classes;
	struct dataset *dataset = server->dataset;
	const struct dataset_info *info = dataset_info(dataset);
	bool wanted = asked->parts & SERVE_SUMMARY;
	struct json json = json_begin(to);
	int r = labels_add_dataset(&labels, dataset, "");

	if (r == 0 && wanted)
		r = summary_new(dataset, &summary);
	else if (r == 0)
		r = options_made_with(info->options, info->options_len,
				      dataset_is_unchecked(dataset), &summary.options);
	if (r == 0 && !wanted)
		r = classes_new(dataset, &summary.classes);
	if (r < 0)
		return r;
	labels_sort(&labels);
	json_object(&json, NULL);
	json_string(&json, "id", info->id);
	json_bytes(&json, "made_with", summary.options.data, summary.options.len);
	json_bool(&json, "delta", dataset_is_delta(dataset));
	json_u64(&json, "left_out", dataset_left_out(dataset));
	json_bool(&json, "unchecked", dataset_is_unchecked(dataset));
	json_array(&json, "labels");
	for (size_t i = 0; i < labels_count(&labels); i++) {
		json_array(&json, NULL);
		json_i64(&json, NULL, labels_row(&labels, i)->label);
		json_bytes(&json, NULL, labels_folder(&labels, i), labels_row(&labels, i)->len);
		json_end(&json);
	}
	json_end(&json);
	json_array(&json, "splits");
	for (uint32_t i = 0; classes->split && i < classes->split_count; i++)
		json_bytes(&json, NULL, classes->splits[i].name, classes->splits[i].name_len);
	json_end(&json);
	if (wanted) {
		json_object(&json, "info");
		summary_json(info, &summary, true, &json);
		json_end(&json);
	}
	json_end(&json);
	return buf_adds(to, "\n");
}

static int add_entry(struct dataset *dataset, uint32_t number, const struct serve_open *asked,
		     struct buf *to)
{
	const struct dataset_entry entry = dataset_entry(dataset, number);
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct json json = json_begin(to);
	bool ranked = format_is_file(entry.kind) || entry.kind == FORMAT_HARDLINK;
	int r;

	if (entry.kind == FORMAT_DIRECTORY && entry.children && !(asked->parts & SERVE_FOLDERS))
		return 0;
	json_object(&json, NULL);
	json_u64(&json, "number", number);
	r = listing_json(dataset, number, asked->parts, &json);
	if (r == 0 && ranked && asked->rank == SERVE_PLACE && entry.size) /* others have none */
		json_u64(&json, "rank",
			 dataset_extent(dataset, dataset_first_extent(dataset, number)).offset);
	if (r == 0 && ranked && asked->rank == SERVE_HASH) {
		r = dataset_path(dataset, number, &path);
		json_u64(&json, "rank", XXH3_64bits_withSeed(path.data, path.len, asked->seed));
	}
	json_end(&json);
	return r < 0 ? r : buf_adds(to, "\n");
}

/* -EPIPE: the script has ended. */
static int send_tree(struct server *server, const struct serve_open *asked)
{
	SCOPE(buf_release) struct buf lines = BUF_INIT;
	int r = add_head(server, asked, &lines);

	for (uint32_t i = !(asked->parts & SERVE_FOLDERS);
	     r == 0 && i < dataset_entries(server->dataset); i++) {
		r = add_entry(server->dataset, i, asked, &lines);
		if (r == 0 && lines.len >= TREE_PIECE) {
			r = io_write_full(server->answers, lines.data, lines.len);
			lines.len = 0;
		}
	}
	if (r == 0)
		r = buf_adds(&lines, "\n");
	return r < 0 ? r : io_write_full(server->answers, lines.data, lines.len);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Of what is asked for of a file. */
static uint64_t file_size(const struct stream *stream, size_t number)
{
	uint64_t piece = stream->files[number].size;

	return piece ? piece : dataset_entry(stream->server->dataset, stream->entries[number]).size;
}

static int look_at(const struct stream *stream, struct piece *piece)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct json json = json_begin(&piece->look);
	struct check_finding finding;
	struct dataset_image image;
	int r = dataset_path(stream->server->dataset, stream->entries[piece->number], &path);

	if (r == 0)
		r = check_image(CHECK_HEADER, path.data, piece->data, piece->answer.size, &finding);
	if (r < 0)
		return r;
	image_inspect(piece->data, piece->answer.size, &image);
	json_object(&json, NULL);
	json_string(&json, "kind", image_kind_name(image.kind));
	json_u64(&json, "width", image.width);
	json_u64(&json, "height", image.height);
	if (r == 1) {
		json_string(&json, "damage", finding.damage);
		json_bool(&json, "usable", finding.usable);
		json_string(&json, "text", finding.text);
	}
	json_end(&json);
	piece->answer.look = piece->look.len;
	return buf_error(&piece->look);
}

static int read_piece(const struct stream *stream, struct piece *piece)
{
	const struct serve_file *file = &stream->files[piece->number];
	uint64_t size = file_size(stream, piece->number);
	ssize_t n;
	int r = 0;

	if (!piece->data)
		piece->data = piece->own = malloc(size + 1);
	if (!piece->data)
		return -ENOMEM;
	if (file->size) {
		n = dataset_read(stream->server->dataset, file->entry, piece->data, size,
				 file->from);
		r = n < 0 ? (int)n : (uint64_t)n < size ? -EBADMSG : 0;
	} else {
		r = batch_ahead_read(stream->ahead, piece->number, piece->data);
	}
	if (r < 0)
		return r;
	piece->answer.size = size;
	if (stream->asked.checksum)
		piece->answer.crc = crc32c(file->crc, piece->data, size);
	if (file->want & SERVE_LOOK)
		r = look_at(stream, piece);
	if (!(file->want & SERVE_BYTES))
		piece->answer.size = 0;
	return r;
}

static void stream_work(void *context, unsigned worker, void *item)
{
	struct piece *piece = item;
	int r = read_piece(context, piece);

	(void)worker;
	if (r < 0)
		piece->answer = (struct serve_answer){.error = r, .at = -1};
}

static void drop_piece(void *context, void *item)
{
	struct piece *piece = item;

	(void)context;
	free(piece->own);
	piece->own = NULL;
	buf_release(&piece->look);
}

/* Shared memory is taken in the order of files, without a break in one. False: it must be given
 * back first. */
static bool take_room(struct stream *stream, uint64_t size, struct piece *piece)
{
	uint64_t lap = stream->end % SHARED, begin = stream->end;

	piece->end = stream->end;
	piece->answer.at = -1;
	if (!stream->server->shared || size > SHARED / 4)
		return true;
	if (lap + size > SHARED)
		begin += SHARED - lap;
	if (begin + size - stream->free > SHARED)
		return false;
	piece->answer.at = (int64_t)(begin % SHARED);
	piece->data = stream->server->shared + piece->answer.at;
	stream->end = piece->end = begin + size;
	return true;
}

static void put_pieces(struct stream *stream, struct pipeline *pipeline)
{
	while (stream->next < stream->asked.count && stream->next - stream->done < INSIDE_COUNT &&
	       pipeline_has_room(pipeline, file_size(stream, stream->next))) {
		uint64_t size = file_size(stream, stream->next);
		struct piece next = {.number = stream->next};
		struct piece *piece = &stream->ring[stream->next % INSIDE_COUNT];

		if (!take_room(stream, size, &next))
			return;
		*piece = next;
		stream->next++;
		if (!stream->files[piece->number].size)
			batch_ahead_begin(stream->ahead, piece->number);
		pipeline_put(pipeline, piece, size);
	}
}

/* Takes in what the script is done with; waits until there is some. 0, 1: the script has ended, or
 * -errno. */
static int take_done(struct stream *stream, bool wait)
{
	struct pollfd asks = {.fd = stream->server->asks, .events = POLLIN};
	char bytes[INSIDE_COUNT];
	ssize_t n = poll(&asks, 1, wait ? -1 : 0);

	if (n > 0)
		n = read(asks.fd, bytes, stream->next - stream->done);
	else if (n == 0)
		return 0;
	if (n <= 0)
		return n < 0 ? -errno : 1;
	stream->done += (size_t)n;
	stream->free = stream->ring[(stream->done - 1) % INSIDE_COUNT].end;
	return 0;
}

static int send_pieces(struct stream *stream)
{
	const struct pipeline_params params = {.workers = stream->server->serve->jobs,
					       .slots = INSIDE_COUNT,
					       .bytes = INSIDE,
					       .work = stream_work,
					       .drop = drop_piece,
					       .context = stream};
	struct pipeline *pipeline;
	struct piece *piece;
	int r = pipeline_new(&params, &pipeline);

	while (r == 0 && stream->done < stream->asked.count) {
		put_pieces(stream, pipeline);
		piece = pipeline_take(pipeline);
		if (piece) {
			const struct serve_answer *answer = &piece->answer;
			const struct iovec parts[] = {
				{&piece->answer, sizeof(*answer)},
				{piece->look.data, answer->look},
				{piece->own, answer->at < 0 ? answer->size : 0}};

			r = io_write_parts(stream->server->answers, parts, 3);
			progress_add(&stream->progress, 1, file_size(stream, piece->number));
			drop_piece(NULL, piece);
		}
		if (r == 0 && stream->next > stream->done)
			r = take_done(stream, !piece);
	}
	pipeline_free(pipeline);
	return r;
}

static void release_stream(struct stream *stream)
{
	batch_ahead_free(stream->ahead);
	free(stream->entries);
	free(stream->files);
}

/* 0, 1 where nothing more is asked, or -errno. */
static int read_asked(int fd, void *ret, size_t len)
{
	ssize_t n = io_read(fd, ret, len);

	return n < 0 ? (int)n : (size_t)n < len;
}

/* The same. */
static int send_files(struct server *server)
{
	SCOPE(release_stream) struct stream stream = {.server = server};
	const struct serve_answer end = {0};
	int r = read_asked(server->asks, &stream.asked, sizeof(stream.asked));
	size_t count = stream.asked.count;

	if (r != 0)
		return r;
	stream.files = calloc(count + 1, sizeof(*stream.files));
	stream.entries = calloc(count + 1, sizeof(*stream.entries));
	if (!stream.files || !stream.entries)
		return -ENOMEM;
	r = read_asked(server->asks, stream.files, count * sizeof(*stream.files));
	if (r != 0)
		return r;
	progress_begin(&stream.progress, server->serve->doing,
		       cmd_progress(server->serve->line->common));
	stream.progress.files_total = count;
	for (size_t i = 0; i < count; i++) {
		stream.entries[i] = stream.files[i].entry;
		stream.progress.bytes_total += file_size(&stream, i);
	}
	r = batch_ahead_new(server->dataset, stream.entries, count, &stream.ahead);
	if (r == 0)
		r = send_pieces(&stream);
	progress_end(&stream.progress);
	return r ? r : io_write_full(server->answers, &end, sizeof(end));
}

/* --- the processes ---------------------------------------------------------------------------- */

/* In the child that serves a pack. */
static int answer_all(struct server *server, char *word)
{
	struct serve_open asked;
	int r = read_asked(server->asks, &asked, sizeof(asked));

	if (r != 0)
		return r > 0 ? EXIT_DONE : cmd_status(word, r, NULL);
	r = cmd_open(word, server->serve->line->common, &server->dataset);
	if (r == EXIT_DONE)
		r = cmd_load(word, server->dataset, asked.parts & LISTING_PARTS);
	if (r != EXIT_DONE) {
		dataset_free(server->dataset);
		return r;
	}
	r = send_tree(server, &asked);
	while (r == 0)
		r = send_files(server);
	dataset_free(server->dataset);
	return r > 0 || r == -EPIPE ? EXIT_DONE : cmd_status(word, r, NULL);
}

/* Begins to serve a pack, and tells the script of it. *ret_child is 0 in the child, which then has
 * served. Returns its status there, else 0 or -errno. */
static int serve_pack(const struct serve *serve, size_t number, struct json *json, pid_t *ret_child)
{
	char *word = serve->words[serve->first + number];
	SCOPE_FREE char *shown = name_shown(word);
	void *memory = MAP_FAILED;
	int asks[2], answers[2], shared;
	pid_t child;

	if (!shown)
		return -ENOMEM;
	if (pipe2(asks, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(answers[1], F_SETPIPE_SZ, PIPE);
	/* A file in memory that both processes have. There is none where `ulimit -f` is small. */
	shared = memfd_create("files", MFD_CLOEXEC);
	if (shared >= 0 && ftruncate(shared, SHARED) < 0) {
		close(shared);
		shared = -1;
	}
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		/* The script ends this, or this ends with foldpack. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGTERM, SIG_DFL);
		if (shared >= 0)
			memory = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
		close(asks[1]);
		close(answers[0]);
		*ret_child = 0;
		return answer_all(&(struct server){.serve = serve,
						   .asks = asks[0],
						   .answers = answers[1],
						   .shared = memory == MAP_FAILED ? NULL : memory},
				  word);
	}
	*ret_child = child;
	close(asks[0]);
	close(answers[1]);
	fcntl(asks[1], F_SETFD, 0);
	fcntl(answers[0], F_SETFD, 0);
	fcntl(shared, F_SETFD, 0);
	json_array(json, NULL);
	json_string(json, NULL, shown);
	json_i64(json, NULL, child);
	json_u64(json, NULL, ENDED + number);
	json_i64(json, NULL, answers[0]);
	json_i64(json, NULL, asks[1]);
	json_i64(json, NULL, shared);
	json_end(json);
	return 0;
}

static void add_option(void *context, const char *name, const char *value)
{
	json_string(context, name, value ? value : "");
}

/* In the child that becomes it. Its group is its own, for what a wrapper around python3 starts; no
 * terminal ends that, or stops it as it writes. */
static _Noreturn void become_script(const char *script, const char *told)
{
	/* Names are UTF-8 in any locale. What Python warns of is nothing to the user. */
	const char *const argv[] = {python_program_beside(), "-B", "-X", "utf8", "-W", "ignore",
				    PYTHON_RUN(script),	     told, NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signals_unblock();
	signal(SIGTERM, SIG_DFL);
	signal(SIGTTOU, SIG_IGN);
	execvp(argv[0], (char *const *)argv);
	_exit(log_fail(EXIT_FAILED,
		       "Python, which this command needs, does not start: %s: %s" PYTHON_WAY_OUT,
		       argv[0], strerror(errno)));
}

/* Awaits its end, which a signal brings about. Returns its status as wait(2) has it. */
static int await_script(pid_t script, const sigset_t *signals, int *ret_caught)
{
	uint64_t first = 0;
	int status = 0;

	while (waitpid(script, &status, WNOHANG) == 0) {
		int caught = sigwaitinfo(signals, NULL);

		if (caught < 0 || caught == SIGCHLD)
			continue;
		if (!first) {
			first = clock_ns();
			*ret_caught = caught;
			kill(-script, SIGTERM);
		} else if (clock_ns() - first >= INTERRUPT_GRACE) {
			kill(-script, SIGKILL);
		}
	}
	return status;
}

static int run_script(const struct serve *serve, const char *path, const char *told,
		      const pid_t *servers)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	int caught = 0, status;
	struct err err = {0};
	sigset_t signals;
	char *word;
	pid_t script;

	signal(SIGCHLD, SIG_DFL);
	signals = signals_block(taken, sizeof(taken) / sizeof(taken[0]));
	script = fork();
	if (script < 0)
		return cmd_status(NULL, -errno, NULL);
	setpgid(script, 0);
	if (script == 0)
		become_script(path, told);
	status = await_script(script, &signals, &caught);
	if (caught && status != 0)
		return interrupt_die_by(caught);
	if (WIFSIGNALED(status))
		return interrupt_die_by(WTERMSIG(status));
	status = WEXITSTATUS(status);
	if (status < ENDED || status - ENDED >= (int)serve->packs)
		return status;
	word = serve->words[serve->first + (size_t)(status - ENDED)];
	waitpid(servers[status - ENDED], &status, 0);
	if (WIFSIGNALED(status))
		return cmd_status(
			word, err_set(&err, -ECHILD, "the process that reads it was killed"), &err);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

int serve_run(const struct serve *serve)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, told = BUF_INIT;
	struct json json = json_begin(&told);
	SCOPE_FREE pid_t *servers = calloc(serve->packs, sizeof(*servers));
	pid_t child = -1;
	int r = python_script("tools", serve->script, &path);

	if (!servers)
		return cmd_status(NULL, -ENOMEM, NULL);
	if (r < 0)
		return log_fail(EXIT_FAILED,
				"%s.py, which does it, is not installed beside "
				"foldpack: %s",
				serve->script, strerror(-r));
	json_object(&json, NULL);
	json_string(&json, "version", FOLDFS_VERSION);
	json_string(&json, "command", serve->line->command->name);
	json_u64(&json, "level", cmd_level(serve->line->common));
	json_u64(&json, "jobs", serve->jobs);
	json_object(&json, "options");
	opt_given(serve->line->command->table, serve->line->settings, serve->defaults, add_option,
		  &json);
	json_end(&json);
	json_array(&json, "words");
	for (size_t i = 0; serve->words[i]; i++) {
		SCOPE_FREE char *shown = name_shown(serve->words[i]);

		if (!shown)
			r = -ENOMEM;
		else
			json_string(&json, NULL, shown);
	}
	json_end(&json);
	json_array(&json, "packs");
	for (size_t i = 0; r == 0 && i < serve->packs; i++) {
		r = serve_pack(serve, i, &json, &child);
		if (child == 0)
			return r;
		servers[i] = child;
	}
	json_end(&json);
	json_end(&json);
	if (r == 0)
		r = buf_adds(&told, "");
	if (r < 0)
		return cmd_status(NULL, r, NULL);
	return run_script(serve, path.data, told.data, servers);
}
