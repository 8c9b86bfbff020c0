#include "pack/foreign/foreign.h"
#include "base/buf.h"
#include "base/name.h"
#include "base/notices.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/dataset_open.h"
#include "pack/environment.h"
#include "pack/foreign/checksums.h"
#include "pack/foreign/index_file.h"
#include "pack/foreign/index_place.h"
#include "pack/foreign/index_published.h"
#include "pack/foreign/known.h"
#include "pack/foreign/maker.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define SAY_READS (256 * MIB) /* of a far file */

/* --- which format ----------------------------------------------------------------------------- */

static int find_format(struct foreign_source *source, const struct maker_format **ret,
		       struct err *err)
{
	int r = 0;

	if (!source->maker && !source->settings->schema)
		r = known_tell(source, err);
	if (r == 0 && !source->maker)
		r = maker_begin(source, &source->maker, err);
	if (r == 0)
		*ret = maker_format(source->maker);
	return r;
}

/* --- the index -------------------------------------------------------------------------------- */

/* Whether an index of a far file is kept. */
static bool has_place(const struct foreign_tree *tree)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;

	return index_place_name(tree, INDEX_IN_DISK_CACHE, &name) == 0 ||
	       index_place_name(tree, INDEX_CACHED, &name) == 0;
}

/* What a scan costs that may keep a user waiting, and what would spare it. Whoever reads all of the
 * file anyway needs not know. */
static void say_reads(const struct foreign_tree *tree, const struct maker_format *format)
{
	const struct foreign_source *source = tree->source;
	const struct foreign_settings *settings = source->settings;
	SCOPE(buf_release) struct buf line = BUF_INIT;
	char size[SIZE_TEXT];

	if (!format->streamed || !source->window.far || source->size < SAY_READS ||
	    settings->watch || settings->checking || !settings->notice ||
	    (settings->notices && !notices_first(settings->notices)))
		return;
	if (buf_addf(&line,
		     "%s: to find its images, up to %s are read %s, and as much of each such file; "
		     "an index beside it, by 'foldpack index', spares that",
		     source->shown, size_format(source->size, size),
		     source->in_memory ? "each time"
		     : has_place(tree) ? "once"
				       : "each time, unless '--cache-dir' keeps an index") == 0)
		settings->notice(line.data);
}

/* A key that no record has. */
static int check_keys(const struct foreign_tree *tree, struct err *err)
{
	const struct foreign_settings *settings = tree->source->settings;

	if (settings->label_key && tree->classed == 0)
		return err_set(err, -EINVAL, "--label-key: no record has a label as '%s'",
			       settings->label_key);
	if (settings->name_key && tree->named == 0)
		return err_set(err, -EINVAL, "--name-key: no record has a name as '%s'",
			       settings->name_key);
	return 0;
}

static int make_index(struct foreign_tree *tree, const struct index_key *key, struct reader **ret,
		      struct err *err)
{
	const struct maker_format *format = NULL;
	int r = find_format(tree->source, &format, err);

	if (r == 0)
		r = foreign_settings_check(tree->source->settings, format->takes, format->name,
					   err);
	if (r == 0) {
		say_reads(tree, format);
		r = maker_scan(tree->source->maker, tree, err);
		r = foreign_check_unchanged(tree->source, r, err);
	}
	if (r == 0 && tree->rows.len == 0 && !(tree->source->settings->watch && format->archive))
		r = err_set(err, -ENOENT, "no image in it (%s)", format->name);
	if (r == 0)
		r = check_keys(tree, err);
	if (r == 0 && tree->classed)
		r = foreign_tree_note_count(tree, tree->unlabelled,
					    "%" PRIu64
					    " images have no label, and are in images, which is "
					    "one more class to ImageFolder");
	if (r == 0)
		r = foreign_tree_note_count(tree, tree->odd,
					    "%" PRIu64
					    " records have a label below -1, which is "
					    "taken as none");
	if (r == 0 && tree->merged)
		r = foreign_tree_note(tree,
				      "%" PRIu64
				      " images are in the folder of another class, as "
				      "classes %s are one: a slash becomes _",
				      tree->merged, tree->merged_as);
	if (r == 0)
		r = index_file_write(tree, key, format->name, ret, err);
	if (r == 0)
		foreign_tree_say_notes(tree);
	return r;
}

/* --- the dataset ------------------------------------------------------------------------------ */

