/* foldpack verify: checks every section, every extent against its checksum, and every key against
 * the index. */
#include "base/bits.h"
#include "base/json.h"
#include "base/log.h"
#include "base/name.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/delta.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/etags.h"
#include "pack/tool/work/progress.h"
#include <string.h>

struct settings {
	struct cmd_common common;
	bool json;
	uint64_t jobs;
};

static const struct opt options[] = {
	OPT_FLAG(0, "json", struct settings, json,
		 "write one JSON object for each PACK, with all that was found"),
	CMD_PROGRESS_OPTIONS(struct settings),
	OPT_COUNT('j', "jobs", "N", struct settings, jobs,
		  "read and check with N threads (default: one per processor, at least 8)"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack verify",
	.synopsis = "[options] PACK..",
	.summary =
		"Reads all of each PACK, compares it with its checksums and its index, and\n"
		"names each path that is damaged, with the class of damage. A delta is compared\n"
		"with its base, if that comes before it. Exit status 3 if there is damage, 1 if\n"
		"some cannot be read.",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

/* Neighbouring extents of a file with the same damage, reported as one. */
struct stretch {
	uint32_t entry;
	int error; /* 0: there is none */
	uint64_t from, end;
};

/* Paths with one kind of fault. */
struct tally {
	uint8_t *entries; /* a bit for each, to count each file once */
	uint64_t paths;	  /* files and keys */
};

/* Packs that were named before. */
struct before {
	const struct names *names;
	size_t count;
	struct seen {
		char id[FORMAT_ID_TEXT]; /* "": it could not be opened */
		bool delta;
	} * all;
};

struct verify {
	struct settings settings;
	char *pack; /* as it is shown */
	struct dataset *dataset;
	struct dataset *base; /* of a delta; NULL: it was not named */
	struct progress progress;
	struct buf found; /* JSON, where it was asked for */
	struct json json;
	struct stretch stretch;
	struct tally damaged, unreadable;
	int checksums;				/* why they are not there, or 0 */
	struct etags *etags;			/* NULL: there are no objects */
	uint64_t etag_counts[ETAG_DIFFERS + 1]; /* of objects, by what was found */
};

static void verify_release(struct verify *verify)
{
	progress_clear(&verify->progress);
	dataset_free(verify->dataset);
	dataset_free(verify->base);
	free(verify->pack);
	etags_free(verify->etags);
	buf_release(&verify->found);
	free(verify->damaged.entries);
	free(verify->unreadable.entries);
}

/* --- what was found --------------------------------------------------------------------- */

static int say_fault(void *context, const struct dataset_fault *fault)
{
	struct verify *verify = context;
	bool unreadable = strcmp(fault->damage, DAMAGE_UNREADABLE) == 0;
	struct tally *tally = unreadable ? &verify->unreadable : &verify->damaged;
	size_t hidden = fault->len > 0 && *fault->path == '\0'; /* a key of the index */

	if (fault->entry == DATASET_ROOT || !bit_set(tally->entries, fault->entry))
		tally->paths++;
	if (!verify->settings.json) {
		progress_clear(&verify->progress);
		if (hidden)
			fputs("\\0", stdout);
		else if (fault->len == 0) /* the pack itself */
			cmd_put(verify->pack, strlen(verify->pack));
		cmd_put(fault->path + hidden, fault->len - hidden);
		printf(": %s: %s\n", fault->damage, fault->text);
		return 0;
	}
	json_object(&verify->json, NULL);
	json_bytes(&verify->json, "path", fault->path, fault->len);
	json_string(&verify->json, "damage", fault->damage);
	json_string(&verify->json, "text", fault->text);
	json_end(&verify->json);
	return 0;
}

static int say_file(struct verify *verify, uint32_t entry, const char *damage, const char *text)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_fault fault = {.entry = entry, .damage = damage, .text = text};
	int r = dataset_path(verify->dataset, entry, &path);

	fault.path = path.data;
	fault.len = path.len;
	return r < 0 ? r : say_fault(verify, &fault);
}

static int say_etag(struct verify *verify, const struct batch *batch)
{
	uint32_t entry = *batch->files;

	for (uint32_t i = 0; i < batch->count; i++)
		if (dataset_entry(verify->dataset, batch->files[i]).size)
			entry = batch->files[i];
	return say_file(verify, entry, "etag", "the bytes do not match the MD5 in the ETag");
}

static int say_stretch(struct verify *verify)
{
	const struct stretch stretch = verify->stretch;
	bool read = stretch.error == -EBADMSG;
	char text[256];

	verify->stretch.error = 0;
	if (stretch.error == 0)
		return 0;
	snprintf(text, sizeof(text), "bytes %lu-%lu%s%s", stretch.from, stretch.end - 1,
		 read ? " do not match their checksum" : ": ",
		 read ? "" : strerror(-stretch.error));
	return say_file(verify, stretch.entry, read ? "checksum" : DAMAGE_UNREADABLE, text);
}

/* --- the bytes -------------------------------------------------------------------------- */

/* The most extents that a batch can have: files that share bytes lie in the same place. */
#define EXTENTS_MOST (BATCH_FILES * (BATCH_BYTES / FORMAT_EXTENT))

/* The damage in one batch. */
struct damage_note {
	uint64_t turn; /* etags_turn() */
	enum etag etag;
	unsigned count;
	struct {
		uint64_t extent;
		int error;
	} bad[EXTENTS_MOST];
};

static int verify_begin(void *context, const struct batch *batch, void *pointer)
{
	struct verify *verify = context;
	struct damage_note *note = pointer;

	if (verify->etags)
		note->turn = etags_turn(verify->etags, batch);
	return 0;
}

static void check_batch(void *context, unsigned worker, const struct batch *batch,
			struct batch_reader *reader, void *pointer)
{
	const struct verify *verify = context;
	struct damage_note *note = pointer;

	(void)worker;
	batch_reader_read(reader, batch);
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct batch_extents extents = batch_extents(reader->dataset, batch, i);

		for (uint64_t number = 0; number < extents.count; number++) {
			struct dataset_extent extent;
			char *data;
			int r = batch_reader_check(reader, extents.first + number, &extent, &data);

			if (r == 0)
				continue;
			note->bad[note->count].extent = extents.first + number;
			note->bad[note->count++].error = r;
		}
	}
	if (verify->etags)
		note->etag =
			etags_compare(verify->etags, note->turn, batch, reader, note->count == 0);
}

