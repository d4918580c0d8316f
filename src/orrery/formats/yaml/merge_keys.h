// `<<` and `<<<`: maps that take entries of others.
//
//   <<: *base     what the map says itself wins, then the earlier of several
//   <<<: *base    the same, but maps that both have are merged in turn, and lists added up (timeloopfe's); a value
//                 tagged `!nomerge` stays as it is
#pragma once

#include "orrery/formats/yaml/node.h"

namespace orrery::formats::yaml {

void merge_entries(Node& into, Node source, bool deep);

// Takes the tags `!nomerge` away, which have done their work.
void drop_merge_tags(Node& node);

}  // namespace orrery::formats::yaml