static int join_volumes(struct dataset_readers *readers, const struct index_extra *extra,
			struct reader *container, struct pages *pages, struct err *err)
{
	struct reader *volumes[TREE_VOLUMES] = {container};
	unsigned count = 1;
	int r = 0;

	if (extra->made_count) {
		r = made_reader_new(container, extra->made, extra->made_count, pages,
				    &readers->below[1], err);
		volumes[count++] = readers->below[1];
	}
	if (readers->below[2])
		volumes[count++] = readers->below[2];
	if (extra->text)
		volumes[count++] = readers->index;
	return r < 0 ? r : reader_volumes_new(volumes, count, &readers->data);
}

/* Where all files lie in the container, its own reader is enough. A copy in the disk cache is read
 * only if there are checksums, or will be: otherwise nobody would notice damage. */
static int make_readers(struct dataset_readers *readers, const struct index_key *key, bool checking,
			const struct index_extra *extra, struct pages *pages, struct err *err)
{
	struct reader *container = readers->below[0];

	if (checking || extra->full)
		reader_known(container, key->copy, strlen(key->copy));
	else
		container = reader_origin(container);
	if (container != readers->below[0] || extra->text || extra->made_count || readers->below[2])
		return join_volumes(readers, extra, container, pages, err);
	readers->data = readers->below[0];
	readers->below[0] = NULL;
	return 0;
}

static bool is_full(const struct dataset_readers *readers)
{
	SCOPE(index_extra_release) struct index_extra extra = {0};

	return index_extra_read(readers->index, &extra) == 0 && extra.full;
}

static int open_readers(struct dataset_readers *readers, const struct index_key *key, bool checking,
			struct pages *pages, struct dataset **ret, struct err *err)
{
	SCOPE(index_extra_release) struct index_extra extra = {0};
	int r = index_extra_read(readers->index, &extra);

	if (r == 0)
		r = make_readers(readers, key, checking, &extra, pages, err);
	if (r == 0)
		r = dataset_open_index(readers, ret, err);
	if (r || !extra.full)
		return r;
	r = dataset_load(*ret, DATASET_CHECKSUMS, err);
	if (r < 0)
		dataset_close_index(*ret, readers);
	return r;
}

/* What a failure has left. */
static void drop_index(struct dataset_readers *readers)
{
	if (!readers->below[0])
		readers->below[0] = readers->data;
	else
		reader_free(readers->data);
	reader_free(readers->below[1]);
	reader_free(readers->below[2]);
	reader_free(readers->index);
	*readers = (struct dataset_readers){.below = {readers->below[0]}};
}

/* --- checksums -------------------------------------------------------------------------------- */

/* Keeps what was made, so that the next time continues from there. */
static int write_sums(struct foreign_tree *tree, const struct dataset_readers *readers,
		      const struct foreign_sums *sums, int made, struct reader **ret,
		      struct err *err)
{
	int r = 0;

	if (made == 0 || sums->made)
		r = index_file_add_sums(tree, readers->index, sums->rows, sums->count,
					sums->complete, ret);
	if (made < 0)
		return made;
	return r < 0 && r != -EBADMSG
		       ? err_set(err, r, "its index cannot be written: %s", strerror(-r))
		       : r;
}

/* Leaves the readers as they were before the index was found, but for one that is to be published.
 */
