#include "pack/foreign/settings.h"
#include <errno.h>

const char *const foreign_layout_names[] = {"auto", "tree", "classes", NULL};
const char *const foreign_folders_names[] = {"auto", "names", "numbers", NULL};

int foreign_settings_check(const struct foreign_settings *settings, unsigned takes,
			   const char *format, struct err *err)
{
	const struct {
		const char *given, *option;
		unsigned bit;
	} keys[] = {{settings->image_key, "--image-key", FOREIGN_TAKES_IMAGE_KEY},
		    {settings->label_key, "--label-key", FOREIGN_TAKES_LABEL_KEY},
		    {settings->name_key, "--name-key", FOREIGN_TAKES_NAME_KEY}};
	unsigned layout = settings->layout == FOREIGN_TREE	? FOREIGN_TAKES_TREE
			  : settings->layout == FOREIGN_CLASSES ? FOREIGN_TAKES_CLASSES
								: 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].given && *keys[i].given && !(takes & keys[i].bit))
			return err_set(err, -EINVAL,
				       "'%s' chooses a field of a record, and %s has none for it",
				       keys[i].option, format);
	if (layout & ~takes)
		return err_set(err, -EINVAL, "'--layout=%s' is for tars, and this is %s",
			       foreign_layout_names[settings->layout], format);
	return 0;
}

bool foreign_asked(const struct foreign_settings *settings)
{
	return settings->schema || settings->classes || settings->names ||
	       settings->class_folders || settings->layout || settings->image_key ||
	       settings->label_key || settings->name_key;
}

bool foreign_numbers_files(const struct foreign_settings *settings)
{
	return settings->name_key && !*settings->name_key;
}
