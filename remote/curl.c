#include "remote/curl.h"
#include "base/scope.h"

#if REMOTE_CURL

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"

/* A function of libcurl, and where its address goes. */
struct curl_symbol {
	const char *name;
	void *place;
};

/* Needed once a process. Before libcurl 7.84, two threads must not call it at the same time. */
static CURLcode begin(const struct curl *curl)
{
	static pthread_mutex_t curl_beginning = PTHREAD_MUTEX_INITIALIZER;

	SCOPE_LOCK(&curl_beginning);
	return curl->global_init(CURL_GLOBAL_DEFAULT);
}

int curl_load(struct curl *ret, struct err *err)
{
	struct curl curl;
#define CURL_ROW(function) {"curl_" #function, &curl.function},
	const struct curl_symbol symbols[] = {CURL_FUNCTIONS(CURL_ROW)};
	void *library = dlopen(LIBRARY, RTLD_NOW);

	if (!library)
		return err_set(err, -ENOSYS,
			       "URLs need " LIBRARY
			       ": install libcurl4 (Debian, Ubuntu) or "
			       "libcurl (elsewhere): %s",
			       dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *function = dlsym(library, symbols[i].name);

		if (!function)
			return err_set(err, -ENOSYS, LIBRARY " is too old: it has no %s",
				       symbols[i].name);
		memcpy(symbols[i].place, &function, sizeof(function));
	}
	if (begin(&curl) != CURLE_OK)
		return err_set(err, -ENOSYS, LIBRARY " cannot begin");
	*ret = curl;
	return 0;
}

#endif