static int make_sums(struct dataset_readers *readers, struct foreign_tree *tree,
		     const struct index_key *key, struct err *err)
{
	SCOPE(foreign_sums_release) struct foreign_sums sums = {0};
	struct reader *index = NULL;
	struct dataset *dataset;
	int r = open_readers(readers, key, true, tree->source->settings->pages, &dataset, err);

	if (r == 0) {
		r = foreign_sums_make(dataset, tree->source->settings->checking, tree->source->kept,
				      &sums, err);
		dataset_close_index(dataset, readers);
		r = write_sums(tree, readers, &sums, r, &index, err);
	}
	drop_index(readers);
	readers->index = index;
	return r;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Returns -ENOENT where there is no index, -EBADMSG where it is damaged. */
static int open_found(struct dataset_readers *readers, struct foreign_tree *tree,
		      const struct index_key *key, struct dataset **ret, struct err *err)
{
	int r = readers->index ? 0 : index_file_find(tree, key, &readers->index);

	if (r == 0 && tree->source->settings->checking && !is_full(readers)) {
		r = make_sums(readers, tree, key, err);
		if (r == 0 && !readers->index)
			r = index_file_find(tree, key, &readers->index);
	}
	if (r == 0 && foreign_is_lone(tree->source) && !is_full(readers))
		r = -ENOENT;
	if (r == 0)
		r = open_readers(readers, key, false, tree->source->settings->pages, ret, err);
	if (r == -EBADMSG || r == -ENOENT)
		drop_index(readers);
	return r;
}

/* Before checksums of a far file are made, the disk cache keeps what the scan reads: of a tar, all
 * of it. It first drops older bytes, so that all it has comes from the server. */
static void keep_scan(const struct dataset_readers *readers, struct foreign_source *source,
		      const struct index_key *key)
{
	if (!source->settings->checking || !source->window.far)
		return;
	reader_known(readers->below[0], key->copy, strlen(key->copy));
	reader_bad(readers->below[0], 0, source->size);
	window_stream(&source->window, readers->below[0]);
	source->kept = true;
}

/* Who watches is told of an archive each time. */
static int look_for_archive(struct foreign_source *source, struct err *err)
{
	const struct maker_format *format = NULL;
	int r = source->settings->watch ? find_format(source, &format, err) : 0;

	if (r < 0 || !format || !format->archive)
		return r == -ENOMSG ? 0 : r;
	source->in_memory = true;
	source->settings->watch->archive = true;
	return 0;
}

/* The copy, if there is one, is the file from then on. */
static int take_copy(struct dataset_readers *readers, struct foreign_source *source,
		     struct err *err)
{
	const struct foreign_watch *watch = source->settings->watch;
	const struct maker_format *format;
	struct reader *copy;
	int r;

	if (!watch || !watch->copy || !source->window.far || source->walker)
		return 0;
	r = find_format(source, &format, err);
	if (r < 0 || !format->streamed)
		return r == -ENOMSG ? 0 : r;
	r = watch->copy(watch->context, readers->below[0], source->shown, &copy, err);
	if (r != 0)
		return r < 0 ? r : 0;
	reader_free(readers->below[0]);
	readers->below[0] = copy;
	return foreign_source_move(source, copy);
}

/* An index that is damaged is made anew, but not from a copy. */
static int open_by_index(struct dataset_readers *readers, struct foreign_tree *tree,
			 struct dataset **ret, struct err *err)
{
	struct err why = {0};
	struct index_key key;
	int r = index_key_make(tree, &key);

	if (r == 0 && tree->source->settings->checking && tree->source->in_memory)
		return err_set(err, -EOPNOTSUPP,
			       "the server gives neither a strong ETag nor Last-Modified: nothing "
			       "is kept of it, since another object in its place would not be "
			       "noticed");
	if (r == 0)
		r = open_found(readers, tree, &key, ret, &why);
	if (r == 0)
		return 0;
	if (r != -EBADMSG && r != -ENOENT)
		return err_set(err, r, "%s", err_text(&why, r));
	if (foreign_is_lone(tree->source))
		return err_set(err, -EIO,
			       "the server does not answer, and the index with the checksums of "
			       "its copy is not here; 'foldpack fetch' makes it");
	keep_scan(readers, tree->source, &key);
	r = take_copy(readers, tree->source, err);
	if (r == 0)
		r = make_index(tree, &key, &readers->index, err);
	readers->below[2] = steal_ptr(&tree->unpacked);
	if (r < 0 || !tree->source->settings->checking)
		return r < 0 ? r
			     : open_readers(readers, &key, false, tree->source->settings->pages,
					    ret, err);
	if (!tree->source->settings->unpublished)
		drop_index(readers);
	r = open_found(readers, tree, &key, ret, err);
	return r == -ENOENT ? err_set(err, r, "its index cannot be written") : r;
}

/* A later change is noticed by dataset_unchanged(). */
static int take_unchanged(const struct foreign_source *source, struct dataset *dataset,
			  struct dataset **ret, struct err *err)
{
	int r = foreign_check_unchanged(source, 0, err);

	if (r < 0)
		dataset_free(dataset);
	else
		*ret = dataset;
	return r;
}

static int open_foreign(struct dataset_readers *readers, const char *path, bool decompressed,
			const struct foreign_settings *settings, struct dataset **ret,
			struct err *err)
{
	struct foreign_source source = {0};
	struct foreign_tree tree = {0};
	struct dataset *dataset;
	/* Never from a copy. */
	int r = foreign_source_init(&source, reader_origin(readers->below[0]), path, decompressed,
				    settings, err);

	if (r == 0)
		r = foreign_tree_init(&tree, &source, err);
	if (r == 0)
		r = look_for_archive(&source, err);
	if (r == 0)
		r = open_by_index(readers, &tree, &dataset, err);
	if (r == 0)
		r = take_unchanged(&source, dataset, ret, err);
	foreign_tree_release(&tree);
	foreign_source_release(&source);
	return r;
}

static bool is_no_pack(int error)
{
	return error == -EINVAL || error == -ENOMSG;
}

/* Of a pack: options that its user gave in vain. Who watches makes a pack, also of empty classes.
 */
static void say_in_vain(const char *path, const struct foreign_settings *settings)
{
	SCOPE_FREE char *shown = name_shown(path);

	if (!shown)
		return;
	if (foreign_asked(settings))
		foreign_say(settings, shown,
			    "a pack, whose classes and names stay: --classes and the other options "
			    "for files of other formats change nothing");
	else if (settings->empty_classes && !settings->watch)
		foreign_say(settings, shown,
			    "a pack, whose folders stay: 'foldpack create --empty-classes' makes "
			    "one that has those of empty classes, too");
}

static int open_any(struct reader *reader, const char *path, bool decompressed,
		    const struct foreign_settings *settings, struct dataset **ret, struct err *err)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {.below = {reader}};
	struct err why = {0};
	int r = -ENOMSG, no_pack = settings->schema ? r : dataset_try_reader(reader, ret, err);

	if (no_pack == 0) {
		readers.below[0] = NULL;
		say_in_vain(path, settings);
	}
	if (!is_no_pack(no_pack))
		return no_pack;
	r = open_foreign(&readers, path, decompressed, settings, ret, &why);
	if (r == -ENOMSG && !why.text[0])
		return err_set(
			err, -ENOMSG,
			no_pack == -EINVAL
				? FOREIGN_UNKNOWN
				: "an LMDB file, but not a foldfs pack, nor of another format "
				  "that is known; '--schema=NAME' says what of one it has not");
	return r < 0 ? err_set(err, r, "%s", err_text(&why, r)) : 0;
}

