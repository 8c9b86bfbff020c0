#include "pack/foreign/maker.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/maker_process.h"
#include "pack/foreign/tree_internal.h"
#include "pack/foreign/unsupported.h"
#include <inttypes.h>
#include <string.h>

#define RECORDS_MOST 4096 /* at once */
#define RECORD_HEAD  16	  /* bytes that tell what a value is */

struct maker {
	struct foreign_source *source;
	struct maker_format format;
	struct maker_process *process;
	bool waits;			/* it is done, and takes the next file */
	struct foreign_source unpacked; /* over the tree's `unpacked`, if it has that */
	struct held_page page;
};

void maker_free(struct maker *maker)
{
	if (!maker)
		return;
	maker_process_give(maker->source->settings->makers, maker->process, maker->waits);
	window_release(&maker->unpacked.window);
	buf_release(&maker->page.bytes);
	buf_release(&maker->page.pieces);
	free(maker);
}

const struct maker_format *maker_format(const struct maker *maker)
{
	return &maker->format;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* As many of them as there are: of the page that is held, or as foreign_peek(). */
static int look(const struct maker *maker, bool held, struct foreign_source *source,
		uint64_t offset, uint64_t len, const uint8_t **ret, size_t *ret_len)
{
	const struct buf *page = &maker->page.bytes;

	if (!held)
		return foreign_peek(source, offset, (size_t)min(len, FOREIGN_MOST), ret, ret_len);
	offset = min(offset, page->len);
	*ret = (const uint8_t *)page->data + offset;
	*ret_len = (size_t)min(len, page->len - offset);
	return 0;
}

static int give_bytes(struct maker *maker, struct message *message)
{
	const struct foreign_watch *watch = maker->source->settings->watch;
	struct foreign_source *of = message->letter == 'S' ? &maker->unpacked : maker->source;
	const uint8_t *bytes;
	uint64_t offset, len;
	size_t found;
	int r = watch ? watch->tick(watch->context) : 0;

	if (r < 0)
		return r;
	if (!message_numbers(message, &offset, &len, NULL))
		return MAKES_NO_SENSE;
	r = look(maker, message_field(message), of, offset, len, &bytes, &found);
	return r < 0 ? r : maker_process_answer(maker->process, bytes, found);
}

/* The sizes, in 32 bits, of up to `count` values in these bytes, which follow each other, each
 * behind its size: fewer where one is cut off. */
static int give_sizes(struct maker *maker, struct message *message)
{
	SCOPE(buf_release) struct buf sizes = BUF_INIT;
	uint64_t offset, len, count, step = 0;
	bool held;
	int r = 0;

	if (!message_numbers(message, &offset, &len, &count, NULL) || count > FOREIGN_MOST / 4)
		return MAKES_NO_SENSE;
	held = message_field(message);
	for (; r == 0 && count > 0 && step <= len; count--) {
		const uint8_t *bytes;
		size_t found;

		offset += step;
		len -= step;
		r = look(maker, held, maker->source, offset, min(len, 4), &bytes, &found);
		if (r < 0 || found < 4)
			break;
		step = 4 + (uint64_t)le_get32(bytes);
		r = buf_add(&sizes, bytes, 4);
	}
	return r < 0 ? r : maker_process_answer(maker->process, sizes.data, sizes.len);
}

/* What is there is told from what is empty. */
static int give_beside(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	const char *end = message_field(message);
	struct err why = {0};
	int r;

	if (!end)
		return MAKES_NO_SENSE;
	r = buf_add(&text, "+", 1);
	if (r == 0)
		r = foreign_read_beside(maker->source, end, &text, &why);
	if (r == -ENOENT || (r < 0 && r != -ENOMEM && message_field(message)))
		return maker_process_answer(maker->process, "", 0);
	return r < 0 ? err_set(err, r, "%s", err_text(&why, r))
		     : maker_process_answer(maker->process, text.data, text.len);
}

/* --- compressed pages ------------------------------------------------------------------------- */

/* The codec is a number of Parquet. */
static int unpack_page(struct foreign_source *source, enum codec codec, uint64_t packed,
		       uint64_t unpacked, struct held_page *ret, struct err *err)
{
	const uint8_t *bytes;
	int r;

	if (unpacked > FOREIGN_MOST)
		return err_set(err, -EOPNOTSUPP,
			       "a compressed page of over 64 MiB: smaller row groups have "
			       "smaller pages");
	r = foreign_get(source, ret->place.offset, packed, &bytes, err);
	if (r == 0)
		r = buf_reserve(&ret->bytes, unpacked + 1);
	if (r == 0 && unpacked)
		r = codec_unpack(codec, bytes, packed, ret->bytes.data, unpacked, err);
	if (r == 0)
		r = codec_split(codec, bytes, packed, unpacked, &ret->pieces);
	if (r < 0)
		return r;
	ret->bytes.len = ret->place.size = unpacked;
	ret->place.pieces = BUF_ITEMS(&ret->pieces, const struct codec_piece);
	ret->place.count = BUF_COUNT(&ret->pieces, struct codec_piece);
	return 0;
}

static int hold_page(struct maker *maker, struct message *message, struct err *err)
{
	struct held_page *page = &maker->page;
	uint64_t record, codec, packed, unpacked;
	int r;

	page->bytes.len = page->pieces.len = 0;
	page->place = (struct foreign_packed){0};
	if (!message_numbers(message, &record, &codec, &page->place.offset, &packed, &unpacked,
			     NULL))
		return MAKES_NO_SENSE;
	r = unpack_page(maker->source, (enum codec)codec, packed, unpacked, page, err);
	return r < 0 ? err_set(err, r == -EOPNOTSUPP ? -ENOPKG : r, "record %" PRIu64 ": %s",
			       record, err_text(err, r))
		     : 0;
}

/* --- records of an LMDB ----------------------------------------------------------------------- */

/* The next ones of the walk; or those from a key on, or from the smallest one on where the key is
 * empty. At the end, none. */
static int give_records(struct maker *maker, struct message *message, struct err *err)
{
	SCOPE(buf_release) struct buf out = BUF_INIT;
	struct walker *walker = maker->source->walker;
	struct walker_record record;
	uint8_t numbers[20];
	const char *key;
	uint64_t count;
	int r;

	if (!walker || !message_numbers(message, &count, NULL))
		return MAKES_NO_SENSE;
	key = message_field(message);
	if (!key)
		r = walker_next(walker, &record, err);
	else if (*key)
		r = walker_seek(walker, key, strlen(key), &record, err);
	else
		r = walker_first(walker, &record, err);
	for (uint64_t i = 1; r == 0; i++) {
		/* u16 length of the key, u16 of the head, u64 offset of the value, u64 its size;
		 * the key; the head: of a value that is in memory, the bytes that tell what it is.
		 */
		size_t head = record.value ? (size_t)min(record.size, RECORD_HEAD) : 0;

		le_put16(numbers, (uint16_t)record.key_len);
		le_put16(numbers + 2, (uint16_t)head);
		le_put64(numbers + 4, record.offset);
		le_put64(numbers + 12, record.size);
		buf_add(&out, numbers, sizeof(numbers));
		buf_add(&out, record.key, record.key_len);
		r = buf_add(&out, record.value ? record.value : numbers, head);
		if (r < 0 || i >= min(count, RECORDS_MOST))
			break;
		r = walker_next(walker, &record, err);
	}
	return r < 0 ? foreign_check_named(maker->source, r, err)
		     : maker_process_answer(maker->process, out.data, out.len);
}

static int add_bytes(struct foreign_source *source, uint64_t offset, uint64_t len, struct buf *out,
		     struct err *err)
{
	const uint8_t *bytes;
	int r = foreign_get(source, offset, (size_t)len, &bytes, err);

	return r < 0 ? r : buf_add(out, bytes, (size_t)len);
}

/* The ends of values, or asks for them ahead. */
static int give_ends(struct maker *maker, struct message *message, struct err *err)
{
	struct foreign_source *source = maker->source;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	uint64_t most_head, most_tail, offset, size;
	bool ahead = message->letter == 'a';
	int r = 0;

	if (!message_numbers(message, &most_head, &most_tail, NULL))
		return MAKES_NO_SENSE;
	while (r == 0 && message->at < message->end) {
		uint64_t head, tail, at;

		if (!message_numbers(message, &offset, &size, NULL) || offset > source->size ||
		    size > source->size - offset || out.len > FOREIGN_MOST)
			return MAKES_NO_SENSE;
		head = min(most_head, size);
		tail = min(most_tail, size - head);
		at = offset + size - tail;
		if (!ahead) {
			r = add_bytes(source, offset, head, &out, err);
			if (r == 0)
				r = add_bytes(source, at, tail, &out, err);
		} else if (source->window.remote) {
			window_will_get(&source->window, offset, (size_t)head);
			window_will_get(&source->window, at, (size_t)tail);
		} else {
			/* A disk reads the head of the next value with the tail of this one. */
			window_will_get(&source->window, at, (size_t)(tail + most_head));
		}
	}
	return r < 0 || ahead ? r : maker_process_answer(maker->process, out.data, out.len);
}

/* --- unpacking -------------------------------------------------------------------------------- */

static bool take_part(struct maker *maker, struct message *message, struct foreign_compressed *ret)
{
	uint64_t inner, method, ends, crc;
	struct foreign_source *source;
	const uint8_t *head;
	size_t len;

	if (!message_numbers(message, &ret->offset, &ret->len, &inner, &method, &ends, &ret->size,
			     &crc, NULL))
		return false;
	source = inner ? &maker->unpacked : maker->source;
	ret->reader = source->reader;
	ret->method = (unsigned)method;
	ret->ends = ends;
	ret->crc = (uint32_t)crc;
	if (!source->reader || ret->offset > source->size || ret->len > source->size - ret->offset)
		return false;
	if (!method && (foreign_peek(source, ret->offset, UNSUPPORTED_HEAD, &head, &len) < 0 ||
			!compression_of(head, min(len, ret->len))))
		ret->reader = NULL; /* not compressed */
	return true;
}

static int unpack_part(struct maker *maker, struct message *message, struct reader **spool)
{
	const struct foreign_watch *watch = maker->source->settings->watch;
	struct foreign_source *unpacked = &maker->unpacked;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	struct foreign_compressed from = {0};
	struct err why = {0};
	uint64_t start, len;
	int r = -EBADMSG;

	if (!watch || !watch->unpack || !take_part(maker, message, &from))
		return MAKES_NO_SENSE;
	if (from.reader)
		r = watch->unpack(watch->context, &from, spool, &start, &len, &why);
	if (r == 0) { /* the spool has grown */
		window_release(&unpacked->window);
		r = window_init(&unpacked->window, *spool);
		unpacked->reader = *spool;
		unpacked->size = unpacked->window.size;
	}
	r = r < 0 ? message_answer_failure(r, &why, &out)
		  : buf_addf(&out, "%c%" PRIu64 "%c%" PRIu64 "%c", 0, start, 0, len, 0);
	return r < 0 ? r : maker_process_answer(maker->process, out.data, out.len);
}

/* --- a scan ----------------------------------------------------------------------------------- */

static int do_as_asked(struct maker *maker, struct message *message, struct foreign_tree *tree,
		       struct err *err)
{
	SCOPE(buf_release) struct buf paths = BUF_INIT;
	uint64_t offset, len, first, count;

	switch (message->letter) {
	case 'R':
	case 'S':
		return give_bytes(maker, message);
	case 'W':
		if (!message_numbers(message, &offset, &len, NULL))
			return MAKES_NO_SENSE;
		window_will_get(&maker->source->window, offset, (size_t)min(len, FOREIGN_MOST));
		return 0;
	case 'V':
		return give_sizes(maker, message);
	case 'K':
		return hold_page(maker, message, err);
	case 'B':
		return give_beside(maker, message, err);
	case 'k':
		return give_records(maker, message, err);
	case 'a':
	case 'v':
		return give_ends(maker, message, err);
	case 'E':
		return message_fail(message, err);
	default:
		break;
	}
	if (!tree)
		return MAKES_NO_SENSE;
	if (message->letter == 'Q')
		return unpack_part(maker, message, &tree->unpacked);
	if (message->letter != 'y')
		return message_take(message, &maker->page, tree, err);
	if (!message_numbers(message, &first, &count, NULL) || first > tree_count(tree) ||
	    count > tree_count(tree) - first)
		return MAKES_NO_SENSE;
	for (uint64_t i = first; i < first + count; i++) {
		struct foreign_text path = foreign_tree_path(tree, i);

		buf_add(&paths, path.data, path.len);
		buf_add(&paths, "", 1);
	}
	return paths.failed ? -ENOMEM : maker_process_answer(maker->process, paths.data, paths.len);
}

/* Does what messages ask for, up to one of these letters. */
static int serve(struct maker *maker, const char *until, struct foreign_tree *tree,
		 struct message *ret, struct err *err)
{
	int r;

	while ((r = maker_process_hear(maker->process, ret, err)) == 0 &&
	       !strchr(until, ret->letter)) {
		r = do_as_asked(maker, ret, tree, err);
		if (r < 0)
			return r == MAKES_NO_SENSE ? message_broken(err) : r;
	}
	return r;
}

int maker_scan(struct maker *maker, struct foreign_tree *tree, struct err *err)
{
	struct message message;
	int r = maker_process_answer(maker->process, "far",
				     maker->source->window.remote ? strlen("far") : 0);

	if (r == 0)
		r = serve(maker, "D", tree, &message, err);
	maker->waits = r == 0;
	return r;
}

/* --- beginning -------------------------------------------------------------------------------- */

static int tell(struct maker *maker)
{
	const struct foreign_source *source = maker->source;
	const struct foreign_settings *settings = source->settings;
	const struct {
		const char *name, *text;
	} options[] = {{"path", source->path},
		       {"shown", source->shown},
		       {"layout", foreign_layout_names[settings->layout]},
		       {"schema", settings->schema},
		       {"image_key", settings->image_key},
		       {"label_key", settings->label_key},
		       {"name_key", settings->name_key}};
	const struct foreign_watch *watch = settings->watch;
	SCOPE(buf_release) struct buf out = BUF_INIT;
	int r = buf_addf(&out,
			 "size=%" PRIu64
			 "%clmdb=%d%cclasses=%d%cnames=%d%cstrip=%u%cwatch=%d%c"
			 "unpacks=%d%c",
			 source->size, 0, source->walker != NULL, 0, settings->classes != NULL, 0,
			 settings->names || foreign_numbers_files(settings), 0, settings->strip, 0,
			 watch != NULL, 0, watch && watch->unpack, 0);

	for (size_t i = 0; r == 0 && i < sizeof(options) / sizeof(*options); i++)
		r = buf_addf(&out, "%s=%s%c", options[i].name,
			     options[i].text ? options[i].text : "", 0);
	return r < 0 ? r : maker_process_answer(maker->process, out.data, out.len);
}

int maker_begin(struct foreign_source *source, struct maker **ret, struct err *err)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	uint64_t archive, streamed, takes;
	struct message message;
	const char *name;
	int r;

	if (!maker)
		return -ENOMEM;
	maker->source = source;
	r = maker_process_take(source->settings->makers, source->window.remote, &maker->process,
			       err);
	if (r < 0) {
		free(maker);
		return r;
	}
	r = tell(maker);
	if (r == 0)
		r = serve(maker, "IU", NULL, &message, err);
	if (r == 0 && message.letter == 'U') {
		maker->waits = true;
		r = -ENOMSG;
	} else if (r == 0) {
		name = message_field(&message);
		if (name && message_numbers(&message, &archive, &streamed, &takes, NULL)) {
			maker->format = (struct maker_format){
				.archive = archive, .streamed = streamed, .takes = (unsigned)takes};
			snprintf(maker->format.name, sizeof(maker->format.name), "%s", name);
		} else {
			r = message_broken(err);
		}
	}
	if (r < 0)
		maker_free(maker);
	else
		*ret = maker;
	return r;
}
