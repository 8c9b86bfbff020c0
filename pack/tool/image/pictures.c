#include "pack/tool/image/pictures.h"

#include "base/python.h"
#include "base/scope.h"
#include <string.h>

static const char *const stores[] = {
	[STORE_KEEP] = "keep", [STORE_JPEG] = "jpeg", [STORE_BMP] = "bmp", [STORE_PPM] = "ppm"};

struct pictures {
	struct buf script;
	const char *argv[10];
	struct coprocesses *processes;
};

int pictures_new(unsigned most, struct pictures **ret)
{
	struct pictures *pictures = calloc(1, sizeof(*pictures));
	int r = pictures ? python_script("tools", "pictures", &pictures->script) : -ENOMEM;

	if (r == 0) {
		const char *const argv[] = {
			python_program_beside(),	   "-B", "-X", "utf8", "-W", "ignore",
			PYTHON_RUN(pictures->script.data), NULL};
		const struct coprocess_params params = {
			.argv = pictures->argv,
			.name = "Python, which foldpack needs for images other than JPEGs,",
			.way_out = PYTHON_WAY_OUT,
			.most = most};

		memcpy(pictures->argv, argv, sizeof(argv));
		r = coprocesses_new(&params, &pictures->processes);
	}
	if (r == -ENOMEM) {
		pictures_free(pictures);
		return r;
	}
	*ret = pictures;
	return 0;
}

void pictures_free(struct pictures *pictures)
{
	if (!pictures)
		return;
	coprocesses_free(pictures->processes);
	buf_release(&pictures->script);
	free(pictures);
}

/* A crash of PIL is an answer, too. */
static int ask_pil(struct pictures *pictures, const char *path, const char *question,
		   const void *data, size_t len, struct answer *ret, struct check_finding *finding,
		   struct err *err)
{
	int r;

	if (!pictures->processes)
		return err_set(err, -ECHILD,
			       "pictures.py, which foldpack needs for images other than JPEGs, is "
			       "not installed beside it");
	r = coprocesses_ask(pictures->processes, path, question, data, len, ret, err);
	if (r == -EBADMSG)
		return check_found(finding, DAMAGE_CORRUPT, false, "%s", err->text);
	return r;
}

/* 1, or -ECHILD if the word is none of damage. */
static int refused(const struct answer *answer, struct check_finding *ret, struct err *err)
{
	const char *damage = check_damage(answer->word);

	if (!damage)
		return err_set(err, -ECHILD, "pictures.py answers '%s'", answer->word);
	return check_found(ret, damage, false, "%s", answer->why);
}

int pictures_check(struct pictures *pictures, const char *path, const void *data, size_t len,
		   struct check_finding *ret, struct err *err)
{
	SCOPE(answer_release) struct answer answer = {0};
	int r = ask_pil(pictures, path, "check", data, len, &answer, ret, err);

	if (r != 0 || strcmp(answer.word, "good") == 0)
		return r;
	return refused(&answer, ret, err);
}

int pictures_make(struct pictures *pictures, const char *path, const void *data, size_t len,
		  const struct transform *how, uint32_t width, uint32_t height, struct answer *ret,
		  struct check_finding *ret_finding, struct err *err)
{
	char question[64];
	int r;

	snprintf(question, sizeof(question), "make %u %u %s %u", width, height, stores[how->store],
		 how->quality ? how->quality : TRANSFORM_QUALITY);
	r = ask_pil(pictures, path, question, data, len, ret, ret_finding, err);
	if (r != 0)
		return r == 1 ? 2 : r;
	if (strcmp(ret->word, "kept") == 0)
		return 1;
	if (strcmp(ret->word, "made") == 0 || strcmp(ret->word, "mask") == 0)
		return 0;
	r = refused(ret, ret_finding, err);
	return r == 1 ? 2 : r;
}
