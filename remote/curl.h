/* libcurl, loaded when the first URL is opened: users of local packs neither need it nor wait for
 * it.
 *
 * If its headers were missing when foldfs was built, or if it is static, and so cannot load anything,
 * REMOTE_CURL is 0, and reader_remote_open() and fetch() say so. */
#ifndef REMOTE_CURL_H
#define REMOTE_CURL_H

#if !defined(REMOTE_CURL) && !FOLDFS_STATIC && __has_include(<curl/curl.h>)
#define REMOTE_CURL 1
#elif !defined(REMOTE_CURL)
#define REMOTE_CURL 0
#endif

#if REMOTE_CURL
#include "base/err.h"
#include <curl/curl.h>

#define CURL_FUNCTIONS(f)                                                                        \
	f(global_init) f(easy_init) f(easy_cleanup) f(easy_reset) f(easy_setopt) f(easy_perform) \
		f(easy_getinfo) f(easy_strerror) f(slist_append) f(slist_free_all) f(multi_init) \
			f(multi_cleanup) f(multi_setopt) f(multi_add_handle)                     \
				f(multi_remove_handle) f(multi_socket_action) f(multi_info_read)

#define CURL_MEMBER(name) __typeof__(curl_##name) *name;

/* easy_setopt is curl_easy_setopt(), and so on. */
struct curl {
	CURL_FUNCTIONS(CURL_MEMBER)
};

/* It stays loaded until the process ends. Returns 0 or -ENOSYS. */
int curl_load(struct curl *ret, struct err *err);

#endif

#endif