static int verify_batch_done(void *context, const struct batch *batch, void *pointer)
{
	struct verify *verify = context;
	struct stretch *stretch = &verify->stretch;
	const struct damage_note *note = pointer;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < note->count; i++) {
		const struct dataset_extent extent =
			dataset_extent(verify->dataset, note->bad[i].extent);
		int error = note->bad[i].error;

		if (error == -ENOMEM)
			return error;
		if (stretch->error != error || stretch->entry != extent.entry ||
		    stretch->end != extent.from) {
			r = say_stretch(verify);
			*stretch = (struct stretch){
				.entry = extent.entry, .error = error, .from = extent.from};
		}
		stretch->end = extent.from + extent.size;
	}
	verify->etag_counts[note->etag]++;
	if (r == 0 && note->etag == ETAG_DIFFERS) {
		r = say_stretch(verify);
		r = r < 0 ? r : say_etag(verify, batch);
	}
	progress_add(&verify->progress, batch->last ? batch->count : 0, batch->bytes);
	return r;
}

/* Each file once, without hard links, and those of a delta whose bytes are in its base. If shared
 * bytes are damaged, all files that share them are named. */
static int check_bytes(struct verify *verify)
{
	SCOPE(buf_release) struct buf files = BUF_INIT;
	bool members = reader_hints(dataset_reader(verify->dataset)).members;
	struct batch_scan_params params = {.dataset = verify->dataset,
					   .jobs = batch_scan_jobs(verify->settings.jobs),
					   .note_size = sizeof(struct damage_note),
					   .begin = verify_begin,
					   .work = check_batch,
					   .done = verify_batch_done,
					   .context = verify};
	int r = members ? etags_new(verify->dataset, &verify->etags) : 0;

	for (uint32_t e = 0; r == 0 && e < dataset_entries(verify->dataset); e++) {
		enum format_kind kind = dataset_child(verify->dataset, e).kind;

		if (format_is_file(kind) && kind != FORMAT_BASE)
			r = buf_add(&files, &e, sizeof(e));
	}
	params.files = BUF_ITEMS(&files, uint32_t);
	params.count = BUF_COUNT(&files, *params.files);
	if (r == 0)
		r = batch_scan(&params);
	return r < 0 ? r : say_stretch(verify);
}

/* --- the index -------------------------------------------------------------------------- */

static int verify_all(struct verify *verify)
{
	size_t bytes = dataset_entries(verify->dataset) / 8 + 1;
	struct dataset_fault fault = {.damage = DAMAGE_UNREADABLE, .path = ""};
	struct err err = {0};
	int r;

	verify->damaged.entries = calloc(1, bytes);
	verify->unreadable.entries = calloc(1, bytes);
	if (!verify->damaged.entries || !verify->unreadable.entries)
		return -ENOMEM;
	r = dataset_check_sections(verify->dataset, say_fault, verify);
	if (r < 0)
		return r;
	verify->checksums = dataset_load(verify->dataset, DATASET_CHECKSUMS, NULL);
	if (verify->checksums == 0)
		r = check_bytes(verify);
	if (r == 0 && verify->checksums == 0 && verify->base)
		r = delta_check(verify->dataset, verify->base, say_fault, verify);
	if (r < 0 || dataset_is_unchecked(verify->dataset))
		return r;
	r = dataset_check_keys(verify->dataset, say_fault, verify, &err);
	/* If the pages of the LMDB are damaged, its keys cannot be compared any further. */
	if (r == -EBADMSG)
		fault.damage = "pages";
	fault.text = err_text(&err, r);
	return r < 0 && r != -ENOMEM ? say_fault(verify, &fault) : r;
}

