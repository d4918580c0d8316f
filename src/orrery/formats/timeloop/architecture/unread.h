// What a user writes and nobody reads: attributes without effect, variables that no expression names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/formats/timeloop/architecture/architecture_component.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// All names that occur in the values of `top`: whatever an expression could refer to. Of the documents that declare
// classes and tables the keys, too, for classes read attributes by declaring them.
std::set<std::string, std::less<>> names_read(const std::vector<yaml::Node::Entry>& top);

// Read of any component by the model or an estimator, or known to be harmless.
bool is_known_attribute(std::string_view key);

// O0330, one for each file: attributes of components of our own classes that are neither known nor among `read`,
// and of which `told` says nothing yet.
void warn_of_unread_attributes(const std::vector<Component>& components, const std::set<std::string, std::less<>>& read,
                               const base::Diagnostics& told, base::Diagnostics& found);

// O0331: attributes of the components, of the containers around them, and `variables`, that the model or an estimator
// knows and that are null: they count as not given.
void warn_of_null_attributes(const std::vector<Component>& components, base::Diagnostics& found);

// O0331 for one key of `of`; `effect` says what holds instead.
void warn_of_null(std::string_view key, std::string_view of, const base::Location& where, std::string effect,
                  base::Diagnostics& found);

// O0332: a `--set` of what only estimators read, beside an ERT, which gives all energies. `read` as above.
void warn_of_overrides_without_effect(const base::Overrides& overrides, const std::set<std::string, std::less<>>& read,
                                      base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
