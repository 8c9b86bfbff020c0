/* What came of a run, for people and as JSON. */
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/create/create.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>

static int print_json(const struct create *create, const struct builder_summary *summary,
		      double seconds)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);
	int r;

	json_object(&json, NULL);
	json_u64(&json, "files", summary->files);
	json_u64(&json, "bytes_in", create->bytes_in);
	json_u64(&json, "bytes_out", summary->pack_bytes);
	json_u64(&json, "skipped", create->skipped);
	json_u64(&json, "kept", create->kept);
	json_u64(&json, "deduped", summary->aliases);
	json_double(&json, "seconds", seconds);
	json_string(&json, "id", summary->id);
	json_end(&json);
	r = json_finish(&json);
	if (r == 0)
		printf("%.*s\n", (int)text.len, text.data);
	return r;
}

static void print(const struct create *create, const struct builder_summary *summary,
		  double seconds)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], pack[SIZE_TEXT];

	log_notice("%s: %s, %s, packed into %s in %.1f s (%.0f MB/s), id %s", create->pack,
		   count_noun(summary->files, "file", files), size_format(summary->bytes, bytes),
		   size_format(summary->pack_bytes, pack), seconds,
		   (double)(summary->bytes - create->bytes_before) * 1e-6 / seconds, summary->id);
	if (summary->aliases)
		log_notice("%s: %s %s the bytes of others, which saves %s", create->pack,
			   count_noun(summary->aliases, "file", files),
			   summary->aliases == 1 ? "has" : "have",
			   size_format(summary->alias_bytes, bytes));
	if (create->made)
		log_notice("%s: %s changed; the files had %s before", create->pack,
			   count_noun(create->made, "image", files),
			   size_format(create->bytes_in, bytes));
	if (create->kept)
		log_notice("%s: %s of them bad, and packed all the same", create->pack,
			   count_format(create->kept, files));
	if (create->skipped)
		log_notice("%s: %s of the inputs left out", create->pack,
			   count_format(create->skipped, files));
}

int create_finish(struct create *create, bool json, double began)
{
	struct builder_summary summary;
	struct err err = {0};
	double seconds;
	int r;

	/* Of millions of files each of these is large, as the last batch and the index are. */
	import_free(steal_ptr(&create->import));
	dedup_table_release(&create->dedup_table);
	malloc_trim(0);
	r = builder_finish(create->builder, &summary, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	progress_clear(&create->progress);
	seconds = progress_now() - began;
	print(create, &summary, seconds);
	return json ? print_json(create, &summary, seconds) : 0;
}

bool create_say_kept(struct create *create, const char *words)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	struct builder_kept kept;

	if (!create->builder || !builder_kept(create->builder, &kept))
		return false;
	create->bytes_before = kept.bytes;
	log_notice("%s: %s %s, %s", create->pack, words, count_noun(kept.files, "file", files),
		   size_format(kept.bytes, bytes));
	return true;
}

int create_say_finished(struct create *create, bool json)
{
	struct builder_summary summary = {0};
	const struct dataset_info *info;
	struct dataset *dataset;
	int r = cmd_open(create->pack, &dataset);

	if (r != EXIT_DONE)
		return r;
	info = dataset_info(dataset);
	summary.files = info->super->files;
	summary.bytes = create->bytes_in = info->super->bytes;
	summary.pack_bytes = info->pack_bytes;
	memcpy(summary.id, info->id, sizeof(summary.id));
	dataset_free(dataset);
	log_notice("%s: finished already; nothing to go on with, id %s", create->pack, summary.id);
	if (json && print_json(create, &summary, 0) < 0)
		return EXIT_FAILED;
	return exit_finish(EXIT_DONE);
}
