// Scalars of Timeloop documents: every string may be an arithmetic expression over `variables` and
// the attributes in scope, as its v4 front end evaluates it (Python syntax and `math` names).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// What a scalar turned out to be. `monostate` is YAML null.
using Value = std::variant<std::monostate, bool, base::Count, double, std::string>;

// Names visible to an expression, innermost scope first. Variables that are written as expressions are
// evaluated when looked up; a cycle is an error (O0203) that shows its members.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr)
      : outer_(outer), depth_(outer ? outer->depth_ : std::make_shared<int>(0)) {}
  void define(std::string name, const yaml::Node* value);  // borrowed; must outlive the scope
  void define(std::string name, Value value);
  // Every `key: value` of a map node.
  void define_all(const yaml::Node& map);

  // Value of a name; nothing when unknown. Names like `EMBEDDING//HEADS` that are no identifiers are
  // also found as `EMBEDDING_HEADS` (runs of other characters become `_`), with warning O0205.
  // Nothing too when its expression fails, which `found` then says: ask `knows` for the difference.
  std::optional<Value> lookup(std::string_view name, base::Diagnostics& found) const;
  bool knows(std::string_view name) const;
  // The node that gives `name` its value; null where a value was defined, or nothing.
  const yaml::Node* node_of(std::string_view name) const;
  // The scope in which the text of `asking` means `name`: `datawidth: datawidth * 2` means the one around.
  const Scope& scope_of(std::string_view name, const yaml::Node& asking) const;
  std::vector<std::string> names() const;  // for "did you mean"

 private:
  struct Binding {
    const yaml::Node* node = nullptr;
    std::optional<Value> value;  // nothing once evaluated: it failed
    std::string written;         // the name as written, where `EMBEDDING_HEADS` stands for another
    bool evaluated = false;
  };
  Binding* find(std::string_view name) const;

  // Values are kept once computed, so that a chain of variables costs one evaluation each.
  mutable std::map<std::string, Binding, std::less<>> bindings_;
  const Scope* outer_ = nullptr;
  mutable std::vector<std::string> in_progress_;
  std::shared_ptr<int> depth_;  // evaluations under way in this scope and those around and in it
};

// Evaluates a scalar node. A string that is no expression stays a string (as upstream). Errors inside
// what is clearly an expression (unknown name next to an operator, division by zero, bad call) are
// reported (O0200 to O0209) and yield nothing.
std::optional<Value> evaluate(const yaml::Node& node, const Scope& scope, base::Diagnostics& found);

// The same, demanding a kind; `what` completes "`depth` must be a whole number, but is ...".
// Codes O0210 (wrong type), O0211 (not whole), O0212 (unit mistake: "16KB" where words are counted).
std::optional<base::Count> as_count(const yaml::Node& node, const Scope& scope, std::string_view what,
                                    base::Diagnostics& found);
std::optional<double> as_number(const yaml::Node& node, const Scope& scope, std::string_view what,
                                base::Diagnostics& found);
std::optional<bool> as_bool(const yaml::Node& node, const Scope& scope, std::string_view what,
                            base::Diagnostics& found);
std::optional<std::string> as_string(const yaml::Node& node, const Scope& scope, std::string_view what,
                                     base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
