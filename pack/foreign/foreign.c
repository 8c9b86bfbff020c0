#include "pack/foreign/foreign.h"
#include "base/buf.h"
#include "base/math.h"
#include "base/name.h"
#include "base/notices.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/dataset_open.h"
#include "pack/environment.h"
#include "pack/foreign/checksums.h"
#include "pack/foreign/folder.h"
#include "pack/foreign/index_file.h"
#include "pack/foreign/maker.h"
#include "pack/foreign/members.h"
#include "pack/foreign/unsupported.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SAY_READS  (256 * MIB) /* of a remote file */
#define HEAD_BYTES 1024

/* A file on its way to a dataset. */
struct opening {
	struct dataset_readers readers; /* `index` is NULL until it has one; then so is `extra` */
	struct index_extra extra;
	struct foreign_source source;
	struct maker *maker; /* that looks it through; NULL: there is none yet */
	struct foreign_tree tree;
	struct index_key key;
	const struct foreign_settings *settings;
	bool lone; /* foreign_is_lone() of the file itself: not of a copy in its place */
};

/* --- which format ----------------------------------------------------------------------------- */

static int find_format(struct opening *o, const struct maker_format **ret, struct err *err)
{
	int r = 0;

	if (!o->maker && !o->settings->schema)
		r = unsupported_tell(&o->source, err);
	if (r == 0 && !o->maker)
		r = maker_begin(&o->source, &o->maker, err);
	if (r == 0)
		*ret = maker_format(o->maker);
	return r;
}

/* --- the index -------------------------------------------------------------------------------- */

/* What a scan costs that may keep a user waiting, and what would spare it. Whoever reads all of the
 * file anyway needs not know. */
static void say_reads(const struct foreign_tree *tree, const struct maker_format *format)
{
	const struct foreign_source *source = tree->source;
	const struct foreign_settings *settings = source->settings;
	SCOPE(buf_release) struct buf line = BUF_INIT;
	char size[SIZE_TEXT];

	if (!format->streamed || !source->window.remote || source->size < SAY_READS ||
	    settings->watch || settings->checking || !settings->notice ||
	    (settings->notices && !notices_first(settings->notices)))
		return;
	if (buf_addf(&line,
		     "%s: to find its images, up to %s are read %s, and as much of each such file; "
		     "an index beside it, by 'foldpack index', spares that",
		     source->shown, size_format(source->size, size),
		     source->in_memory ? "each time"
		     : index_file_is_kept(tree)
			     ? "once"
			     : "each time, unless '--cache-dir' keeps an index") == 0)
		settings->notice(line.data);
}

/* Notes what is said of labels; or, where no record has the key that the user named, why it fails.
 */
static int tell_labels(struct foreign_tree *tree, struct err *err)
{
	const struct foreign_settings *settings = tree->source->settings;

	if (settings->label_key && tree->classed == 0)
		return err_set(err, -EINVAL, "--label-key: no record has a label as '%s'",
			       settings->label_key);
	if (foreign_numbers_files(settings) && tree->named && !tree->made_up)
		return err_set(err, -EINVAL,
			       "--name-key='': its files have paths, which they keep");
	if (settings->name_key && *settings->name_key && tree->named == 0)
		return err_set(err, -EINVAL, "--name-key: no record has a name as '%s'",
			       settings->name_key);
	if (tree->classed && tree->unlabelled)
		foreign_tree_note(tree, NOTICE("{} images have no label, and are in images, which "
					       "is one more class to ImageFolder",
					       tree->unlabelled));
	if (settings->classes && tree->most_label < 0)
		foreign_tree_note(tree, NOTICE("--classes names labels, which none of its {} "
					       "entries has",
					       tree_count(tree)));
	tree->style.only_names = tree->only_named;
	if (tree->only_named && tree->most_label >= 0)
		foreign_tree_note(tree,
				  NOTICE("images with only the name of a class, where others have "
					 "its label: one class is two if both have it: {}",
					 tree->only_named));
	if (tree->odd)
		foreign_tree_note(tree,
				  NOTICE("{} records have a label below -1, which is taken as none",
					 tree->odd));
	return 0;
}