/* Of a folder whose data.mdb was opened: what a user may miss of it. */
static void say_beside(const char *name, const struct foreign_settings *settings)
{
	SCOPE_CLOSE int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE(buf_release) struct buf note = BUF_INIT;
	struct environment beside;

	if (folder < 0 || environment_look(folder, &beside) < 0 || beside.images == 0 ||
	    buf_addf(&note,
		     "an LMDB environment, shown as what is in its data.mdb; images and folders "
		     "beside that are left out: %zu, such as '%s'; 'foldpack create' packs the "
		     "folder",
		     beside.images, beside.image) < 0)
		return;
	foreign_say(settings, name, note.data);
}

int foreign_open(const char *name, const struct foreign_settings *settings, struct dataset **ret,
		 struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct reader *reader;
	int r = settings->open(settings->context, name, settings->how, &reader, err);

	if (r >= 0)
		return open_any(reader, name, r > 0, settings, ret, err);
	if (r != -EISDIR || buf_addf(&path, "%s/data.mdb", name) < 0)
		return r;
	if (settings->open(settings->context, path.data, settings->how, &reader, NULL) < 0)
		return r;
	r = open_any(reader, path.data, false, settings, ret, err);
	if (r == 0)
		say_beside(name, settings);
	return r;
}

int foreign_publish(const char *name, const struct foreign_settings *settings, const char *path,
		    struct err *err)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
	struct foreign_settings own = *settings;
	struct dataset *dataset;
	struct err why = {0};
	struct stat st;
	int r;

	own.unpublished = true;
	r = foreign_open(name, &own, &dataset, err);
	if (r < 0)
		return r;
	dataset_close_index(dataset, &readers);
	if (readers.index == readers.data) {
		readers.index = NULL;
		return err_set(err, -EEXIST, "a pack, which has its index in it");
	}
	/* An index has names of files. */
	r = index_published_write(readers.index, path,
				  stat(name, &st) == 0 ? st.st_mode & 0666 : 0644, &why);
	return r < 0 ? err_set(err, r, "%s: %s", path, err_text(&why, r)) : 0;
}
