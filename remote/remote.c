#include "remote/remote.h"
#include "remote/http.h"
#include "remote/s3_keys.h"

static void leave(struct remote *remote)
{
	struct http *unused = NULL;

	pthread_mutex_lock(&remote->lock);
	if (--remote->readers == 0) {
		unused = remote->http;
		remote->http = NULL;
	}
	pthread_mutex_unlock(&remote->lock);
	http_free(unused);
}

int remote_client_new(struct remote *remote, const struct remote_settings *settings,
		      const char *url, struct http_client **ret, struct err *err)
{
	struct http *http;
	int r = 0;

	pthread_mutex_lock(&remote->lock);
	if (remote->readers == 0)
		r = http_new(settings, &remote->http, err);
	remote->readers += r == 0;
	http = remote->http;
	pthread_mutex_unlock(&remote->lock);
	if (r < 0)
		return r;
	r = http_client_new(http, url, ret);
	if (r < 0)
		leave(remote);
	return r;
}

void remote_client_free(struct remote *remote, struct http_client *client)
{
	if (!client)
		return;
	http_client_free(client);
	leave(remote);
}

void remote_stop(struct remote *remote)
{
	if (remote->http)
		http_rest(remote->http);
	for (size_t i = 0; i < sizeof(remote->keys) / sizeof(remote->keys[0]); i++)
		if (remote->keys[i])
			s3_keys_rest(remote->keys[i]);
}
