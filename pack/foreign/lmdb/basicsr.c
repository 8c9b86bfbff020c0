/* LMDB of BasicSR: keys are paths without suffix, values PNG files. A list lies beside it, as text:
 * "baboon.png (480,500,3) 1", the name, the shape and how hard it was compressed. */
#include "base/scope.h"
#include "pack/foreign/lmdb/keyed.h"
#include <stdio.h>
#include <string.h>

#define LINE_MAX 1024

static bool is_list(const struct buf *text)
{
	char line[LINE_MAX];
	size_t len = text->len < LINE_MAX ? text->len : LINE_MAX - 1;
	unsigned height, width, channels, level;
	const char *shape;

	if (len == 0)
		return false;
	memcpy(line, text->data, len);
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	shape = strrchr(line, '(');
	return shape && sscanf(shape, "(%5u,%5u,%2u) %2u", &height, &width, &channels, &level) == 4;
}

static int basicsr_probe(struct foreign_source *source)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r;

	if (!source->first.key)
		return 0;
	r = foreign_read_beside(source, "/meta_info.txt", &text, NULL);
	if (r == -ENOMEM)
		return r;
	return r == 0 && is_list(&text) ? keyed_probe(source) : 0;
}

static int basicsr_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return keyed_scan(source, tree, &(struct keyed){.plain = true}, err);
}

const struct foreign_format basicsr_format = {
	.name = "basicsr",
	.lmdb = true,
	.probe = basicsr_probe,
	.scan = basicsr_scan,
};