/* A list with a heading, or of another file, gives records the names of others. */
static int tell_names(struct foreign_tree *tree)
{
	size_t count = BUF_COUNT(&tree->names.items, struct foreign_text), used = 0;
	SCOPE_FREE char *text = NULL;

	for (size_t i = 0; i < tree_count(tree); i++)
		used = max(used, (size_t)tree_rows(tree)[i].record + 1);
	if (!tree->names.name || used >= count)
		return 0;
	if (asprintf(&text, "{} names in %s are left over: do the others belong to these records?",
		     tree->names.name) < 0)
		return -ENOMEM;
	foreign_tree_note(tree, NOTICE(text, count - used));
	return 0;
}

static int make_index(struct opening *o, struct reader **ret, struct err *err)
{
	struct foreign_tree *tree = &o->tree;
	const struct maker_format *format = NULL;
	int r = find_format(o, &format, err);

	if (r == 0)
		r = foreign_settings_check(o->settings, format->takes, format->name, err);
	if (r == 0) {
		say_reads(tree, format);
		r = maker_scan(o->maker, tree, err);
		r = foreign_check_unchanged(&o->source, r, err);
	}
	if (r == 0 && tree->rows.len == 0 && !(o->settings->watch && format->archive))
		r = err_set(err, -ENOANO, "no image in it (%s)", format->name);
	if (r == 0)
		r = tell_labels(tree, err);
	if (r == 0)
		r = tell_names(tree);
	if (r == 0)
		r = index_file_write(tree, &o->key, format->name, ret, err);
	if (r == 0)
		foreign_say_notes(o->settings, &tree->notes);
	return r;
}

/* --- the dataset ------------------------------------------------------------------------------ */

/* What is left of one whose index is not used. */
static void drop_index(struct opening *o)
{
	struct dataset_readers *readers = &o->readers;

	if (!readers->below[READS_CONTAINER])
		readers->below[READS_CONTAINER] = readers->data;
	else
		reader_free(readers->data);
	reader_free(readers->below[READS_MADE]);
	reader_free(readers->below[READS_UNPACKED]);
	reader_free(readers->index);
	*readers = (struct dataset_readers){
		.below = {[READS_CONTAINER] = readers->below[READS_CONTAINER]}};
	index_extra_release(&o->extra);
}

static int take_index(struct opening *o, struct reader *index)
{
	o->readers.index = index;
	return index_extra_read(index, &o->extra);
}

/* Where all files lie in the container, its own reader is enough. A copy in the disk cache is read
 * only if there are checksums, or will be: otherwise nobody would notice damage. */
static int make_readers(struct opening *o, bool checking, struct err *err)
{
	struct dataset_readers *readers = &o->readers;
	struct reader *own = readers->below[READS_CONTAINER], *volumes[TREE_VOLUMES] = {own};
	unsigned count = 1;
	int r;

	if (checking || o->extra.full)
		reader_known(own, o->key.copy, strlen(o->key.copy));
	else
		volumes[0] = reader_origin(own);
	if (o->extra.made_count) {
		r = virtual_reader_new(volumes[0], o->extra.made, o->extra.made_count,
				       o->settings->pages, &readers->below[READS_MADE], err);
		if (r < 0)
			return r;
		volumes[count++] = readers->below[READS_MADE];
	}
	if (readers->below[READS_UNPACKED])
		volumes[count++] = readers->below[READS_UNPACKED];
	if (o->extra.text)
		volumes[count++] = readers->index;
	if (count > 1 || volumes[0] != own)
		return reader_volumes_new(volumes, count, &readers->data);
	readers->data = steal_ptr(&readers->below[READS_CONTAINER]);
	return 0;
}

static int open_dataset(struct opening *o, bool checking, struct dataset **ret, struct err *err)
{
	int r = make_readers(o, checking, err);

	if (r == 0)
		r = dataset_open_index(&o->readers, ret, err);
	if (r || !o->extra.full)
		return r;
	r = dataset_load(*ret, DATASET_CHECKSUMS, err);
	if (r < 0)
		dataset_close_index(*ret, &o->readers);
	return r;
}

/* --- checksums -------------------------------------------------------------------------------- */

/* Makes those that it lacks, and goes on with an index that has what was made: so the next time
 * continues from there, if it fails. */
