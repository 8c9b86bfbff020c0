/* A web server in the test's own process, with one object of which every byte is known. It says
 * what the test wants. */
#pragma once

#include "base/scope.h"
#include "tests/unit/test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* libcurl 7.88 closes a socket that was connecting, and only then says that it is not to be
 * watched. When this server has got its number meanwhile, it looks like a race; it is none, as what
 * is not watched cannot be left out. */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:watch_socket";
}
#endif

enum answer {
	ANSWER_RANGE,
	ANSWER_503,
	ANSWER_401,
	ANSWER_CUT,
	ANSWER_UNENDED, /* all bytes, but not the last chunk */
	ANSWER_LONG,	/* more bytes than its Content-Range says */
	ANSWER_HANG_UP,
	ANSWER_NEVER
};

struct http_server;

/* Returns whether the connection goes on. */
typedef bool reply_fn(struct http_server *server, int fd, const char *text);
typedef enum answer answer_fn(struct http_server *server, unsigned request, const char *text);

struct http_server {
	uint64_t size;	   /* of the object */
	atomic_int etag;   /* its version */
	reply_fn *reply;   /* answers everything; NULL: what follows does */
	answer_fn *answer; /* NULL: the first `good` get ANSWER_RANGE, the next what `then` says */
	unsigned good;
	enum answer then;
	bool once; /* and those after it ANSWER_RANGE again */
	atomic_uint requests;
	atomic_bool stopping;
	int listening;
	unsigned port;
	pthread_t thread;
	pthread_t connections[16384];
	int fds[16384];
	unsigned connected;
};

struct connection {
	struct http_server *server;
	int fd;
};

static inline unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)(offset * 2654435761u >> 13 ^ offset >> 20);
}

static inline bool send_all(int fd, const void *data, size_t len)
{
	return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static inline bool send_status(int fd, const char *status)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

	return send_all(fd, text, (size_t)len);
}

/* `headers`: lines, each with its end. */
static inline bool send_text(int fd, const char *headers, const char *text, size_t len)
{
	char head[65536];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n",
			 len, headers);

	return send(fd, head, (size_t)n, MSG_NOSIGNAL | (len ? MSG_MORE : 0)) == n &&
	       send_all(fd, text, len);
}

/* "a-b" and "-n". */
static inline void find_range(const struct http_server *server, const char *text, uint64_t *first,
			      uint64_t *last)
{
	const char *range = strstr(text, "Range: bytes=");
	unsigned long long a = 0, b = 0;

	assert_non_null(range);
	range += strlen("Range: bytes=");
	if (sscanf(range, "-%llu", &b) == 1) {
		*first = b < server->size ? server->size - b : 0;
		*last = server->size - 1;
		return;
	}
	assert_int_equal(sscanf(range, "%llu-%llu", &a, &b), 2);
	*first = a;
	*last = b < server->size ? b : server->size - 1;
}

static inline bool send_range(struct http_server *server, int fd, const char *text,
			      enum answer answer)
{
	char headers[256], framing[48], chunk[20] = "";
	uint64_t first, last, len;
	bool cut = answer == ANSWER_CUT, unended = answer == ANSWER_UNENDED;
	int etag = atomic_load(&server->etag), asked = etag, n;
	const char *condition = strstr(text, "If-Match: ");
	SCOPE_FREE unsigned char *body = NULL;

	if (condition)
		sscanf(condition, "If-Match: \"%d\"", &asked);
	if (asked != etag)
		return send_status(fd, "412 Precondition Failed");
	find_range(server, text, &first, &last);
	len = last - first + 1 + (answer == ANSWER_LONG ? 10 : 0);
	snprintf(framing, sizeof(framing), "Content-Length: %llu", (unsigned long long)len);
	if (unended)
		snprintf(chunk, sizeof(chunk), "%llx\r\n", (unsigned long long)len);
	n = snprintf(headers, sizeof(headers),
		     "HTTP/1.1 206 Partial Content\r\n%s\r\n"
		     "Content-Range: bytes %llu-%llu/%llu\r\nETag: \"%d\"\r\n\r\n%s",
		     unended ? "Transfer-Encoding: chunked" : framing, (unsigned long long)first,
		     (unsigned long long)last, (unsigned long long)server->size, etag, chunk);
	body = malloc(len);
	for (uint64_t i = 0; i < len; i++)
		body[i] = byte_at(first + i);
	return send_all(fd, headers, (size_t)n) && send_all(fd, body, cut ? len / 2 : len) &&
	       !cut && !unended;
}

static inline bool answer_request(struct http_server *server, int fd, const char *text)
{
	unsigned request = atomic_fetch_add(&server->requests, 1);
	bool is_good = request < server->good || (server->once && request > server->good);
	enum answer answer = server->answer ? server->answer(server, request, text)
			     : is_good	    ? ANSWER_RANGE
					    : server->then;
	char none;

	if (server->reply)
		return server->reply(server, fd, text);
	switch (answer) {
	case ANSWER_RANGE:
	case ANSWER_CUT:
	case ANSWER_UNENDED:
	case ANSWER_LONG:
		return send_range(server, fd, text, answer);
	case ANSWER_503:
		return send_status(fd, "503 Slow Down");
	case ANSWER_401:
		return send_status(fd, "401 Unauthorized");
	case ANSWER_NEVER:
		recv(fd, &none, 1, 0); /* until either side hangs up */
		return false;
	default:
		return false;
	}
}

static inline void *serve_connection(void *arg)
{
	struct connection connection = *(struct connection *)arg;
	char text[4096];
	size_t len = 0;
	ssize_t n;

	free(arg);
	while ((n = recv(connection.fd, text + len, sizeof(text) - 1 - len, 0)) > 0) {
		len += (size_t)n;
		text[len] = '\0';
		if (!strstr(text, "\r\n\r\n"))
			continue;
		if (!answer_request(connection.server, connection.fd, text))
			break;
		len = 0;
	}
	shutdown(connection.fd, SHUT_RDWR);
	return NULL;
}

static inline void *serve_all(void *arg)
{
	struct http_server *server = arg;
	int fd;

	while ((fd = accept(server->listening, NULL, NULL)) >= 0) {
		struct connection *connection = malloc(sizeof(*connection));

		assert_true(server->connected < 16384);
		*connection = (struct connection){.server = server, .fd = fd};
		server->fds[server->connected] = fd;
		pthread_create(&server->connections[server->connected++], NULL, serve_connection,
			       connection);
	}
	return NULL;
}

static inline void server_start(struct http_server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	server->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->listening, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server->listening, 512), 0);
	getsockname(server->listening, (struct sockaddr *)&address, &len);
	server->port = ntohs(address.sin_port);
	pthread_create(&server->thread, NULL, serve_all, server);
}

static inline void server_stop(struct http_server *server)
{
	shutdown(server->listening, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listening);
	for (unsigned i = 0; i < server->connected; i++) {
		shutdown(server->fds[i], SHUT_RDWR);
		pthread_join(server->connections[i], NULL);
		close(server->fds[i]);
	}
	free(server);
}

static inline struct http_server *server_new(uint64_t size)
{
	struct http_server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	server->size = size;
	atomic_store(&server->etag, 1);
	return server;
}
