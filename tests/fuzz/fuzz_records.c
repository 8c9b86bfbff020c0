/* Whatever the records: LMDBs of Caffe, CRNN, pixels and files by name become a tree, or are
 * refused with a sentence; and each file that is told lies within the bytes. The first byte says
 * which it is. The pages around the records are made right, as nearly every mutation would end
 * there. Where a pickle lies beside an LMDB, it comes first: u16: its length; the pickle. */
#include "base/le.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scan.h"
#include <string.h>

#define PAGE 4096

extern const struct foreign_format caffe_format, crnn_format, lsun_format, basicsr_format,
	sodtools_format, paths_format;

static const struct foreign_format *const formats[] = {
	&caffe_format, &crnn_format, &lsun_format, &basicsr_format, &sodtools_format, &paths_format,
};

struct bytes {
	const uint8_t *data;
	size_t len;
};

/* --- what stands around records --------------------------------------------------------------- */

static void make_meta(uint8_t *page, unsigned number, unsigned entries)
{
	le_put64(page, number);
	le_put16(page + 10, 8);
	le_put32(page + 16, 0xBEEFC0DE);
	le_put32(page + 20, 1);
	le_put32(page + 40, PAGE);
	le_put16(page + 94, 1);
	le_put64(page + 104, 1);
	le_put64(page + 120, entries);
	le_put64(page + 128, 2);
	le_put64(page + 136, 2);
}

/* A leaf of records: length of the key, length of the value, both. Returns how many. */
static unsigned make_leaf(struct bytes from, uint8_t *page)
{
	size_t lower = 16, upper = PAGE;

	while (from.len > 2) {
		size_t key = from.data[0] % 32 + 1u, value = from.data[1];
		size_t node = (8 + key + value + 1) & ~(size_t)1;

		if (from.len < 2 + key + value || lower + 2 + node > upper)
			break;
		upper -= node;
		le_put16(page + lower, (uint16_t)upper);
		lower += 2;
		le_put16(page + upper, (uint16_t)value);
		le_put16(page + upper + 6, (uint16_t)key);
		memcpy(page + upper + 8, from.data + 2, key + value);
		from.data += 2 + key + value;
		from.len -= 2 + key + value;
	}
	le_put64(page, 2);
	le_put16(page + 10, 2);
	le_put16(page + 12, (uint16_t)lower);
	le_put16(page + 14, (uint16_t)upper);
	return (unsigned)(lower - 16) / 2;
}

static size_t make_lmdb(struct bytes records, uint8_t *ret)
{
	unsigned entries;

	memset(ret, 0, 3 * PAGE);
	entries = make_leaf(records, ret + 2 * PAGE);
	make_meta(ret, 0, entries);
	make_meta(ret + PAGE, 1, entries);
	return 3 * PAGE;
}

/* --- scanning --------------------------------------------------------------------------------- */

/* What lies beside it, whatever its name. */
static int open_beside(void *context, const char *name, unsigned how, struct reader **ret,
		       struct err *err)
{
	const struct bytes *bytes = context;
	SCOPE_CLOSE int fd = memfd_create("beside", MFD_CLOEXEC);

	(void)name;
	(void)how;
	(void)err;
	if (fd < 0 || io_pwrite_full(fd, bytes->data, bytes->len, 0) < 0)
		abort();
	return reader_file_open_again(fd, ret);
}

/* Divides the bytes. The same ones lie beside other formats. */
static struct bytes take_beside(const struct foreign_format *format, struct bytes *bytes)
{
	struct bytes beside = *bytes;

	if (format != &sodtools_format || bytes->len < 2)
		return beside;
	beside.data += 2;
	beside.len = min(le_get16(bytes->data), bytes->len - 2);
	bytes->data = beside.data + beside.len;
	bytes->len -= 2 + beside.len;
	return beside;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data + 1, size - 1}, beside;
	SCOPE_FREE uint8_t *file = NULL;
	SCOPE_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);
	SCOPE(reader_release) struct reader *reader = NULL;
	const struct foreign_format *format;

	if (size == 0)
		return 0;
	file = malloc(size + 3 * PAGE);
	format = formats[data[0] % (sizeof(formats) / sizeof(*formats))];
	if (!file)
		return 0;
	beside = take_beside(format, &bytes);
	size = make_lmdb(bytes, file);
	if (fd < 0 || io_pwrite_full(fd, file, size, 0) < 0 || reader_file_borrow(fd, &reader) < 0)
		abort();
	fuzz_scan(format, &(struct foreign_settings){.open = open_beside, .context = &beside},
		  reader, "a_val_lmdb/data.mdb");
	return 0;
}
