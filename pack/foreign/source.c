#include "pack/foreign/source.h"
#include "base/io.h"
#include "base/math.h"
#include "base/name.h"
#include "base/notices.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MOST (256 * MIB)

void foreign_say_notes(const struct foreign_settings *settings, struct notices *notes)
{
	if (settings->notices)
		notices_move(notes, settings->notices);
	else if (settings->notice)
		notices_say(notes, settings->notice);
}

void foreign_say(const struct foreign_settings *settings, const char *shown, const char *text)
{
	SCOPE(notices_release) struct notices one = NOTICES_INIT;

	notices_add(&one, shown, &(struct notice){.text = text});
	foreign_say_notes(settings, &one);
}

int foreign_source_init(struct foreign_source *source, struct reader *reader, const char *name,
			bool decompressed, const struct foreign_settings *settings, struct err *err)
{
	static const char *const suffixes[] = {".gz", ".zst", ".xz", ".bz2", ".lz4", NULL};
	struct walker_record first;
	struct err why = {0};
	char more, *dot;
	int r;

	*source = (struct foreign_source){
		.reader = reader, .settings = settings, .place = reader->place};
	r = reader_identity(reader, &source->opened);
	if (r == 0)
		r = window_init(&source->window, reader);
	/* What is left out of a file that has more could be whole records. */
	if (r == 0 && !source->window.remote &&
	    reader_get(reader, &more, 1, source->window.size) > 0)
		r = err_set(err, -EOVERFLOW, IO_HAS_MORE);
	if (r < 0)
		return r;
	source->decompressed = decompressed;
	source->in_memory = decompressed || (source->window.remote && !source->opened.object);
	source->size = source->window.size;
	source->path = name_scheme(name) ? NULL : realpath(name, NULL);
	if (!source->path)
		source->path = strndup(name, name_query(name));
	source->query = strdup(name + name_query(name));
	source->shown = name_shown(name);
	if (!source->path || !source->query || !source->shown)
		return -ENOMEM;
	dot = decompressed ? strrchr(source->path, '.') : NULL;
	for (const char *const *suffix = suffixes; dot && *suffix; suffix++)
		if (strcasecmp(dot, *suffix) == 0)
			*dot = '\0';
	r = walker_new(source->reader, &source->walker, &why);
	if (r == -EINVAL)
		return 0;
	if (r == 0)
		r = walker_first(source->walker, &first, &why);
	return r < 0 ? foreign_check_named(source, err_set(err, r, "%s", err_text(&why, r)), err)
		     : 0;
}

int foreign_source_move(struct foreign_source *source, struct reader *copy)
{
	int r = reader_identity(copy, &source->opened);

	source->reader = copy;
	source->place = copy->place;
	window_release(&source->window);
	return r < 0 ? r : window_init(&source->window, copy);
}

void foreign_source_release(struct foreign_source *source)
{
	walker_free(source->walker);
	window_release(&source->window);
	buf_release(&source->beside);
	free(source->path);
	free(source->query);
	free(source->shown);
	*source = (struct foreign_source){0};
}

int foreign_check_named(const struct foreign_source *source, int result, struct err *err)
{
	if (result >= 0 || !source->walker || !walker_info(source->walker)->named)
		return result;
	return err_set(err, -EOPNOTSUPP,
		       "an LMDB with databases in it, which have names: only the records of the "
		       "main one are read");
}

int foreign_check_unchanged(const struct foreign_source *source, int result, struct err *err)
{
	struct reader_identity now;

	/* The sentence of a failed read of a URL says more. */
	if (result == -ESTALE || reader_identity(source->reader, &now) < 0 ||
	    reader_identity_same(&now, &source->opened))
		return result;
	return err_set(err, -ESTALE,
		       "changed while it was looked through; try again when nothing writes to it");
}

bool foreign_is_lone(const struct foreign_source *source)
{
	return name_scheme(source->path) > 0 && !source->window.remote && !source->decompressed;
}

/* --- bytes ------------------------------------------------------------------------------------ */

