#include "pack/tool/import/decompress.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/tar_blocks.h"
#include "pack/tool/import/tar_gunzip.h"
#include "pack/tool/import/tar_level.h"
#include <archive.h>

struct decompressing {
	struct tar_input input;
	struct tar_gunzip *gunzip;
	struct archive *archive;
	bool by_program; /* libarchive would run one */
	int error;	 /* of reading */
};

static void decompressing_release(struct decompressing *d)
{
	archive_read_free(d->archive);
	tar_gunzip_free(d->gunzip);
	tar_input_release(&d->input);
}

static la_ssize_t read_gunzipped(struct archive *archive, void *context, const void **ret)
{
	struct decompressing *d = context;
	ssize_t n = tar_gunzip_next(d->gunzip, ret);

	(void)archive;
	if (n >= 0)
		return n;
	d->error = (int)n;
	return ARCHIVE_FATAL;
}

static int raw_fail(const struct decompressing *d, struct err *err)
{
	const char *damage = tar_gunzip_damage(d->gunzip), *reason;

	if (damage)
		return err_set(err, -EBADMSG, "gzip: %s", damage);
	if (d->error)
		return d->error;
	if (archive_errno(d->archive) == ENOMEM)
		return -ENOMEM;
	reason = archive_error_string(d->archive);
	return err_set(err, d->by_program ? -ENOTSUP : -EBADMSG, "decompressing it: %s",
		       reason ? reason : "damaged");
}

static int open_raw(struct decompressing *d, int from, struct err *err)
{
	const struct tar_blocks bytes = {.next = tar_input_next, .context = &d->input};
	struct archive_entry *entry;
	int r = tar_input_init(&d->input, from);

	if (r == 0)
		r = tar_gunzip_new(&bytes, &d->gunzip);
	d->archive = archive_read_new();
	if (r == 0 && (!d->archive || archive_read_support_format_raw(d->archive) != ARCHIVE_OK))
		r = -ENOMEM;
	if (r == 0)
		r = tar_level_filters(d->archive, &d->by_program);
	if (r < 0)
		return r;
	if (archive_read_open(d->archive, d, NULL, read_gunzipped, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(d->archive, &entry) != ARCHIVE_OK)
		return raw_fail(d, err);
	return 0;
}

int decompress(int from, int to, struct err *err)
{
	SCOPE(decompressing_release) struct decompressing d = {.input = {.fd = -1}};
	const void *block;
	size_t len;
	int64_t offset;
	int status = ARCHIVE_OK, r = open_raw(&d, from, err);

	while (r == 0) {
		status = archive_read_data_block(d.archive, &block, &len, &offset);
		if (status == ARCHIVE_EOF)
			return 0;
		r = status == ARCHIVE_OK ? io_write_full(to, block, len) : raw_fail(&d, err);
	}
	return r;
}
