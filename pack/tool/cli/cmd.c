#include "pack/tool/cli/cmd.h"

#include "base/name.h"
#include "base/notices.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/utf8.h"
#include "pack/labels.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/import/unpack.h"
#include "pack/write/store.h"
#include "remote/open.h"
#include "remote/prefix.h"
#include <string.h>
#include <xxhash.h>

int cmd_usage_error(const struct opt_command *command, const char *text)
{
	return log_fail(EXIT_USAGE, "%s; see '%s --help'", text, command->name);
}

static int open_reader(void *context, const char *name, unsigned how, struct reader **ret,
		       struct err *err)
{
	struct cmd_common *common = context;

	return reader_open(name, how, &common->remote, &common->engine, ret, err);
}

static int open_prefix(void *context, const char *name, struct members **ret, struct err *err)
{
	struct cmd_common *common = context;

	return name_is_prefix(name) ? prefix_open(name, &common->remote, &common->engine, ret, err)
				    : 1;
}

int cmd_parse(const struct cmd_line *line, int argc, char **argv, char ***ret_args)
{
	struct opt_result parsed;
	struct err err = {0};

	line->common->remote = (struct remote_settings)REMOTE_DEFAULTS;
	line->common->remote.notice = log_notice_line;
	line->common->engine = (struct remote)REMOTE_INIT;
	line->common->pages = (struct pages)PAGES_INIT;
	line->common->foreign = (struct foreign_settings){.open = open_reader,
							  .open_prefix = open_prefix,
							  .context = line->common,
							  .prefix_context = line->common,
							  .pages = &line->common->pages,
							  .notice = log_notice_line};
	if (opt_parse(line->command, line->settings, argc, argv, &parsed, &err) < 0)
		return cmd_usage_error(line->command, err.text);
	if (parsed.want == OPT_HELP) {
		opt_help(line->command, stdout);
		return exit_finish(EXIT_DONE);
	}
	if (parsed.want == OPT_VERSION) {
		cmd_version();
		return exit_finish(EXIT_DONE);
	}
	if (parsed.nargs < line->least) {
		opt_missing(line->command, parsed.nargs, &err);
		return cmd_usage_error(line->command, err.text);
	}
	if (line->most >= 0 && parsed.nargs > line->most) {
		err_set(&err, 0, "unexpected argument '%s'", parsed.args[line->most]);
		return cmd_usage_error(line->command, err.text);
	}
	log_init("foldpack", cmd_level(line->common));
	line->common->remote.first_url = name_first_url(parsed.args, (size_t)parsed.nargs);
	*ret_args = parsed.args;
	return CMD_RUN;
}

void cmd_version(void)
{
	unsigned xxh = XXH_versionNumber();
	int major, minor, patch;

	store_library(&major, &minor, &patch);
	printf("foldpack %s\nliblmdb %d.%d.%d, libjpeg-turbo %s, %s, xxHash %u.%u.%u\n",
	       FOLDFS_VERSION, major, minor, patch, jpeg_version(), unpack_library(), xxh / 10000,
	       xxh / 100 % 100, xxh % 100);
}

int cmd_check_local(const char *output)
{
	SCOPE_FREE char *shown = output && strstr(output, "://") ? name_shown(output) : NULL;
	bool s3 = shown && strncmp(shown, "s3://", 5) == 0;

	if (output && strcmp(output, "-") == 0)
		return log_fail(EXIT_USAGE,
				"-: standard output is not possible here: name a file "
				"or folder, which may be ./-");
	if (!shown)
		return EXIT_DONE;
	return log_fail(EXIT_USAGE,
			"%s: a URL; foldpack writes local files only: name a file or folder, and "
			"copy it afterwards%s%s",
			shown, s3 ? ": aws s3 cp NAME " : "", s3 ? shown : "");
}

int cmd_status(const char *path, int error, const struct err *err)
{
	if (error < 0)
		log_error("%s%s%s", path ? path : "", path ? ": " : "", err_text(err, error));
	return (int)exit_status_of(error);
}

int cmd_open_name(const struct name *name, const struct cmd_common *common, struct dataset **ret,
		  struct err *err)
{
	struct foreign_settings foreign = common->foreign;

	foreign.how = name->apart ? READER_APART : 0;
	return foreign_open(name->name, &foreign, ret, err);
}

static int open_any(void *common, const struct name *name, struct dataset **ret, struct err *err)
{
	return cmd_open_name(name, common, ret, err);
}

