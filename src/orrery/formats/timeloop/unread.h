// What a user writes and nobody reads: attributes without effect, variables that no expression names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/formats/timeloop/component.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// All names that occur in the values of `top`: whatever an expression could refer to. Of the documents that declare
// classes and tables the keys, too, for classes read attributes by declaring them.
std::set<std::string, std::less<>> names_read(const std::vector<yaml::Node::Entry>& top);

// Read of any component by the model or an estimator, or known to be harmless.
bool is_known_attribute(std::string_view key);

// O0330, one for each file: attributes of components of our own classes that are neither known nor among `read`.
void warn_of_unread_attributes(const std::vector<Component>& components, const std::set<std::string, std::less<>>& read,
                               base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
