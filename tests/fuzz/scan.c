#include "tests/fuzz/scan.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include "tests/fuzz/fuzz.h"

void fuzz_check_tree(const struct foreign_tree *tree)
{
	struct reader_identity unpacked = {0};

	if (tree->unpacked)
		must(reader_identity(tree->unpacked, &unpacked) == 0);
	for (size_t i = 0; i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];
		const uint64_t ends[TREE_VOLUMES] = {[TREE_SOURCE] = tree->source->size,
						     [TREE_MADE] = tree->made_end,
						     [TREE_UNPACKED] = unpacked.size,
						     [TREE_TEXT] = tree->text.len};

		must(row->kind != FORMAT_FILE || (row->offset <= ends[row->volume] &&
						  row->size <= ends[row->volume] - row->offset));
	}
}

void fuzz_scan(const struct foreign_format *format, const struct foreign_settings *settings,
	       struct reader *reader, const char *name)
{
	SCOPE(foreign_source_release) struct foreign_source source = {0};
	SCOPE(foreign_tree_release) struct foreign_tree tree = {0};
	struct err err = {0};

	if (foreign_source_init(&source, reader, name, false, settings, &err) < 0 ||
	    foreign_tree_init(&tree, &source, &err) < 0)
		return;
	format->probe(&source);
	if (format->scan(&source, &tree, &err) == 0)
		fuzz_check_tree(&tree);
	else
		must(err.text[0]);
}
