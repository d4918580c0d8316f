// `<<` and `<<<`: maps that take entries of others.
//
//   <<: *base     what the map says itself wins, then the earlier of several
//   <<<: *base    the same, but maps that both have are merged in turn, and lists added up (timeloopfe's); a value
//                 tagged `!nomerge` stays as it is
#pragma once

#include <string_view>

#include "orrery/formats/yaml/node.h"

namespace orrery::formats::yaml {

void merge_entries(Node& into, Node source, bool deep);

// A text that begins so stands for a value that is put in later. A merge of one is left as an entry until then.
inline constexpr std::string_view kPlaceholder = "orrery__included__value__";
bool awaits_value(const Node& node);
// Such merges, once the values are in. Throws InputError (O0101) for what is no map.
void merge_filled(Node& node);

// Takes the tags `!nomerge` away, which have done their work.
void drop_merge_tags(Node& node);

}  // namespace orrery::formats::yaml
