#include "pack/tool/import/sample_stream.h"

#include "base/date.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/archive/webdataset.h"
#include "pack/foreign/name_tree.h"
#include <inttypes.h>
#include <string.h>

#define LABEL_MOST 9999

struct held_image {
	size_t offset, size; /* in `bytes` */
	struct timespec mtime;
	mode_t mode;
};

struct sample_stream {
	const struct foreign_settings *settings;
	struct name_tree *names;
	struct webdataset samples;
	struct tar *tar;
	uint64_t number;	      /* of the next member */
	struct tar_entry entry;	      /* the current one */
	struct archive_member member; /* the same */
	bool waiting;		      /* it was not taken yet */
	bool end;
	struct buf text; /* of the class */

	/* The images of a sample, and how many of these were returned: */
	struct buf images; /* struct held_image */
	struct buf bytes;
	struct buf path;
	size_t ready, given;
	size_t at; /* in `bytes`, what is read next */
};

static struct archive_member member_of(const struct tar_entry *entry, uint64_t number)
{
	static const enum archive_kind kinds[] = {
		[TAR_DIRECTORY] = ARCHIVE_FOLDER, [TAR_FILE] = ARCHIVE_FILE,
		[TAR_SYMLINK] = ARCHIVE_SYMLINK,  [TAR_HARDLINK] = ARCHIVE_HARDLINK,
		[TAR_SPECIAL] = ARCHIVE_DEVICE,	  [TAR_UNFIT] = ARCHIVE_PART,
	};
	enum archive_kind kind = kinds[entry->kind];

	return (struct archive_member){.number = number,
				       .kind = entry->holes ? ARCHIVE_PIPE : kind,
				       .path = {entry->path, strlen(entry->path)},
				       .mode = entry->mode,
				       .mtime = date_of(entry->mtime),
				       .size = entry->size};
}

int sample_stream_look(struct tar *tar)
{
	SCOPE(webdataset_release) struct webdataset first = {0};
	struct tar_entry entry;
	int seen = 0, r = 0;

	for (uint64_t number = 0; seen == 0 && r == 0; number++) {
		struct err err = {0};

		r = tar_next(tar, &entry, &err);
		if (r == 0) {
			struct archive_member member = member_of(&entry, number);

			seen = webdataset_look(&first, &member);
		}
	}
	if (seen != 0)
		return seen < 0 ? seen : seen == WEBDATASET_CLASS;
	return r == -EINTR || r == -ENOMEM ? r : 0;
}

/* --- a sample --------------------------------------------------------------------------------- */

/* The text of a class. */
static int read_text(void *context, const struct archive_member *member, size_t len,
		     const uint8_t **ret, struct err *err)
{
	struct sample_stream *stream = context;
	int r;

	(void)member;
	stream->text.len = 0;
	r = buf_reserve(&stream->text, len + 1);
	if (r == 0)
		r = tar_read(stream->tar, stream->text.data, len, err);
	if (r == 0)
		*ret = (const uint8_t *)stream->text.data;
	return r;
}

/* Reads the current image. */
static int hold_image(struct sample_stream *stream, struct err *err)
{
	const struct tar_entry *entry = &stream->entry;
	const struct held_image image = {.offset = stream->bytes.len,
					 .size = entry->size,
					 .mtime = entry->mtime,
					 .mode = entry->mode};
	char text[SIZE_TEXT];
	int r;

	if (entry->size > SAMPLE_MOST - stream->bytes.len)
		return err_set(err, -EFBIG,
			       "'%.200s': with it its sample is over %s, which are in memory at a "
			       "time; decompress the tar",
			       entry->path, size_format(SAMPLE_MOST, text));
	r = buf_reserve(&stream->bytes, entry->size);
	if (r == 0)
		r = tar_read(stream->tar, stream->bytes.data + stream->bytes.len, entry->size, err);
	if (r < 0)
		return r;
	stream->bytes.len += entry->size;
	return buf_add(&stream->images, &image, sizeof(image));
}

