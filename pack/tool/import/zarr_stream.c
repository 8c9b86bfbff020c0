#include "pack/tool/import/zarr_stream.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/source.h"
#include "pack/tool/import/zarr_labels.h"
#include "pack/tool/import/zarr_path.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct zarr_stream {
	int root;
	bool has_classes; /* they have names */
	struct name_tree *names;
	struct buf found;		 /* struct zarr_found */
	size_t next;			 /* of these */
	const struct zarr_found *images; /* the current one */
	struct zarr_labels labels;
	struct buf chunks; /* uint64_t: numbers of the images */
	size_t at;	   /* the next of these */
	struct zarr_image image;
	struct buf chunk, path; /* of the chunk, below the root; of the image */
};

/* --- arrays ----------------------------------------------------------------------------------- */

/* Zarr leaves out chunks that hold the fill value alone. */
static int note_missing(struct zarr_stream *stream)
{
	const struct zarr_array *array = &stream->images->array;
	uint64_t count = 1, there = BUF_COUNT(&stream->chunks, uint64_t);

	for (unsigned i = 0; i < array->rank; i++)
		count *= zarr_chunks_along(array, i);
	if (there == count)
		return 0;
	return foreign_tree_note(name_tree_of(stream->names),
				 "'%s' lacks %" PRIu64 " of its %" PRIu64 " chunks",
				 zarr_shown(stream->images), count - there, count);
}

static int begin_array(struct zarr_stream *stream, const struct zarr_found *images)
{
	SCOPE_CLOSE int folder =
		openat(stream->root, zarr_shown(images), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = folder < 0 ? -errno : 0;

	stream->images = images;
	stream->at = stream->chunks.len = 0;
	zarr_labels_release(&stream->labels);
	stream->labels = (struct zarr_labels){
		.root = stream->root, .images = images, .named = stream->has_classes};
	if (r == 0)
		r = zarr_chunks_list(folder, &images->array, &stream->chunks);
	return r < 0 ? r : note_missing(stream);
}

/* Goes on to the next array of images. Returns 0, 1 where there is none, or a failure. */
static int next_array(struct zarr_stream *stream, struct err *err)
{
	const struct zarr_found *all = BUF_ITEMS(&stream->found, const struct zarr_found);
	size_t count = BUF_COUNT(&stream->found, *all);
	const struct zarr_found *images;
	int r;

	while (stream->next < count && all[stream->next].array.chunks != ZARR_IMAGE)
		stream->next++;
	if (stream->next == count)
		return 1;
	images = &all[stream->next++];
	r = begin_array(stream, images);
	return r < 0 ? err_set(err, r, "%s: %s", zarr_shown(images), strerror(-r)) : 0;
}

/* --- images ----------------------------------------------------------------------------------- */

static int give_chunk(struct zarr_stream *stream, uint64_t number, struct tar_entry *ret,
		      struct err *err)
{
	const struct zarr_found *images = stream->images;
	const struct zarr_image *image = &stream->image;
	const char *wrong;
	int64_t label;
	int r = zarr_chunk_path(images->path, &images->array, number, &stream->chunk);

	if (r < 0)
		return r;
	wrong = zarr_image_open(stream->root, &images->array, stream->chunk.data, &stream->image);
	*ret = (struct tar_entry){.kind = TAR_UNFIT, .path = stream->chunk.data, .target = wrong};
	if (wrong)
		return 0;
	r = zarr_label(&stream->labels, number, &label, err);
	if (r == 0)
		r = zarr_path(stream->names, images, number, label, image->suffix, &stream->path,
			      err);
	*ret = (struct tar_entry){.kind = TAR_FILE,
				  .path = stream->path.data,
				  .target = "",
				  .mode = image->st.st_mode & 0777,
				  .mtime = image->st.st_mtim,
				  .size = image->size};
	return r;
}

int zarr_stream_next(struct zarr_stream *stream, struct tar_entry *ret, struct err *err)
{
	const uint64_t *numbers;
	int r = 0;

	while (r == 0 && stream->at == BUF_COUNT(&stream->chunks, *numbers))
		r = next_array(stream, err);
	if (r == 1)
		foreign_tree_say_notes(name_tree_of(stream->names));
	if (r != 0)
		return r;
	numbers = BUF_ITEMS(&stream->chunks, const uint64_t);
	return give_chunk(stream, numbers[stream->at++], ret, err);
}

int zarr_stream_read(struct zarr_stream *stream, void *buf, size_t len, struct err *err)
{
	struct zarr_image *image = &stream->image;
	int r = io_pread_full(image->fd, buf, len, image->offset);

	image->offset += len;
	if (r == -ENODATA)
		r = -ESTALE;
	else if (r == 0)
		r = io_unchanged(image->fd, &image->st);
	return r < 0 ? err_set(err, r, "%s: %s", stream->chunk.data, source_error_text(r)) : 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static int note_others(struct zarr_stream *stream, const struct zarr_others *others)
{
	if (others->count == 0)
		return 0;
	return foreign_tree_note(
		name_tree_of(stream->names), "left out %zu files, which belong to no array: '%s'%s",
		others->count, others->first.data, others->count > 1 ? " and others" : "");
}

/* Whether there are images; notes the arrays that are neither these nor their labels. */
static int look_at_arrays(struct zarr_stream *stream)
{
	const struct zarr_found *all = (const void *)stream->found.data, *other = NULL;
	size_t others = 0, images = 0;

	for (size_t i = 0; i < BUF_COUNT(&stream->found, *all); i++) {
		bool is_image = all[i].array.chunks == ZARR_IMAGE;

		images += is_image;
		if (is_image || all[i].images)
			continue;
		others++;
		other = other ? other : &all[i];
	}
	if (images == 0)
		return -ENOMSG;
	if (others == 0)
		return 0;
	return foreign_tree_note(name_tree_of(stream->names),
				 "left out %zu arrays, which hold neither images nor a label for "
				 "each: '%s'%s",
				 others, zarr_shown(other), others > 1 ? " and others" : "");
}

int zarr_stream_new(int root, const struct foreign_settings *settings, const char *shown,
		    struct zarr_stream **ret, struct err *err)
{
	SCOPE(zarr_others_release) struct zarr_others others = {0};
	struct zarr_stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return -ENOMEM;
	*stream = (struct zarr_stream){
		.root = root, .has_classes = settings->classes, .image = {.fd = -1}};
	r = zarr_tree_find(root, &stream->found, &others, err);
	if (r == 0)
		r = name_tree_new(settings, shown, &stream->names, err);
	if (r == 0)
		r = look_at_arrays(stream);
	if (r == 0)
		r = note_others(stream, &others);
	if (r < 0)
		zarr_stream_free(stream);
	else
		*ret = stream;
	return r;
}

void zarr_stream_free(struct zarr_stream *stream)
{
	if (!stream)
		return;
	name_tree_free(stream->names);
	zarr_tree_release(&stream->found);
	zarr_labels_release(&stream->labels);
	scope_close(&stream->image.fd);
	buf_release(&stream->chunks);
	buf_release(&stream->chunk);
	buf_release(&stream->path);
	free(stream);
}
