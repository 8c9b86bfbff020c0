#include "pack/foreign/encoding/pickle_machine.h"
#include <string.h>

static const char *const known_globals[][2] = {
	{"numpy", "ndarray"},
	{"numpy", "dtype"},
	{"numpy.core.multiarray", "_reconstruct"},
	{"numpy._core.multiarray", "_reconstruct"},
	{"numpy.core.multiarray", "scalar"},
	{"numpy._core.multiarray", "scalar"},
	{"numpy.core.numeric", "_frombuffer"},
	{"numpy._core.numeric", "_frombuffer"},
	{"_codecs", "encode"},
	{"builtins", "bytearray"},
	{"builtins", "bytes"},
	{"__builtin__", "bytearray"},
	{"__builtin__", "bytes"},
	{"collections", "OrderedDict"},
	{"torch", "Size"},
	{"torch._utils", "_rebuild_tensor_v2"},
	{"torch.storage", "_load_from_bytes"},
};

static bool is_storage(const char *module, const char *name)
{
	static const char suffix[] = "Storage";
	size_t len = strlen(name), cut = sizeof(suffix) - 1;

	return (strcmp(module, "torch") == 0 || strcmp(module, "torch.storage") == 0) &&
	       len >= cut && strcmp(name + len - cut, suffix) == 0;
}

bool pickle_is_known(const char *module, const char *name)
{
	for (size_t i = 0; i < sizeof(known_globals) / sizeof(*known_globals); i++) {
		if (strcmp(module, known_globals[i][0]) == 0 &&
		    strcmp(name, known_globals[i][1]) == 0)
			return true;
	}
	return is_storage(module, name);
}
