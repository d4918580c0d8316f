#include "orrery/formats/timeloop/templates/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::timeloop::jinja {
namespace {

using Expression = TemplateExpression;
using Kind = TemplateValue::Kind;

constexpr std::size_t kRound = 512;  // what the variables of a loop's round weigh, `loop` among them

[[noreturn]] void refuse(const base::Location& where, std::string message, std::string hint = {}) {
  base::fail("O0113", std::move(message), where, std::move(hint));
}

class Renderer {
 public:
  Renderer(const Variables& variables, Surroundings& around, Budget& budget) : around_(around), budget_(budget) {
    scopes_.push_back(variables);
  }

  void run(const std::vector<Statement>& body, PlacedText& out) {
    for (const Statement& statement : body) {
      const Budget::Depth depth(budget_, statement.where);
      budget_.step(statement.where);
      run(statement, out);
    }
  }

 private:
  // Errors of operations get the place of what asked for them.
  template <typename F>
  auto checked(const base::Location& where, F&& operation) {
    try {
      return operation();
    } catch (const OperationError& error) {
      refuse(where, error.message, error.hint);
    }
  }

  void run(const Statement& statement, PlacedText& out) {
    switch (statement.kind) {
      case Statement::Kind::kText:
        budget_.print(statement.where, statement.text.size());
        out.append_copy(statement.where, statement.text);
        return;
      case Statement::Kind::kPrint:
        return print(evaluate(statement.expressions[0]), statement, out);
      case Statement::Kind::kSet:
        return set(statement, evaluate(statement.expressions[0]));
      case Statement::Kind::kSetBlock: {
        PlacedText inside;
        run(statement.bodies[0], inside);
        return set(statement, TemplateValue::text(inside.text()));
      }
      case Statement::Kind::kIf:
        return branch(statement, out);
      case Statement::Kind::kFor:
        return loop(statement, out);
      case Statement::Kind::kAssert:
        return insist(statement);
      case Statement::Kind::kMacro: {
        TemplateValue macro;
        macro.kind = Kind::kMacro;
        macro.macro = &statement;
        scopes_.back().insert_or_assign(statement.names[0], std::move(macro));
        return;
      }
    }
  }

  void print(const TemplateValue& value, const Statement& statement, PlacedText& out) {
    demand(value, statement.where);
    if (value.kind == Kind::kIncluded) {
      budget_.print(statement.where, value.included->text().size());
      out.append(*value.included);
      return;
    }
    if (value.kind == Kind::kMacro) refuse(statement.where, "a macro is called with parentheses", "write `name()`");
    const std::string text = checked(statement.where, [&] { return text_of(value); });
    budget_.print(statement.where, text.size());
    out.append_made(statement.where, text);
  }

  void branch(const Statement& statement, PlacedText& out) {
    for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
      if (holds(statement.expressions[i])) return run(statement.bodies[i], out);
    }
    if (statement.bodies.size() > statement.expressions.size()) run(statement.bodies.back(), out);
  }

  bool holds(const Expression& condition) {
    const TemplateValue value = evaluate(condition);
    demand(value, condition.where);
    return is_true(value);
  }

  void insist(const Statement& statement) {
    if (holds(statement.expressions[0])) return;
    const std::string said = statement.expressions.size() > 1
                                 ? checked(statement.where, [&] { return text_of(given(statement.expressions[1])); })
                                 : "";
    refuse(statement.expressions[0].where, "what the template asserts does not hold", said);
  }