int foreign_peek(struct foreign_source *source, uint64_t offset, size_t len, const uint8_t **ret,
		 size_t *ret_len)
{
	const struct window *window = &source->window;
	int r = 0;

	*ret = (const uint8_t *)"";
	*ret_len = 0;
	if (len == 0 || offset >= source->size || len > FOREIGN_MOST)
		return 0;
	len = (size_t)min(len, source->size - offset);
	if (!window_has(window, offset, len))
		r = window_fill(&source->window, offset, len);
	if (r < 0)
		return r;
	*ret = (const uint8_t *)window->bytes.data + (offset - window->start);
	*ret_len = min(len, window->bytes.len - (size_t)(offset - window->start));
	return 0;
}

int foreign_get(struct foreign_source *source, uint64_t offset, size_t len, const uint8_t **ret,
		struct err *err)
{
	size_t n;
	int r = foreign_peek(source, offset, len, ret, &n);

	if (r == 0 && n < len)
		r = err_set(err, -EBADMSG, "truncated: %llu bytes at %llu, of %llu bytes in all",
			    (unsigned long long)len, (unsigned long long)offset,
			    (unsigned long long)source->size);
	return r;
}

/* --- other files ------------------------------------------------------------------------------ */

int foreign_read_named(struct foreign_source *source, const char *name, struct buf *ret,
		       struct err *err)
{
	const struct foreign_settings *settings = source->settings;
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	SCOPE_FREE char *shown = name_shown(name);
	struct err reason = {0};
	int r = settings->open(settings->context, name, settings->how | READER_WHOLE, &reader,
			       &reason);

	if (r >= 0)
		r = reader_get_all(reader, TEXT_MOST, &text);
	if (r == -EFBIG)
		err_set(&reason, r, "too long for a list of names: over %u MiB",
			(unsigned)(TEXT_MOST / MIB));
	if (r == 0)
		r = buf_add(ret, text.data, text.len);
	return r < 0 ? err_set(err, r, "%s: %s", shown ? shown : "", err_text(&reason, r)) : 0;
}

/* The hash of a file that is not there is 0. */
static int read_beside(struct foreign_source *source, const char *end, struct buf *ret,
		       uint64_t *ret_hash, struct err *err)
{
	const char *slash = strrchr(source->path, '/'), *base = slash ? slash + 1 : source->path;
	const char *dot = strrchr(base, '.');
	bool in_folder = *end == '/';
	size_t keep = in_folder		  ? (size_t)(base - source->path)
		      : dot && dot > base ? (size_t)(dot - source->path)
					  : strlen(source->path);
	SCOPE(buf_release) struct buf name = BUF_INIT;
	size_t begin = ret->len;
	int r = buf_addf(&name, "%.*s%s%s", (int)keep, source->path, end + in_folder,
			 source->query);

	if (r == 0)
		r = foreign_read_named(source, name.data, ret, err);
	*ret_hash = r == 0 ? XXH3_64bits(ret->data + begin, ret->len - begin) : 0;
	return r;
}

int foreign_read_beside(struct foreign_source *source, const char *end, struct buf *ret,
			struct err *err)
{
	uint64_t hash;
	int r = read_beside(source, end, ret, &hash, err);

	if (r < 0 && r != -ENOENT)
		return r;
	return buf_addf(&source->beside, "beside=%s %016" PRIx64 "\n", end, hash) < 0 ? -ENOMEM : r;
}

bool foreign_beside_is(struct foreign_source *source, const char *lines)
{
	bool same = true;

	for (const char *at = lines; same && (at = strstr(at, "\nbeside=")); at++) {
		SCOPE(buf_release) struct buf text = BUF_INIT;
		char end[64];
		uint64_t before, now;
		int r;

		/* Of a folder, none was read. */
		if (!source->settings->open ||
		    sscanf(at, "\nbeside=%63s %" SCNx64, end, &before) != 2)
			return false;
		r = read_beside(source, end, &text, &now, NULL);
		same = (r == 0 || r == -ENOENT) && before == now;
	}
	return same;
}