/* --- the result ------------------------------------------------------------------------- */

static uint64_t etags_compared(const struct verify *verify)
{
	return verify->etag_counts[ETAG_SAME] + verify->etag_counts[ETAG_DIFFERS];
}

/* What was compared, of objects of a bucket. */
static void say_etags(const struct verify *verify)
{
	uint64_t compared = etags_compared(verify), other = verify->etag_counts[ETAG_OTHER];
	char one[SIZE_TEXT], two[SIZE_TEXT];

	if (compared || other)
		log_info("%s: %s compared with the MD5 in the ETag; %s with an ETag that is none",
			 verify->pack, count_noun(compared, "object", one),
			 count_noun(other, "object", two));
}

static int verify_json_end(struct verify *verify, double seconds)
{
	json_end(&verify->json);
	json_u64(&verify->json, "bad_files", verify->damaged.paths);
	json_u64(&verify->json, "unreadable_files", verify->unreadable.paths);
	if (verify->etags) {
		json_u64(&verify->json, "etags_compared", etags_compared(verify));
		json_u64(&verify->json, "etags_other", verify->etag_counts[ETAG_OTHER]);
	}
	json_double(&verify->json, "seconds", seconds);
	json_end(&verify->json);
	return cmd_print_json(&verify->found);
}

/* 0, or why the pack is not good. */
static int say_faults(const struct verify *verify)
{
	uint64_t damaged = verify->damaged.paths, unreadable = verify->unreadable.paths;
	char paths[SIZE_TEXT];

	if (verify->checksums < 0)
		log_error("%s: the checksums %s, so no file could be checked", verify->pack,
			  verify->checksums == -EBADMSG ? "are lost" : "cannot be read");
	if (unreadable)
		log_error(
			"%s: %s cannot be read, which says nothing about %s bytes; check the "
			"storage, and verify again",
			verify->pack, count_noun(unreadable, "path", paths),
			unreadable == 1 ? "its" : "their");
	if (damaged && verify->etags)
		log_error(
			"%s: %s %s other bytes than the MD5 in the ETag is of; what a server "
			"encrypts (SSE-KMS, SSE-C) may have an ETag that is no MD5, but looks like "
			"one",
			verify->pack, count_noun(damaged, "object", paths),
			damaged == 1 ? "has" : "have");
	else if (damaged)
		log_error(
			"%s: %s %s damaged; copy the pack again from an intact copy, or pack the "
			"folder again",
			verify->pack, count_noun(damaged, "path", paths),
			damaged == 1 ? "is" : "are");
	if (damaged)
		return -EBADMSG;
	return unreadable ? -EIO : 0;
}

static int conclude_verify(struct verify *verify)
{
	const struct format_super *super = dataset_info(verify->dataset)->super;
	double seconds = progress_end(&verify->progress);
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	uint64_t count =
		dataset_is_unchecked(verify->dataset) ? dataset_extents(verify->dataset) : 0;
	uint64_t sum, checked = 0;
	int r = verify->settings.json ? verify_json_end(verify, seconds) : 0;

	say_etags(verify);
	if (r == 0)
		r = say_faults(verify);
	if (r < 0)
		return r;
	/* A file of another format may have checksums in its index. */
	while (checked < count && dataset_checksum(verify->dataset, checked, &sum) == 0)
		checked++;
	log_info("%s: %s, %s, checked in %.1f s: %s%s", verify->pack,
		 count_noun(super->files, "file", files), size_format(super->bytes, bytes), seconds,
		 checked == count ? "all good"
		 : verify->etag_counts[ETAG_SAME]
			 ? "all can be read"
			 : "all can be read; the format has no checksums to compare with",
		 !dataset_is_delta(verify->dataset) ? ""
		 : verify->base			    ? ", with its base"
						    : "; name its base before it to compare both");
	return 0;
}

