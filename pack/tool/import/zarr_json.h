/* Values in JSON by their keys. What is not there, or of another type, is NULL, "" or 0. */
#ifndef PACK_TOOL_IMPORT_ZARR_JSON_H
#define PACK_TOOL_IMPORT_ZARR_JSON_H

#include <json-c/json.h>

static inline json_object *zarr_json_member(json_object *object, const char *key)
{
	json_object *found = NULL;

	json_object_object_get_ex(object, key, &found);
	return found;
}

static inline const char *zarr_json_text(json_object *object, const char *key)
{
	json_object *text = zarr_json_member(object, key);

	return json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
}

static inline size_t zarr_json_count(json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

#endif