static int list_named(void *context, const char *name, struct buf *ret, struct err *err)
{
	struct cmd_common *common = context;

	return name_list(name, &common->remote, &common->engine, ret, err);
}

static struct packs_params params_of(const char *const *words, size_t count,
				     const struct cmd_common *common)
{
	return (struct packs_params){.words = words,
				     .count = count,
				     .open = open_any,
				     .open_list = open_reader,
				     .list = list_named,
				     .context = (void *)common,
				     .notice = common->foreign.notice,
				     .alone_ok = true,
				     .makes_packs = common->makes_packs,
				     .delta_ok = common->delta_ok};
}

int cmd_open(char *word, const struct cmd_common *common, struct dataset **ret)
{
	SCOPE(names_release) struct names names = {0};
	int r = cmd_names(&word, 1, common, &names);

	return r == EXIT_DONE ? cmd_open_names(&names, common, ret) : r;
}

int cmd_open_names(const struct names *names, const struct cmd_common *common, struct dataset **ret)
{
	const struct packs_params params = params_of(NULL, 0, common);
	SCOPE(packs_label_release) struct packs_label label = {0};
	SCOPE(notices_release) struct notices notices = NOTICES_INIT;
	SCOPE(makers_release) struct makers makers = MAKERS_INIT;
	struct foreign_settings *foreign = &((struct cmd_common *)params.context)->foreign;
	struct err err = {0};
	int r;

	foreign->notices = &notices;
	foreign->makers = &makers;
	r = packs_open_names(&params, names, ret, &label, &err);
	foreign->notices = NULL;
	foreign->makers = NULL;
	if (r == 0)
		notices_say(&notices, foreign->notice);
	return cmd_status(NULL, r, &err);
}

int cmd_copied(const char *name, const struct dataset *dataset)
{
	char count[SIZE_TEXT];

	if (dataset_left_out(dataset) == 0)
		return EXIT_DONE;
	log_notice("%s: %s of its members left out", name,
		   count_format(dataset_left_out(dataset), count));
	return EXIT_SKIPPED;
}

void cmd_say_labels(const char *name, const struct dataset *dataset)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct labels_report report;

	if (labels_compare(dataset, &report) == 0 && labels_explain(dataset, &report, &text) == 0 &&
	    text.len)
		log_notice("%s: %s", name, text.data);
}

size_t cmd_count(char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

int cmd_names(char **words, size_t count, const struct cmd_common *common, struct names *ret)
{
	const struct packs_params params = params_of((const char *const *)words, count, common);
	struct err err = {0};
	int r = packs_names(&params, ret, &err);

	for (size_t i = 0; i < count; i++)
		name_hide_secrets(words[i]);
	return cmd_status(NULL, r, &err);
}

int cmd_load(const char *path, struct dataset *dataset, unsigned parts)
{
	struct err err = {0};
	int r = dataset_load(dataset, parts, &err);

	if (r < 0)
		log_error("%s: %s%s", path, err_text(&err, r), dataset_way_out(r));
	return (int)exit_status_of(r);
}

int cmd_find(const char *pack, const struct dataset *dataset, const char *path, uint32_t *ret)
{
	int r = dataset_find(dataset, path, strlen(path), ret);

	if (r == 0)
		return EXIT_DONE;
	return log_fail(EXIT_FAILED, "%s: %s: not in the pack; 'foldpack list %s' shows what is",
			pack, path, pack);
}

void cmd_put_shown(const char *name, size_t len)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;

	if (utf8_add_shown(&shown, name, len) == 0 && shown.len > 0)
		fwrite(shown.data, 1, shown.len, stdout);
}

void cmd_put(const char *name, size_t len)
{
	if (isatty(STDOUT_FILENO))
		cmd_put_shown(name, len);
	else
		fwrite(name, 1, len, stdout);
}

int cmd_print_json(const struct buf *json)
{
	int r = buf_error(json);

	if (r == 0) {
		fwrite(json->data, 1, json->len, stdout);
		putchar('\n');
	}
	return r;
}

enum log_level cmd_level(const struct cmd_common *common)
{
	if (common->quiet)
		return LOG_LEVEL_QUIET;
	if (common->verbose)
		return LOG_LEVEL_VERBOSE;
	return common->progress_json ? LOG_LEVEL_WARNINGS : LOG_LEVEL_NORMAL;
}

enum progress_want cmd_progress(const struct cmd_common *common)
{
	if (common->progress_json)
		return PROGRESS_JSON;
	if (common->progress)
		return PROGRESS_ALWAYS;
	return common->quiet ? PROGRESS_NEVER : PROGRESS_AUTO;
}