/* Opens the pack. If damage prevents that, the pack itself is the only fault. */
static int verify_open(struct verify *verify, const struct name *name)
{
	struct err err = {0};
	int r = cmd_open_name(name, &verify->settings.common, &verify->dataset, &err);
	const struct dataset_fault fault = {
		.damage = "index", .path = "", .len = 0, .text = err_text(&err, r)};

	if (verify->settings.json) {
		struct json *json = &verify->json;

		*json = json_begin(&verify->found);
		json_object(json, NULL);
		json_bytes(json, "pack", verify->pack, strlen(verify->pack));
		if (r == 0) {
			json_string(json, "id", dataset_info(verify->dataset)->id);
			json_u64(json, "files", dataset_info(verify->dataset)->super->files);
			json_u64(json, "bytes", dataset_info(verify->dataset)->super->bytes);
		}
		json_array(json, "bad");
	}
	if (r == 0)
		return 0;
	log_error("%s: %s%s", verify->pack, err_text(&err, r), dataset_way_out(r));
	if (r == -EBADMSG && verify->settings.json) {
		say_fault(verify, &fault);
		verify_json_end(verify, 0);
	}
	return r;
}

/* --- the base of a delta ----------------------------------------------------------------- */

/* All that are no deltas, as one. */
static int open_set_base(struct verify *verify, const struct before *before, struct err *err)
{
	SCOPE_FREE struct name *all = calloc(before->count + 1, sizeof(*all));
	struct names set = {.all = all};

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < before->count; i++)
		if (*before->all[i].id && !before->all[i].delta)
			all[set.count++] = before->names->all[i];
	if (set.count == 0 || cmd_open_names(&set, &verify->settings.common, &verify->base) == 0)
		return 0;
	return err_set(err, -ENOENT, "a delta: the packs before it are not its base");
}

/* There is none if the delta is named alone, or first. An exit status. */
static int verify_open_base(struct verify *verify, const struct before *before)
{
	char since[FORMAT_ID_TEXT];
	struct err err = {0}, reason = {0};
	size_t i = before->count;
	int r = delta_since(verify->dataset, since, &err);

	/* One pack, or the delta before it: either has all checksums. */
	while (r == 0 && i > 0 && strcmp(before->all[i - 1].id, since) != 0)
		i--;
	if (r == 0 && i > 0)
		r = cmd_open_name(&before->names->all[i - 1], &verify->settings.common,
				  &verify->base, &err);
	if (r == 0 && !verify->base)
		r = open_set_base(verify, before, &err);
	if (r == 0 && verify->base)
		r = delta_fits(verify->dataset, verify->base, &err);
	if (r == 0 && verify->base) {
		r = dataset_load(verify->base, DATASET_CHECKSUMS, &reason);
		if (r < 0)
			err_set(&err, r, "its base: %s", err_text(&reason, r));
	}
	if (r < 0)
		dataset_free(steal_ptr(&verify->base));
	return cmd_status(verify->pack, r, &err);
}

/* --- the command ------------------------------------------------------------------------ */

/* The next one. */
static int verify_pack(const struct settings *settings, struct before *before)
{
	const struct name *name = &before->names->all[before->count];
	struct seen *seen = &before->all[before->count];
	SCOPE(verify_release)
	struct verify verify = {.settings = *settings, .pack = name_shown(name->name)};
	int r = verify.pack ? verify_open(&verify, name) : -ENOMEM, status = EXIT_DONE;

	if (r < 0)
		return (int)exit_status_of(r);
	*seen = (struct seen){.delta = dataset_is_delta(verify.dataset)};
	memcpy(seen->id, dataset_info(verify.dataset)->id, sizeof(seen->id));
	if (seen->delta)
		status = verify_open_base(&verify, before);
	progress_begin(&verify.progress, "checking", cmd_progress(&settings->common));
	verify.progress.files_total = dataset_info(verify.dataset)->super->files;
	verify.progress.bytes_total = dataset_info(verify.dataset)->super->bytes;
	r = verify_all(&verify);
	progress_clear(&verify.progress);
	if (r < 0)
		log_error("%s: %s", verify.pack, err_text(NULL, r));
	else
		r = conclude_verify(&verify);
	return r < 0 ? (int)exit_status_of(r) : status;
}

/* Checks each pack by itself, and a delta against its base. Damage counts more than a pack that
 * could not be read. */
int cmd_verify(int argc, char **argv)
{
	SCOPE(names_release) struct names names = {0};
	SCOPE_FREE struct seen *all = NULL;
	struct settings settings = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, -1);
	struct before before = {.names = &names};
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = cmd_names(args, cmd_count(args), &settings.common, &names);
	if (r != EXIT_DONE)
		return exit_finish(r);
	before.all = all = calloc(names.count, sizeof(*all));
	if (!all)
		return cmd_status(NULL, -ENOMEM, NULL);
	for (; before.count < names.count; before.count++) {
		int status = verify_pack(&settings, &before);

		r = status == EXIT_DAMAGED || r == EXIT_DONE ? status : r;
	}
	return exit_finish(r);
}