static int make_sums(struct opening *o, struct err *err)
{
	SCOPE(foreign_sums_release) struct foreign_sums sums = {0};
	struct reader *index = NULL;
	struct dataset *dataset;
	int r = open_dataset(o, true, &dataset, err), made;

	if (r < 0)
		return r;
	made = foreign_sums_make(dataset, o->settings->checking, o->source.kept, &sums, err);
	dataset_close_index(dataset, &o->readers);
	if (made < 0 && !sums.made)
		return made;
	r = index_file_add_sums(&o->tree, o->readers.index, sums.rows, sums.count, sums.complete,
				&index);
	drop_index(o);
	if (r == 0)
		r = take_index(o, index);
	else if (made == 0 && r != -EBADMSG)
		err_set(err, r, "its index cannot be written: %s", err_text(NULL, r));
	return made < 0 ? made : r;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Opens it by the index that it has. Returns -ENOENT where that lacks what it must have, -EBADMSG
 * where it is damaged: then it has none. */
static int open_by_index(struct opening *o, struct dataset **ret, struct err *err)
{
	int r = 0;

	if (o->settings->checking && !o->extra.full)
		r = make_sums(o, err);
	if (r == 0 && o->lone && !o->extra.full)
		r = -ENOENT;
	if (r == 0)
		r = open_dataset(o, false, ret, err);
	if (r == -EBADMSG || r == -ENOENT)
		drop_index(o);
	return r;
}

/* The copy, if there is one, is the file from then on. */
static int take_copy(struct opening *o, struct err *err)
{
	struct reader **container = &o->readers.below[READS_CONTAINER], *copy;
	const struct foreign_watch *watch = o->settings->watch;
	const struct maker_format *format;
	int r;

	if (!watch || !watch->copy || !o->source.window.remote || o->source.walker)
		return 0;
	r = find_format(o, &format, err);
	if (r < 0 || !format->streamed)
		return r == -ENOMSG ? 0 : r;
	r = watch->copy(watch->context, *container, o->source.shown, &copy, err);
	if (r != 0)
		return r < 0 ? r : 0;
	reader_free(*container);
	*container = copy;
	return foreign_source_move(&o->source, copy);
}

/* Makes the index, from the copy if there is one, and opens it by that. */
static int open_made(struct opening *o, struct dataset **ret, struct err *err)
{
	struct reader *container = o->readers.below[READS_CONTAINER], *index = NULL;
	int r;

	if (o->lone)
		return err_set(err, -EIO,
			       "the server does not answer, and the index with the checksums of "
			       "its copy is not here; 'foldpack fetch' makes it");
	/* Before checksums of a far file are made, the disk cache keeps what the scan reads: of a
	 * tar, all of it. It first drops older bytes, so that all it has comes from the server. */
	if (o->settings->checking && o->source.window.remote) {
		reader_known(container, o->key.copy, strlen(o->key.copy));
		reader_bad(container, 0, o->source.size);
		window_stream(&o->source.window, container);
		o->source.kept = true;
	}
	r = take_copy(o, err);
	if (r == 0)
		r = make_index(o, &index, err);
	o->readers.below[READS_UNPACKED] = steal_ptr(&o->tree.unpacked);
	if (r == 0)
		r = take_index(o, index);
	return r < 0 ? r : open_by_index(o, ret, err);
}

/* An index that is damaged is made anew, but not from a copy. */
static int open_either(struct opening *o, struct dataset **ret, struct err *err)
{
	struct reader *index = NULL;
	struct err why = {0};
	int r = index_key_make(&o->tree, &o->key);

	if (r < 0)
		return err_set(err, r, "%s", err_text(&why, r));
	o->lone = foreign_is_lone(&o->source);
	if (o->settings->checking && o->source.in_memory)
		return err_set(err, -EOPNOTSUPP,
			       "the server gives neither a strong ETag nor Last-Modified: nothing "
			       "is kept of it, since another object in its place would not be "
			       "noticed");
	r = index_file_find(&o->tree, &o->key, &index);
	if (r == 0)
		r = take_index(o, index);
	if (r == 0)
		r = open_by_index(o, ret, &why);
	else
		drop_index(o);
	if (r == -EBADMSG || r == -ENOENT)
		return open_made(o, ret, err);
	return r < 0 ? err_set(err, r, "%s", err_text(&why, r)) : 0;
}

static int open_foreign(struct opening *o, const char *path, bool decompressed,
			struct dataset **ret, struct err *err)
{
	struct foreign_source *source = &o->source;
	const struct maker_format *format;
	struct dataset *dataset;
	/* Never from a copy. */
	int r = foreign_source_init(source, reader_origin(o->readers.below[READS_CONTAINER]), path,
				    decompressed, o->settings, err);

	if (r == 0)
		r = foreign_tree_init(&o->tree, source, err);
	/* Who watches is told of an archive each time. */
	if (r == 0 && o->settings->watch) {
		r = find_format(o, &format, err);
		if (r == 0 && format->archive) {
			source->in_memory = true;
			o->settings->watch->archive = true;
		}
		if (r == -ENOMSG)
			r = 0;
	}
	if (r == 0)
		r = open_either(o, &dataset, err);
	if (r < 0)
		return r;
	/* A later change is noticed by dataset_unchanged(). */
	r = foreign_check_unchanged(source, 0, err);
	if (r < 0)
		dataset_free(dataset);
	else
		*ret = dataset;
	return r;
}

static void opening_release(struct opening *o)
{
	foreign_tree_release(&o->tree);
	maker_free(o->maker);
	foreign_source_release(&o->source);
	index_extra_release(&o->extra);
	dataset_readers_release(&o->readers);
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

/* Of a file that is of no format: the error for it. */
static int say_unknown(struct opening *o, bool lmdb, struct err *err)
{
	static const uint8_t zeros[HEAD_BYTES];
	const uint8_t *head;
	size_t len;

	if (o->source.size == 0)
		return err_set(err, -ENODATA,
			       "an empty file, of 0 bytes: copy it again, or leave it out");
	if (foreign_peek(&o->source, 0, sizeof(zeros), &head, &len) == 0 && len == sizeof(zeros) &&
	    memcmp(head, zeros, len) == 0)
		return err_set(err, -ENODATA,
			       "begins with zeros, as a copy that broke off may: copy it again, or "
			       "leave it out");
	return err_set(err, -ENOMSG,
		       lmdb ? "an LMDB file, but not a foldfs pack, nor of another format that is "
			      "known; '--schema=NAME' says what of one it has not"
			    : FOREIGN_UNKNOWN);
}

static int open_any(struct reader *reader, const char *path, bool decompressed,
		    const struct foreign_settings *settings, struct dataset **ret, struct err *err)
{
	SCOPE(opening_release)
	struct opening o = {.readers.below = {[READS_CONTAINER] = reader}, .settings = settings};
	struct err why = {0};
	int r, no_pack = settings->schema ? -ENOMSG : dataset_try_reader(reader, ret, err);

	if (no_pack == 0) {
		o.readers.below[READS_CONTAINER] = NULL;
		say_in_vain(path, settings);
	}
	if (no_pack != -EINVAL && no_pack != -ENOMSG)
		return no_pack;
	r = open_foreign(&o, path, decompressed, ret, &why);
	if (r == -ENOMSG && !why.text[0])
		return say_unknown(&o, no_pack != -EINVAL, err);
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
	struct members *members;
	struct reader *reader;
	struct err why = {0};
	int r = settings->open_prefix
			? settings->open_prefix(settings->prefix_context, name, &members, err)
			: 1;

	if (r <= 0)
		return r < 0 ? r : members_open(members, name, settings, ret, err);
	r = settings->open(settings->context, name, settings->how, &reader, &why);
	if (r != -EISDIR && r < 0)
		return err_set(err, r, "%s", err_text(&why, r));
	if (r >= 0)
		return open_any(reader, name, r > 0, settings, ret, err);
	if (buf_addf(&path, "%s/data.mdb", name) < 0)
		return -ENOMEM;
	if (settings->open(settings->context, path.data, settings->how, &reader, NULL) < 0) {
		r = folder_open(name, settings->retry, settings->notice, &members);
		return r < 0 ? r : members_open(members, name, settings, ret, err);
	}
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
