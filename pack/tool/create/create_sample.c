/* Estimates the result of packing a folder from some of its files. They are read, checked and
 * transformed as for a pack, but not stored. */
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_inputs.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/import_dir.h"
#include "pack/tool/import/source.h"
#include <stdio.h>

#define SAMPLE_FILES 500

struct create_sample {
	uint64_t files, bytes, entries; /* of the whole source */
	uint64_t taken;			/* files that were looked at */
	uint64_t bytes_read;		/* of these; large files are not read */
	uint64_t bytes_in, bytes_out;	/* of these, in the source and as they would be stored */
	uint64_t bad;			/* of these files */
	double seconds;			/* that it took */
};

static int sample_item(struct create *create, struct item *item)
{
	struct create_sample *sample = create->sample;
	bool bad = item->error || (item->is_bad && !item->finding.usable);

	if (item->annotations.places)
		return create_refuse_annotations(create, item->path.data, &item->annotations, 0);
	sample->taken++;
	sample->bytes_in += item->size;
	sample->bytes_read += item_is_large(item) ? 0 : item->size;
	sample->bytes_out += item_is_large(item) ? item->size : item->bytes.len;
	sample->bad += bad;
	if (bad && !create->silent)
		log_notice("%s/%s: %s", create->source, item->path.data,
			   item->error ? source_error_text(item->error) : item->finding.text);
	return 0;
}

static void release_builder(struct builder **builder)
{
	builder_free(*builder);
}

static int read_sample(struct create *create, struct create_sample *ret)
{
	double began = progress_now();
	int r;

	create->sample = ret;
	r = create_run(create, sample_item);
	ret->seconds = progress_now() - began;
	create->sample = NULL;
	return r;
}

/* Leaves no importer behind. As create_run(). */
static int take_sample(struct create *create, struct create_sample *ret)
{
	struct import_dir_params params = create_folder_params(create);
	SCOPE(release_builder) struct builder *entries = NULL;
	struct order some = *params.order;
	int r = builder_new_entries(&entries);

	some.sample = SAMPLE_FILES;
	params.order = &some;
	params.scan.builder = entries;
	if (r == 0)
		r = create_open_folder(create, &params);
	if (r == 0)
		r = create_look_ahead(create, entries, create->import->entries);
	if (r < 0)
		return r;
	ret->files = create->import->files;
	ret->bytes = create->import->bytes;
	ret->entries = create->import->entries;
	r = read_sample(create, ret);
	import_free(steal_ptr(&create->import));
	return r;
}

/* The bytes of the source as a multiple of `bytes`. */
static double sample_times(const struct create_sample *sample, uint64_t bytes)
{
	return bytes ? (double)sample->bytes / (double)bytes : 0;
}

/* 0: not known. Large files are not read. If they have nearly all bytes, the time of the others
 * says nothing about them. */
static double sample_seconds(const struct create_sample *sample)
{
	return sample->bytes_read < sample->bytes_in / 100
		       ? 0
		       : sample->seconds * sample_times(sample, sample->bytes_read);
}

/* About how large a pack of everything would be. */
static uint64_t pack_bytes(const struct create_sample *sample)
{
	double bytes = (double)sample->bytes_out * sample_times(sample, sample->bytes_in);

	return target_estimate((uint64_t)bytes, sample->entries);
}

static void print_sample(const struct create *create, const struct create_sample *sample)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], pack[SIZE_TEXT], left[SIZE_TEXT], taken[SIZE_TEXT],
		bad[SIZE_TEXT], time[48] = "";

	cmd_put(create->source, strlen(create->source));
	printf(": %s, %s\n", count_noun(sample->files, "file", files),
	       size_format(sample->bytes, bytes));
	if (sample_seconds(sample) > 0)
		snprintf(time, sizeof(time), ", in about %.0f s", sample_seconds(sample));
	cmd_put(create->pack, strlen(create->pack));
	printf(": about %s%s; %s free\n", size_format(pack_bytes(sample), pack), time,
	       size_format(target_free(create->pack), left));
	printf("bad: %s of %s that %s looked at\n", count_format(sample->bad, bad),
	       count_noun(sample->taken, "file", taken), sample->taken == 1 ? "was" : "were");
}

static int print_sample_json(const struct create *create, const struct create_sample *sample)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);

	json_object(&json, NULL);
	json_u64(&json, "files", sample->files);
	json_u64(&json, "bytes_in", sample->bytes);
	json_u64(&json, "bytes_out", pack_bytes(sample));
	json_double(&json, "seconds", sample_seconds(sample));
	json_u64(&json, "free", target_free(create->pack));
	json_u64(&json, "looked_at", sample->taken);
	json_u64(&json, "bad", sample->bad);
	json_end(&json);
	return cmd_print_json(&text);
}

int create_dry_run(struct create *create)
{
	struct create_sample sample = {0};
	int r = take_sample(create, &sample);

	if (r < 0)
		return r;
	if (create->options.json)
		return print_sample_json(create, &sample);
	print_sample(create, &sample);
	return 0;
}

int create_warn_of_bitmaps(struct create *create)
{
	struct create_sample sample = {0};
	char bytes[SIZE_TEXT];
	int r;

	create->silent = true;
	r = take_sample(create, &sample);
	create->silent = false;
	if (r == 0)
		log_notice(
			"%s: about %s, as images are decoded; torchvision.io and TurboJPEG "
			"cannot read them",
			create->pack, size_format(pack_bytes(&sample), bytes));
	return r;
}
