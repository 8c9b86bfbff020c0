/* Whatever a script says of a file, the tree takes it, or it is refused with a sentence; and each
 * file that is told lies within the bytes. A message is a letter, u16: the length of its fields,
 * and these; the input is the file, too. */
#include "base/le.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/message.h"
#include "pack/foreign/tree_internal.h"
#include "tests/fuzz/fuzz.h"

#define HEAD 3

/* Takes one; false: there is no more. */
static bool next_message(const uint8_t **data, size_t *size, struct message *ret)
{
	size_t len;

	if (*size <= HEAD)
		return false;
	len = min(le_get16(*data + 1), *size - HEAD);
	*ret = (struct message){.letter = (char)**data,
				.at = (const char *)*data + HEAD,
				.end = (const char *)*data + HEAD + len};
	*data += HEAD + len;
	*size -= HEAD + len;
	return true;
}

static void check_tree(const struct foreign_tree *tree)
{
	struct reader_identity unpacked = {0};

	if (tree->unpacked)
		must(reader_identity(tree->unpacked, &unpacked) == 0);
	for (size_t i = 0; i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];
		const uint64_t ends[TREE_VOLUMES] = {[TREE_SOURCE] = tree->source->size,
						     [TREE_MADE] = tree->virtual_end,
						     [TREE_UNPACKED] = unpacked.size,
						     [TREE_TEXT] = tree->text.len};

		must(row->kind != FORMAT_FILE || (row->offset <= ends[row->volume] &&
						  row->size <= ends[row->volume] - row->offset));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(foreign_source_release) struct foreign_source source = {0};
	SCOPE(foreign_tree_release) struct foreign_tree tree = {0};
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	const struct foreign_settings settings = {0};
	const struct held_page page = {0};
	struct message message;
	struct err err = {0};
	int r = 0;

	must(reader_file_borrow(fd, &reader) == 0);
	if (foreign_source_init(&source, reader, "x.rec", false, &settings, &err) < 0 ||
	    foreign_tree_init(&tree, &source, &err) < 0)
		return 0;
	while (r == 0 && next_message(&data, &size, &message)) {
		if (message.at < message.end && message.end[-1])
			continue; /* as maker.c sees to */
		r = message.letter == 'E' ? message_fail(&message, &err)
					  : message_take(&message, &page, &tree, &err);
	}
	must(r == 0 || err.text[0]);
	check_tree(&tree);
	return 0;
}
