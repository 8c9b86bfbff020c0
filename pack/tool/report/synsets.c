#include "pack/tool/report/synsets.h"
#include <string.h>

#define ID_LEN 9

/* Lines of an id, a blank and a name. */
__asm__(".pushsection .rodata\n"
	".global synsets, synsets_end\n"
	"synsets: .ascii \"\\n\"\n"
	".incbin \"pack/tool/report/synsets.txt\"\n"
	"synsets_end: .byte 0\n"
	".popsection\n");
extern const char synsets[], synsets_end[];

const char *synset_name(const char *id, size_t id_len, size_t *ret_len)
{
	char line[1 + ID_LEN + 1] = "\n";
	const char *name;

	if (id_len != ID_LEN)
		return NULL;
	memcpy(line + 1, id, ID_LEN);
	line[1 + ID_LEN] = ' ';
	name = memmem(synsets, (size_t)(synsets_end - synsets), line, sizeof(line));
	if (!name)
		return NULL;
	name += sizeof(line);
	*ret_len = strcspn(name, "\n");
	return name;
}
