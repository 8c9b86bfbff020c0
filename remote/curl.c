#include "remote/curl.h"
#include "base/scope.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_MS    30000L
#define CONNECT_TRIES 2 /* more, that is 3 to 7 s, by kernel */

#if FOLDFS_STATIC

#define CURL_ROW(function) .function = curl_##function,

static int find_functions(struct curl *ret, struct err *err)
{
	(void)err;
	*ret = (struct curl){CURL_FUNCTIONS(CURL_ROW)};
	return 0;
}

#else

#include <dlfcn.h>

#define LIBRARY		   "libcurl.so.4"
#define CURL_ROW(function) {"curl_" #function, &ret->function},

/* A function of libcurl, and where its address goes. */
struct curl_symbol {
	const char *name;
	void *place;
};

static int find_functions(struct curl *ret, struct err *err)
{
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
	return 0;
}

#endif

/* What is needed once a process comes last. Before libcurl 7.84, two threads must not call it at
 * the same time. */
int curl_load(struct curl *ret, struct err *err)
{
	static pthread_mutex_t curl_beginning = PTHREAD_MUTEX_INITIALIZER;
	struct curl curl;
	int r = find_functions(&curl, err);

	if (r < 0)
		return r;
	SCOPE_LOCK(&curl_beginning);
	if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, -ENOSYS, "libcurl cannot begin");
	*ret = curl;
	return 0;
}

int curl_add_headers(const struct curl *curl, const struct buf *lines, struct curl_slist **ret)
{
	for (size_t at = 0; at < lines->len; at += strlen(lines->data + at) + 1) {
		struct curl_slist *more = curl->slist_append(*ret, lines->data + at);

		if (!more)
			return -ENOMEM;
		*ret = more;
	}
	return 0;
}

/* If this is refused, the connection just takes longer to fail. */
static int limit_tries(void *context, curl_socket_t fd, curlsocktype purpose)
{
	const int tries = CONNECT_TRIES;

	(void)context;
	(void)purpose;
	setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
	return CURL_SOCKOPT_OK;
}

/* libcurl has one limit for finding the address and connecting to it. The first may take long where
 * nameservers are dead: glibc asks the next one after 5 s, for each of the domains that are
 * searched, and later ones anew. The second may not, so the kernel limits that. */
void curl_set_up(const struct curl *curl, CURL *easy, const struct remote_settings *settings)
{
	struct remote_trust trust = remote_trust(settings);

	curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, limit_tries);
	/* Both are set, as libcurl may have been built with others: these would be trusted beside
	 * the former, and a store of certificates with a folder is read anew for each connection. A
	 * proxy that is spoken to by https is a server, too. */
	if (!trust.file && !trust.folder)
		return;
	curl->easy_setopt(easy, CURLOPT_CAINFO, trust.file);
	curl->easy_setopt(easy, CURLOPT_CAPATH, trust.folder);
	curl->easy_setopt(easy, CURLOPT_PROXY_CAINFO, trust.file);
	curl->easy_setopt(easy, CURLOPT_PROXY_CAPATH, trust.folder);
}
