/* TensorFlow's Example as it lies in a source (example.proto, feature.proto): a map from names to
 * Features, each one of three lists, of which the first value is what counts here. */
#ifndef PACK_FOREIGN_RECORD_TF_FEATURE_H
#define PACK_FOREIGN_RECORD_TF_FEATURE_H

#include "pack/foreign/encoding/protobuf.h"

struct tf_value {
	enum { TF_NONE, TF_BYTES, TF_FLOAT, TF_INTEGER } kind; /* TF_NONE: the list is empty */
	uint64_t offset, size;				       /* of bytes, in the source */
	int64_t integer;
};

/* Returns 0, -EBADMSG (no Feature, or damaged), or the error of the read. */
int tf_feature_first(struct protobuf feature, struct tf_value *ret, struct err *err);

/* The map of an Example, whose entries come one after the other. Return 0; of the entries, 1 at the
 * end; or as above. */
int tf_map_open(struct foreign_source *source, uint64_t offset, uint64_t size, struct protobuf *ret,
		struct err *err);
int tf_map_next(struct protobuf *map, struct protobuf_field *key, struct protobuf *feature,
		struct err *err);

#endif
