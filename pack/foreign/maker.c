#include "pack/foreign/maker.h"
#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/known.h"
#include "pack/foreign/maker_pages.h"
#include "pack/foreign/maker_process.h"
#include "pack/foreign/message.h"
#include "pack/foreign/records.h"
#include "pack/foreign/tree_internal.h"
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MESSAGE_MOST (GIB + MIB)
#define HEAD	     5 /* bytes before those of a message */
#define ROOM	     (128 * KIB)

struct maker {
	struct foreign_source *source;
	struct maker_format format;
	pid_t process; /* 0: none */
	int socket;
	bool rests;    /* it is done, and waits for the next file */
	struct buf in; /* what was received, from `taken` on */
	size_t taken;
	struct foreign_source unpacked; /* over the tree's `unpacked`, if it has that */
	struct maker_pages pages;
};

/* --- its end ---------------------------------------------------------------------------------- */

static void end_maker(struct maker *maker)
{
	scope_close(&maker->socket);
	if (maker->process) {
		kill(maker->process, SIGKILL);
		while (waitpid(maker->process, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_release(&maker->in);
	window_release(&maker->unpacked.window);
	free(maker);
}

/* --- those that rest -------------------------------------------------------------------------- */

/* More than there are processors make nothing faster, but where they wait for a server. */
static unsigned most_busy(const struct foreign_source *source)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return source->window.far || processors > MAKERS_MOST ? MAKERS_MOST
	       : processors < 1				      ? 1
							      : (unsigned)processors;
}

/* One that rests, or NULL: another may begin. */
static struct maker *take_resting(struct makers *makers, unsigned most)
{
	SCOPE_LOCK(&makers->lock);
	while (!makers->count && makers->busy >= most)
		pthread_cond_wait(&makers->changed, &makers->lock);
	makers->busy++;
	return makers->count ? makers->resting[--makers->count] : NULL;
}

/* One that was busy rests, or, NULL, has ended. */
static void let_rest(struct makers *makers, struct maker *maker)
{
	SCOPE_LOCK(&makers->lock);
	makers->busy--;
	if (maker)
		makers->resting[makers->count++] = maker;
	pthread_cond_signal(&makers->changed);
}

void makers_release(struct makers *makers)
{
	while (makers->count)
		end_maker(makers->resting[--makers->count]);
	pthread_cond_destroy(&makers->changed);
	pthread_mutex_destroy(&makers->lock);
}

void maker_free(struct maker *maker)
{
	struct makers *makers = maker ? maker->source->settings->makers : NULL;
	bool rests = makers && maker->rests;

	if (maker)
		maker_pages_release(&maker->pages);
	if (maker && !rests)
		end_maker(maker);
	if (makers)
		let_rest(makers, rests ? maker : NULL);
}

const struct maker_format *maker_format(const struct maker *maker)
{
	return &maker->format;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Why it said no more. */
static int ended(struct maker *maker, struct err *err)
{
	int status = 0;

	while (waitpid(maker->process, &status, 0) < 0 && errno == EINTR)
		;
	maker->process = 0;
	if (!maker->format.name[0] && WIFEXITED(status))
		return maker_lack_python(err);
	return err_set(err, -ECANCELED, "the script that reads it has ended early%s",
		       !WIFSIGNALED(status)	     ? ""
		       : WTERMSIG(status) == SIGKILL ? ", as where memory runs out"
		       : WTERMSIG(status) == SIGXCPU ? ", as it took over an hour of a processor"
						     : "");
}

/* Receives until there are so many bytes in hand. */
static int receive(struct maker *maker, size_t len, struct err *err)
{
	struct buf *in = &maker->in;
	size_t left = in->len - maker->taken;

	if (left >= len)
		return 0;
	memmove(in->data, in->data + maker->taken, left);
	in->len = left;
	maker->taken = 0;
	if (buf_reserve(in, max(len, (size_t)ROOM) + 1) < 0)
		return -ENOMEM;
	while (in->len < len) {
		ssize_t n =
			read(maker->socket, in->data + in->len, max(len, (size_t)ROOM) - in->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ended(maker, err);
		in->len += (size_t)n;
	}
	return 0;
}

static int next_message(struct maker *maker, struct message *ret, struct err *err)
{
	int r = receive(maker, HEAD, err);
	uint32_t len;

	if (r < 0)
		return r;
	len = le_get32(maker->in.data + maker->taken + 1);
	if (len > MESSAGE_MOST)
		return message_broken(err);
	r = receive(maker, HEAD + len, err);
	if (r < 0)
		return r;
	ret->letter = maker->in.data[maker->taken];
	ret->at = maker->in.data + maker->taken + HEAD;
	ret->end = ret->at + len;
	maker->taken += HEAD + len;
	return len && ret->end[-1] ? message_broken(err) : 0;
}

/* What it does not take, as it has ended, the next message says. */
static int answer(struct maker *maker, const void *bytes, size_t len)
{
	uint8_t head[4];
	struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)bytes, len}},
		     *left = parts;
	int count = 2;

	le_put32(head, (uint32_t)len);
	while (count) {
		const struct msghdr all = {.msg_iov = left, .msg_iovlen = (size_t)count};
		ssize_t n = sendmsg(maker->socket, &all, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
		if (n > 0)
			io_skip(&left, &count, (size_t)n);
	}
	return 0;
}

/* --- questions -------------------------------------------------------------------------------- */

static int give_bytes(struct maker *maker, struct message *message, struct err *err)
{
	const struct foreign_watch *watch = maker->source->settings->watch;
	struct foreign_source *of = message->letter == 'S' ? &maker->unpacked : maker->source;
	const uint8_t *bytes;
	uint64_t offset, len;
	size_t found;
	int r = watch ? watch->tick(watch->context) : 0;

	if (r < 0)
		return r;
	if (!message_number(message, &offset) || !message_number(message, &len))
		return message_broken(err);
	r = maker_pages_look(message_field(message) ? &maker->pages : NULL, of, offset, len, &bytes,
			     &found);
	return r < 0 ? r : answer(maker, bytes, found);
}

static int give_sizes(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf sizes = BUF_INIT;
	uint64_t offset, len, count;
	int r;

	if (!message_number(message, &offset) || !message_number(message, &len) ||
	    !message_number(message, &count) || count > FOREIGN_MOST / 4)
		return message_broken(err);
	r = maker_pages_sizes(message_field(message) ? &maker->pages : NULL, maker->source, offset,
			      len, count, &sizes);
	return r < 0 ? r : answer(maker, sizes.data, sizes.len);
}

static int take_page(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf bytes = BUF_INIT;
	struct maker_page page;
	int r;

	if (!message_number(message, &page.record) || !message_number(message, &page.codec) ||
	    !message_number(message, &page.offset) || !message_number(message, &page.packed) ||
	    !message_number(message, &page.unpacked))
		return message_broken(err);
	if (message->letter == 'K')
		return maker_pages_hold(&maker->pages, &page, maker->source, err);
	r = maker_page_unpack(&page, maker->source, &bytes, err);
	return r < 0 ? r : answer(maker, bytes.data, bytes.len);
}

static int note_wanted(struct maker *maker, struct message *message, struct err *err)
{
	uint64_t offset, len;

	if (!message_number(message, &offset) || !message_number(message, &len))
		return message_broken(err);
	foreign_will_get(maker->source, offset, (size_t)min(len, (uint64_t)FOREIGN_MOST));
	return 0;
}

/* What is there is told from what is empty. */
static int give_beside(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	const char *end = message_field(message);
	struct err why = {0};
	int r;

	if (!end)
		return message_broken(err);
	r = buf_add(&text, "+", 1);
	if (r == 0)
		r = foreign_read_beside(maker->source, end, &text, &why);
	if (r == -ENOENT || (r < 0 && r != -ENOMEM && message_field(message)))
		return answer(maker, "", 0);
	return r < 0 ? err_set(err, r, "%s", err_text(&why, r))
		     : answer(maker, text.data, text.len);
}

/* --- records of an LMDB ----------------------------------------------------------------------- */

static int give_records(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf out = BUF_INIT;
	uint64_t count;
	int r;

	if (!maker->source->walker || !message_number(message, &count))
		return message_broken(err);
	r = records_next(maker->source, message_field(message), count, &out, err);
	return r < 0 ? r : answer(maker, out.data, out.len);
}

/* The ends of values, or asks for them ahead. */
static int give_ends(struct maker *maker, struct message *message, struct err *err)
{
	struct foreign_source *source = maker->source;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	struct records_ends ends;
	uint64_t offset, size;
	int r = 0;

	if (!message_number(message, &ends.head) || !message_number(message, &ends.tail))
		return message_broken(err);
	while (r == 0 && message->at < message->end) {
		if (!message_number(message, &offset) || !message_number(message, &size) ||
		    offset > source->size || size > source->size - offset || out.len > FOREIGN_MOST)
			return message_broken(err);
		if (message->letter == 'a')
			records_ask_for(source, &ends, offset, size);
		else
			r = records_read(source, &ends, offset, size, &out, err);
	}
	return r < 0 || message->letter == 'a' ? r : answer(maker, out.data, out.len);
}

/* --- unpacking -------------------------------------------------------------------------------- */

static bool take_part(struct maker *maker, struct message *message,
		      struct foreign_source **ret_source, struct foreign_compressed *ret)
{
	uint64_t inner, method, ends, crc;
	struct foreign_source *source;

	if (!message_number(message, &ret->offset) || !message_number(message, &ret->len) ||
	    !message_number(message, &inner) || !message_number(message, &method) ||
	    !message_number(message, &ends) || !message_number(message, &ret->size) ||
	    !message_number(message, &crc))
		return false;
	source = *ret_source = inner ? &maker->unpacked : maker->source;
	ret->reader = source->reader;
	ret->method = (unsigned)method;
	ret->ends = ends;
	ret->crc = (uint32_t)crc;
	return source->reader && ret->offset <= source->size &&
	       ret->len <= source->size - ret->offset;
}

static bool is_compressed(struct foreign_source *source, const struct foreign_compressed *from)
{
	const uint8_t *head;
	size_t len;

	return foreign_peek(source, from->offset, KNOWN_HEAD, &head, &len) == 0 &&
	       compression_of(head, min(len, from->len));
}

/* Of a spool that has grown. */
static int look_at(struct foreign_source *unpacked, struct reader *spool)
{
	int r;

	window_release(&unpacked->window);
	r = window_init(&unpacked->window, spool);
	unpacked->reader = spool;
	unpacked->size = unpacked->window.size;
	return r;
}

static int unpack_part(struct maker *maker, struct message *message, struct reader **spool,
		       struct err *err)
{
	const struct foreign_watch *watch = maker->source->settings->watch;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	struct foreign_compressed from = {0};
	struct foreign_source *source;
	struct err why = {0};
	uint64_t start, len;
	int r;

	if (!watch || !watch->unpack || !take_part(maker, message, &source, &from))
		return message_broken(err);
	r = from.method || is_compressed(source, &from)
		    ? watch->unpack(watch->context, &from, spool, &start, &len, &why)
		    : -EBADMSG;
	if (r == 0)
		r = look_at(&maker->unpacked, *spool);
	r = r < 0 ? message_answer_failure(r, &why, &out)
		  : buf_addf(&out, "%c%" PRIu64 "%c%" PRIu64 "%c", 0, start, 0, len, 0);
	return r < 0 ? r : answer(maker, out.data, out.len);
}

/* --- a scan ----------------------------------------------------------------------------------- */

static int give_paths(struct maker *maker, struct message *message, const struct foreign_tree *tree,
		      struct err *err)
{
	SCOPE(buf_release) struct buf out = BUF_INIT;
	uint64_t first, count, all = tree_count(tree);
	int r = 0;

	if (!message_number(message, &first) || !message_number(message, &count) || first > all ||
	    count > all - first)
		return message_broken(err);
	for (uint64_t i = first; r == 0 && i < first + count; i++) {
		struct foreign_text path = foreign_tree_path(tree, i);

		buf_add(&out, path.data, path.len);
		r = buf_add(&out, "", 1);
	}
	return r < 0 ? r : answer(maker, out.data, out.len);
}

/* Does what messages ask for, up to one of these letters. */
static int serve(struct maker *maker, const char *until, struct foreign_tree *tree,
		 struct message *ret, struct err *err)
{
	int r;

	while ((r = next_message(maker, ret, err)) == 0 && !strchr(until, ret->letter)) {
		switch (ret->letter) {
		case 'R':
		case 'S':
			r = give_bytes(maker, ret, err);
			break;
		case 'W':
			r = note_wanted(maker, ret, err);
			break;
		case 'V':
			r = give_sizes(maker, ret, err);
			break;
		case 'x':
		case 'K':
			r = take_page(maker, ret, err);
			break;
		case 'B':
			r = give_beside(maker, ret, err);
			break;
		case 'Q':
			r = tree ? unpack_part(maker, ret, &tree->unpacked, err)
				 : message_broken(err);
			break;
		case 'k':
			r = give_records(maker, ret, err);
			break;
		case 'a':
		case 'v':
			r = give_ends(maker, ret, err);
			break;
		case 'E':
			r = message_fail(ret, err);
			break;
		case 'y':
			r = tree ? give_paths(maker, ret, tree, err) : message_broken(err);
			break;
		default:
			r = tree ? message_take(ret, &maker->pages, tree, err)
				 : message_broken(err);
		}
		if (r < 0)
			return r;
	}
	return r;
}

int maker_scan(struct maker *maker, struct foreign_tree *tree, struct err *err)
{
	struct message message;
	int r = answer(maker, "far", maker->source->window.far ? strlen("far") : 0);

	if (r == 0)
		r = serve(maker, "D", tree, &message, err);
	maker->rests = r == 0;
	return r;
}

static int take_format(struct maker *maker, struct message *message, struct err *err)
{
	const char *name = message_field(message);
	uint64_t archive, streamed, takes;

	if (!name || !message_number(message, &archive) || !message_number(message, &streamed) ||
	    !message_number(message, &takes))
		return message_broken(err);
	maker->format = (struct maker_format){
		.archive = archive, .streamed = streamed, .takes = (unsigned)takes};
	snprintf(maker->format.name, sizeof(maker->format.name), "%s", name);
	return 0;
}

/* --- beginning -------------------------------------------------------------------------------- */

static int tell(struct maker *maker)
{
	const struct foreign_source *source = maker->source;
	const struct foreign_settings *settings = source->settings;
	const struct {
		const char *name, *text;
	} options[] = {{"shown", source->shown},
		       {"layout", foreign_layout_names[settings->layout]},
		       {"schema", settings->schema},
		       {"image_key", settings->image_key},
		       {"label_key", settings->label_key},
		       {"name_key", settings->name_key}};
	const struct foreign_watch *watch = settings->watch;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	int r = buf_addf(&out, "path=%s%csize=%" PRIu64 "%clmdb=%d%cclasses=%d%cnames=%d%c",
			 source->path, 0, source->size, 0, source->walker != NULL, 0,
			 settings->classes != NULL, 0, settings->names != NULL, 0);

	if (r == 0)
		r = buf_addf(&out, "strip=%u%cwatch=%d%cunpacks=%d%c", settings->strip, 0,
			     watch != NULL, 0, watch && watch->unpack, 0);
	for (size_t i = 0; r == 0 && i < sizeof(options) / sizeof(*options); i++)
		r = buf_addf(&out, "%s=%s%c", options[i].name,
			     options[i].text ? options[i].text : "", 0);
	return r < 0 ? r : answer(maker, out.data, out.len);
}

static int start_maker(struct maker **ret, struct err *err)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	int r;

	if (!maker)
		return -ENOMEM;
	maker->socket = -1;
	r = buf_reserve(&maker->in, ROOM);
	if (r == 0)
		r = maker_start(&maker->process, &maker->socket, err);
	if (r < 0)
		end_maker(maker);
	else
		*ret = maker;
	return r;
}

int maker_begin(struct foreign_source *source, struct maker **ret, struct err *err)
{
	struct makers *makers = source->settings->makers;
	struct maker *maker = makers ? take_resting(makers, most_busy(source)) : NULL;
	struct message message;
	int r = maker ? 0 : start_maker(&maker, err);

	if (r < 0 && makers)
		let_rest(makers, NULL);
	if (r < 0)
		return r;
	maker->source = source;
	maker->format = (struct maker_format){0};
	maker->rests = false;
	window_release(&maker->unpacked.window);
	maker->unpacked = (struct foreign_source){0};
	r = tell(maker);
	if (r == 0)
		r = serve(maker, "IU", NULL, &message, err);
	if (r == 0 && message.letter == 'I')
		r = take_format(maker, &message, err);
	else if (r == 0) {
		maker->rests = true;
		r = -ENOMSG;
	}
	if (r < 0)
		maker_free(maker);
	else
		*ret = maker;
	return r;
}