  void loop(const Statement& statement, PlacedText& out) {
    const Expression& over = statement.expressions[0];
    const TemplateValue all = evaluate(over);
    budget_.step(statement.where, weight_of(all));
    List items = checked(over.where, [&] { return items_of(all); });
    scopes_.emplace_back();
    if (statement.expressions.size() > 1) {
      List kept;
      for (TemplateValue& item : items) {
        bind(statement, item);
        if (holds(statement.expressions[1])) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      scopes_.back().clear();
      bind(statement, items[i]);
      scopes_.back().insert_or_assign("loop", position(i, items.size()));
      run(statement.bodies[0], out);
    }
    scopes_.pop_back();
    if (items.empty() && statement.bodies.size() > 1) run(statement.bodies[1], out);
  }

  void bind(const Statement& statement, const TemplateValue& item) {
    budget_.step(statement.where, kRound);
    if (statement.names.size() == 1) {
      scopes_.back().insert_or_assign(statement.names[0], item);
      return;
    }
    unpack(statement, item);
  }

  void unpack(const Statement& statement, const TemplateValue& value) {
    budget_.step(statement.where, weight_of(value));
    const List parts = checked(statement.where, [&] { return items_of(value); });
    if (parts.size() != statement.names.size())
      refuse(statement.where, fmt::format("{} names for {} values", statement.names.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) assign(statement, statement.names[i], parts[i]);
  }

  static TemplateValue position(std::size_t i, std::size_t size) {
    const auto at = static_cast<base::Count>(i), all = static_cast<base::Count>(size);
    return TemplateValue::entries({{"index", TemplateValue::number(at + 1)},
                                   {"index0", TemplateValue::number(at)},
                                   {"revindex", TemplateValue::number(all - at)},
                                   {"revindex0", TemplateValue::number(all - at - 1)},
                                   {"first", TemplateValue::truth(i == 0)},
                                   {"last", TemplateValue::truth(i + 1 == size)},
                                   {"length", TemplateValue::number(all)}});
  }

  void set(const Statement& statement, const TemplateValue& value) {
    demand(value, statement.where);
    if (statement.names.size() > 1) return unpack(statement, value);
    assign(statement, statement.names[0], value);
  }

  // As Jinja has it: a name belongs to the loop or the macro that sets it; `name.key` changes a namespace.
  void assign(const Statement& statement, const std::string& name, const TemplateValue& value) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) {
      scopes_.back().insert_or_assign(name, value);
      return;
    }
    TemplateValue* space = find(name.substr(0, dot));
    if (space == nullptr || !space->names_space)
      refuse(statement.where, fmt::format("`{}` is not a namespace, so `{}` cannot be set", name.substr(0, dot), name),
             fmt::format("make one before: `{{% set {} = namespace() %}}`", name.substr(0, dot)));
    if (value.kind == Kind::kMap || value.kind == Kind::kList)
      refuse(statement.where, "a namespace holds numbers and texts here", "");
    const std::string key = name.substr(dot + 1);
    for (auto& [known, held] : *space->map)
      if (known == key) {
        held = value;
        return;
      }
    space->map->emplace_back(key, value);
  }

