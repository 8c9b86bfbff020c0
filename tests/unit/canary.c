/* canary KIND: does what the sanitizer of this name must see; canary.sh wants it to be seen. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *count(void *end)
{
	for (int i = 0; i < *(int *)end; i++)
		shared++;
	return NULL;
}

/* Two threads count without a lock. */
static int race(int end)
{
	pthread_t other;

	if (pthread_create(&other, NULL, count, &end) != 0)
		return 0;
	count(&end);
	pthread_join(other, NULL);
	return shared;
}

static int read_behind(int len)
{
	char *text = calloc(1, (size_t)len);
	int byte = text ? text[len] : 0;

	free(text);
	return byte;
}

static int overflow(int number)
{
	return 0x7fffffff - 1000 + number;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int thousand = 1000 * argc;

	if (strcmp(kind, "thread") == 0)
		printf("%d\n", race(thousand));
	if (strcmp(kind, "address") == 0)
		printf("%d\n", read_behind(thousand));
	if (strcmp(kind, "undefined") == 0)
		printf("%d\n", overflow(thousand));
	return 0;
}
