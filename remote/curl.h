/* libcurl, loaded when the first URL is opened: users of local packs neither need it nor wait for
 * it. It is linked into static programs, which cannot load anything. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "remote/settings.h"
#include <curl/curl.h>

/* Older headers than the libcurl that is loaded may lack these; libcurls that lack them refuse. */
#if LIBCURL_VERSION_NUM < 0x074100
#define CURLOPT_MAXAGE_CONN ((CURLoption)(CURLOPTTYPE_LONG + 288))
#endif
#if LIBCURL_VERSION_NUM < 0x074200
#define CURLINFO_RETRY_AFTER ((CURLINFO)(CURLINFO_OFF_T + 57))
#endif
#if LIBCURL_VERSION_NUM < 0x075500
#define CURLOPT_PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#endif
#define CURLE_TOO_LONG_LINE   100 /* CURLE_TOO_LARGE, since 8.6 */
#define CURL_PROTOCOLS_NUMBER ((CURLoption)(CURLOPTTYPE_LONG + 181)) /* deprecated since 7.85 */

#define CURL_FUNCTIONS(f)                                                                          \
	f(global_init) f(easy_init) f(easy_cleanup) f(easy_setopt) f(easy_perform) f(easy_getinfo) \
		f(easy_strerror) f(slist_append) f(slist_free_all) f(multi_init) f(multi_cleanup)  \
			f(multi_setopt) f(multi_add_handle) f(multi_remove_handle)                 \
				f(multi_socket_action) f(multi_info_read)

#define CURL_MEMBER(name) __typeof__(curl_##name) *name;

/* easy_setopt is curl_easy_setopt(), and so on. */
struct curl {
	CURL_FUNCTIONS(CURL_MEMBER)
};

/* It stays loaded until the process ends. Returns 0 or -ENOSYS. */
int curl_load(struct curl *ret, struct err *err);

/* Makes a list of header lines (header_add()). Returns 0 or -ENOMEM: the list is to be freed, too.
 */
int curl_add_headers(const struct curl *curl, const struct buf *lines, struct curl_slist **ret);

/* Says which authorities are trusted, and how long a connection may take. */
void curl_set_up(const struct curl *curl, CURL *easy, const struct remote_settings *settings);
