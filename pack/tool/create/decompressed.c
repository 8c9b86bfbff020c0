#include "pack/tool/create/decompressed.h"

#include "base/io.h"
#include "base/log.h"
#include "base/name.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/compressed.h"
#include "pack/tool/create/target.h"
#include "pack/tool/import/decompress.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool begins_compressed(int fd)
{
	char head[COMPRESSION_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n > 0 && compression_of(head, (size_t)n);
}

static void say_size(const struct decompressed *d, const char *name, int fd)
{
	char text[SIZE_TEXT];
	struct stat st;

	if (fstat(fd, &st) == 0)
		log_detail("%s: decompressed, %s beside %s for as long as this runs", name,
			   size_format((uint64_t)st.st_size, text), d->pack);
}

/* What looks like damage may be where an old and a new file meet. */
static int decompress_unchanged(int from, int to, struct err *err)
{
	struct stat st;
	int r = fstat(from, &st) < 0 ? -errno : decompress(from, to, err);

	if ((r == 0 || r == -EBADMSG) && io_unchanged(from, &st) == -ESTALE)
		r = err_set(err, -ESTALE,
			    "changed while it was decompressed; try again when nothing writes to "
			    "it");
	return r;
}

static int open_unpacked(const struct decompressed *d, const char *name, int from,
			 struct reader **ret, struct err *err)
{
	SCOPE_CLOSE int to = target_unnamed(d->pack);
	struct err why = {0};
	char path[64];
	int r = to < 0 ? to : decompress_unchanged(from, to, &why);

	if (r < 0 && why.text[0])
		return err_set(err, r, "%s", why.text);
	if (r < 0)
		return err_set(err, r, "decompressing it into the folder of %s: %s", d->pack,
			       strerror(-r));
	say_size(d, name, to);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	r = reader_file_open(path, ret);
	return r < 0 ? r : 1;
}

static int open_decompressed(void *context, const char *name, struct reader **ret, struct err *err)
{
	const struct decompressed *d = context;
	SCOPE_CLOSE int fd = -1;

	if (!name_scheme(name))
		fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && begins_compressed(fd))
		return open_unpacked(d, name, fd, ret, err);
	return d->before.open(d->before.context, name, ret, err);
}

void decompressed_begin(struct decompressed *d, const char *pack, struct foreign_settings *settings)
{
	*d = (struct decompressed){.pack = pack, .settings = settings, .before = *settings};
	settings->open = open_decompressed;
	settings->context = d;
}

void decompressed_end(struct decompressed *d)
{
	d->settings->open = d->before.open;
	d->settings->context = d->before.context;
}