  TemplateValue* find(std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto known = scope->find(name); known != scope->end()) return &known->second;
    return nullptr;
  }

  void demand(const TemplateValue& value, const base::Location& where) {
    if (value.kind != Kind::kUndefined) return;
    std::vector<std::string> names;
    for (const auto& scope : scopes_)
      for (const auto& entry : scope) names.push_back(entry.first);
    const std::string near = base::did_you_mean(value.missing, names, "");
    refuse(where, fmt::format("`{}` has no value here", value.missing),
           !near.empty()
               ? near
               : fmt::format("give it one: `--define {0}=...`, or a default: `{0}|default(...)`", value.missing));
  }

  TemplateValue evaluate(const Expression& expression) {
    const Budget::Depth depth(budget_, expression.where);
    TemplateValue value = value_of(expression);
    budget_.step(expression.where, value.is_text() ? value.size() : 0);
    return value;
  }

  TemplateValue value_of(const Expression& expression) {
    using Form = Expression::Kind;
    switch (expression.kind) {
      case Form::kLiteral:
        return expression.value;
      case Form::kName: {
        const TemplateValue* known = find(expression.name);
        return known != nullptr ? *known : TemplateValue::undefined(expression.name);
      }
      case Form::kList: {
        List items;
        for (const Expression& part : expression.parts) items.push_back(given(part));
        return checked(expression.where, [&] { return TemplateValue::items(std::move(items)); });
      }
      case Form::kMap: {
        Map entries;
        for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2)
          entries.emplace_back(checked(expression.where, [&] { return text_of(given(expression.parts[i])); }),
                               given(expression.parts[i + 1]));
        return checked(expression.where, [&] { return TemplateValue::entries(std::move(entries)); });
      }
      case Form::kChoice:
        if (holds(expression.parts[0])) return evaluate(expression.parts[1]);
        return expression.parts.size() > 2 ? evaluate(expression.parts[2]) : TemplateValue::text("");
      case Form::kUnary: {
        if (expression.name == "not") return TemplateValue::truth(!holds(expression.parts[0]));
        const TemplateValue value = evaluate(expression.parts[0]);
        return checked(expression.where, [&] { return apply_sign(expression.name, value); });
      }
      case Form::kBinary:
        return binary(expression);
      case Form::kAttribute:
      case Form::kItem: {
        const TemplateValue value = given(expression.parts[0]);
        const TemplateValue key =
            expression.kind == Form::kAttribute ? TemplateValue::text(expression.name) : given(expression.parts[1]);
        if (expression.kind == Form::kAttribute && value.kind != Kind::kMap)
          refuse(expression.where, fmt::format("{} has no `{}`", kind_of(value), expression.name));
        return checked(expression.where, [&] { return item_of(value, key); });
      }
      case Form::kFilter: {
        const TemplateValue value = evaluate(expression.parts[0]);
        const TemplateArguments arguments = arguments_of(expression);
        if (expression.name == "default" || expression.name == "d") return fallback(value, arguments, expression);
        demand(value, expression.parts[0].where);
        pay(expression, value, arguments);
        return checked(expression.where, [&] { return apply_filter(expression.name, value, arguments); });
      }
      case Form::kTest: {
        const TemplateValue value = evaluate(expression.parts[0]);
        const TemplateArguments arguments = arguments_of(expression);
        pay(expression, value, arguments);
        const bool answer = checked(expression.where, [&] { return apply_test(expression.name, value, arguments); });
        return TemplateValue::truth(answer != expression.negated);
      }
      case Form::kCall:
        return call(expression);
    }
    return {};
  }

  TemplateValue given(const Expression& expression) {
    TemplateValue value = evaluate(expression);
    demand(value, expression.where);
    return value;
  }

  TemplateValue binary(const Expression& expression) {
    const std::string& op = expression.name;
    const TemplateValue left = given(expression.parts[0]);
    if (op == "and" || op == "or") return is_true(left) == (op == "or") ? left : given(expression.parts[1]);
    const TemplateValue right = given(expression.parts[1]);
    pay(expression, left, {{right}, {}});
    return checked(expression.where, [&] {
      if (op == "not in") return TemplateValue::truth(!is_true(apply_operator("in", left, right)));
      return apply_operator(op, left, right);
    });
  }

  // Looking for a text in another takes their product at worst, and so do comparisons within a list.
  void pay(const Expression& expression, const TemplateValue& value, const TemplateArguments& arguments) {
    std::size_t cost = weight_of(value);
    for (const TemplateValue& argument : arguments.values)
      cost += weight_of(argument) + weight_of(value) / 64 * (weight_of(argument) / 64);
    if (expression.name == "unique") cost *= std::max<std::size_t>(1, value.size());
    budget_.step(expression.where, cost);
  }

  TemplateValue fallback(const TemplateValue& value, const TemplateArguments& arguments, const Expression& where) {
    const TemplateValue* other = arguments.find(0, "default_value");
    const TemplateValue* also_false = arguments.find(1, "boolean");
    const bool wanted =
        value.kind == Kind::kUndefined || (also_false != nullptr && is_true(*also_false) && !is_true(value));
    if (!wanted) return value;
    if (other == nullptr) return TemplateValue::text("");
    demand(*other, where.where);
    return *other;
  }

  TemplateArguments arguments_of(const Expression& expression) {
    TemplateArguments arguments;
    const std::size_t unnamed = expression.parts.size() - expression.keywords.size();
    for (std::size_t i = 1; i < expression.parts.size(); ++i) {
      if (i < unnamed)
        arguments.values.push_back(given(expression.parts[i]));
      else
        arguments.named.emplace_back(expression.keywords[i - unnamed], given(expression.parts[i]));
    }
    return arguments;
  }

  TemplateValue call(const Expression& expression) {
    const Expression& function = expression.parts[0];
    if (function.kind == Expression::Kind::kAttribute) {
      const TemplateValue object = given(function.parts[0]);
      const TemplateArguments arguments = arguments_of(expression);
      pay(expression, object, arguments);
      return checked(function.where, [&] { return call_method(function.name, object, arguments); });
    }
    if (function.kind != Expression::Kind::kName) refuse(function.where, "this is not a function");
    const TemplateValue* known = find(function.name);
    if (known == nullptr) demand_function(function);
    const TemplateArguments arguments = arguments_of(expression);
    if (known != nullptr) {
      if (known->kind != Kind::kMacro)
        refuse(function.where, fmt::format("`{}` is {} and cannot be called", function.name, kind_of(*known)));
      return expand(*known->macro, arguments, expression.where);
    }
    if (function.name == "range")
      return TemplateValue::items(checked(expression.where, [&] { return range_of(arguments); }));
    if (function.name == "dict" || function.name == "namespace") {
      TemplateValue made = checked(expression.where, [&] { return TemplateValue::entries(arguments.named); });
      made.names_space = function.name == "namespace";
      return made;
    }
    return around_.call(function.name, arguments, expression.where, known_now());
  }

  Variables known_now() const {
    Variables all;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) all.insert(scope->begin(), scope->end());
    return all;
  }

  void demand_function(const Expression& function) const {
    std::vector<std::string> names = around_.functions();
    for (const char* own : {"range", "dict", "namespace"}) names.emplace_back(own);
    if (std::find(names.begin(), names.end(), function.name) != names.end()) return;
    refuse(function.where, fmt::format("there is no function `{}`", function.name),
           base::did_you_mean(function.name, names, fmt::format("there are {}", base::joined(names, ", "))));
  }

  // A macro sees its own names and those of the template.
  TemplateValue expand(const Statement& macro, const TemplateArguments& arguments, const base::Location& where) {
    const std::size_t parameters = macro.names.size() - 1;
    if (arguments.values.size() > parameters)
      refuse(where, fmt::format("`{}` takes {} argument{}, but is given {}", macro.names[0], parameters,
                                base::plural(parameters), arguments.values.size()));
    for (const auto& [name, value] : arguments.named)
      if (std::find(macro.names.begin() + 1, macro.names.end(), name) == macro.names.end())
        refuse(where, fmt::format("`{}` has no parameter `{}`", macro.names[0], name));
    std::vector<Variables> outer(std::make_move_iterator(scopes_.begin() + 1), std::make_move_iterator(scopes_.end()));
    scopes_.resize(1);
    Variables own;
    for (std::size_t i = 0; i < parameters; ++i) {
      const std::string& name = macro.names[i + 1];
      const std::size_t with_default = parameters - macro.expressions.size();
      if (const TemplateValue* value = arguments.find(i, name))
        own.insert_or_assign(name, *value);
      else if (i >= with_default)
        own.insert_or_assign(name, evaluate(macro.expressions[i - with_default]));
      else
        own.insert_or_assign(name, TemplateValue::undefined(name));
    }
    scopes_.push_back(std::move(own));
    PlacedText text;
    run(macro.bodies[0], text);
    scopes_.resize(1);
    scopes_.insert(scopes_.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
    return TemplateValue::text(text.text());
  }

  Surroundings& around_;
  Budget& budget_;
  std::vector<Variables> scopes_;
};

}  // namespace

PlacedText render(const Template& parsed, const Variables& variables, Surroundings& around, Budget& budget) {
  PlacedText out;
  Renderer(variables, around, budget).run(parsed.body, out);
  return out;
}

}  // namespace orrery::formats::timeloop::jinja