static int end_sample(struct sample_stream *stream, struct err *err)
{
	struct webdataset *samples = &stream->samples;
	int r;

	if (samples->label > LABEL_MOST && !stream->settings->classes && stream->images.len)
		return err_set(err, -EOPNOTSUPP,
			       "'%.*s': the label %" PRId64
			       " has over four digits: name the classes (--classes), or decompress "
			       "the tar",
			       (int)min(samples->key.len, 200), samples->key.data, samples->label);
	r = webdataset_end(samples, err);
	stream->ready = BUF_COUNT(&stream->images, struct held_image);
	return r;
}

static int forget_sample(struct sample_stream *stream)
{
	stream->images.len = stream->bytes.len = 0;
	stream->ready = stream->given = 0;
	return name_tree_forget(stream->names, "");
}

static int next_member(struct sample_stream *stream, struct err *err)
{
	int r = tar_next(stream->tar, &stream->entry, err);

	if (r != 0)
		return r;
	stream->member = member_of(&stream->entry, stream->number++);
	stream->waiting = true;
	return 0;
}

/* Reads on up to the end of a sample. 0 or a failure. */
static int read_sample(struct sample_stream *stream, struct err *err)
{
	int r = 0;

	while (r == 0) {
		if (!stream->waiting)
			r = next_member(stream, err);
		if (r == 1)
			stream->end = true;
		if (r == 0)
			r = webdataset_take(&stream->samples, &stream->member, err);
		else
			return r < 0 ? r : end_sample(stream, err);
		if (r == WEBDATASET_NEXT)
			return end_sample(stream, err);
		stream->waiting = false;
		if (r == WEBDATASET_IMAGE)
			r = hold_image(stream, err);
	}
	return r;
}

/* --- images ----------------------------------------------------------------------------------- */

static int give_image(struct sample_stream *stream, struct tar_entry *ret)
{
	const struct held_image *images = BUF_ITEMS(&stream->images, const struct held_image);
	const struct held_image *image = &images[stream->given];
	struct foreign_text path = foreign_tree_path(name_tree_of(stream->names), stream->given);
	int r;

	stream->given++;
	stream->at = image->offset;
	stream->path.len = 0;
	r = buf_addf(&stream->path, "%.*s", (int)path.len, path.data);
	if (r < 0)
		return r;
	*ret = (struct tar_entry){.kind = TAR_FILE,
				  .path = stream->path.data,
				  .target = "",
				  .mode = image->mode,
				  .mtime = image->mtime,
				  .size = image->size};
	return 0;
}

int sample_stream_next(struct sample_stream *stream, struct tar_entry *ret, struct err *err)
{
	int r = 0;

	while (r == 0 && stream->given == stream->ready) {
		r = forget_sample(stream);
		if (r == 0 && stream->end)
			return 1;
		if (r == 0)
			r = read_sample(stream, err);
	}
	return r < 0 ? r : give_image(stream, ret);
}

void sample_stream_read(struct sample_stream *stream, void *buf, size_t len)
{
	if (len)
		memcpy(buf, stream->bytes.data + stream->at, len);
	stream->at += len;
}

void sample_stream_say(struct sample_stream *stream)
{
	if (webdataset_note(&stream->samples) == 0)
		foreign_tree_say_notes(name_tree_of(stream->names));
}

/* --- life ------------------------------------------------------------------------------------- */

int sample_stream_new(const struct foreign_settings *settings, const char *shown,
		      struct sample_stream **ret, struct err *err)
{
	struct sample_stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return -ENOMEM;
	stream->settings = settings;
	r = name_tree_new(settings, shown, &stream->names, err);
	if (r < 0) {
		sample_stream_free(stream);
		return r;
	}
	stream->samples = (struct webdataset){.tree = name_tree_of(stream->names),
					      .read = read_text,
					      .context = stream,
					      .label = FOREIGN_NO_LABEL};
	*ret = stream;
	return 0;
}

void sample_stream_begin(struct sample_stream *stream, struct tar *tar)
{
	stream->tar = tar;
	stream->number = 0;
	stream->waiting = stream->end = false;
}

void sample_stream_free(struct sample_stream *stream)
{
	if (!stream)
		return;
	webdataset_release(&stream->samples);
	name_tree_free(stream->names);
	buf_release(&stream->text);
	buf_release(&stream->images);
	buf_release(&stream->bytes);
	buf_release(&stream->path);
	free(stream);
}
