#include "remote/settings.h"
#include "remote/environment.h"

const char *remote_ca_file(const struct remote_settings *settings)
{
	static const char *const names[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};

	if (settings->ca_file)
		return settings->ca_file;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *file = environment_get(names[i]);

		if (file)
			return file;
	}
	return NULL;
}
