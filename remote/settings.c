#include "remote/settings.h"
#include <stdlib.h>

const char *remote_ca_file(const struct remote_settings *settings)
{
	static const char *const names[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};

	if (settings->ca_file)
		return settings->ca_file;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *file = getenv(names[i]);

		if (file && file[0])
			return file;
	}
	return NULL;
}
