// Recursive descent over Python's expressions, evaluated as they are read; loosest first:
//
//   a if c else b     or     and     not     == != < <= > >=     |     ^     &     + -     * / // %     - + ~     **
//   followed by  .name  ( )  and `for a in actions` within the parentheses of sum, min and max
//
// What is read but not wanted (the branch of a choice that is not taken, the rest of an `or`) is evaluated as `quiet_`,
// which forgives what only its value could say. Nesting is bounded, and so is the text.
#include "orrery/formats/accelforge/set_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "orrery/base/text/edit_distance.h"

namespace orrery::formats::accelforge {
namespace {

using Sort = SetValue::Kind;

constexpr std::size_t kMaxText = 4096;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMostSums = 64;
constexpr int kMostRounds = 1000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

bool truth(const SetValue& value) {
  switch (value.kind) {
    case Sort::kNumber:
      return value.number != 0;
    case Sort::kText:
      return !value.text.empty();
    case Sort::kTensors:
    case Sort::kVariables:
      return value.set != 0;
    default:
      return !value.is(Sort::kNone);
  }
}

std::string kind_text(const SetValue& value) {
  switch (value.kind) {
    case Sort::kNone:
      return "nothing";
    case Sort::kNumber:
      return "a number";
    case Sort::kText:
      return "a text";
    case Sort::kTensors:
      return "a set of tensors";
    case Sort::kVariables:
      return "a set of rank variables";
    case Sort::kAction:
      return "an action";
    case Sort::kActions:
      return "the list of actions";
    case Sort::kTimes:
      return "a number of calls";
  }
  return "";
}

class Reader {
 public:
  Reader(std::string_view text, const Symbols& symbols) : text_(text), symbols_(symbols) {
    if (text.size() > kMaxText) wrong("O0208", "the expression is longer than 4096 characters", 0, 1);
  }

  SetValue read() {
    SetValue value = choice();
    skip_blanks();
    if (at_ < text_.size()) misplaced();
    return value;
  }

 private:
  [[noreturn]] void wrong(std::string code, std::string message, std::size_t from, std::size_t length,
                          std::string name = {}) const {
    throw SetExpressionError{std::move(code), std::move(message), from, std::max<std::size_t>(1, length),
                             std::move(name)};
  }
  [[noreturn]] void misplaced() const {
    if (at_ >= text_.size()) wrong("O0200", "the expression ends too early", text_.size(), 1);
    wrong("O0200", fmt::format("`{}` cannot stand here", text_.substr(at_, 1)), at_, 1);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  std::size_t here() {
    skip_blanks();
    return at_;
  }
  std::string_view word_here() {
    skip_blanks();
    std::size_t end = at_;
    if (end < text_.size() && is_digit(text_[end])) return {};
    while (end < text_.size() && in_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    if (word_here() != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view sign_here() {
    skip_blanks();
    for (const std::string_view sign : {"**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%",
                                        "<",  ">",  "|",  "&",  "^",  "~",  "(", ")", ",", "."})
      if (text_.substr(at_).starts_with(sign)) return sign;
    return {};
  }
  bool take(std::string_view sign) {
    if (sign_here() != sign) return false;
    at_ += sign.size();
    return true;
  }
  struct Deeper {
    explicit Deeper(Reader& owner) : reader(owner) {
      if (++owner.depth_ > kMaxDepth)
        owner.wrong("O0208", fmt::format("the expression nests more than {} deep", kMaxDepth), owner.at_, 1);
    }
    ~Deeper() { --reader.depth_; }
    Reader& reader;
  };
  // Within: what is read has no say.
  struct Unwanted {
    Unwanted(Reader& owner, bool unwanted) : reader(owner), before(owner.quiet_) { owner.quiet_ |= unwanted; }
    ~Unwanted() { reader.quiet_ = before; }
    Reader& reader;
    bool before;
  };

  SetValue choice() {
    const Deeper deeper(*this);
    // The condition stands behind the value: it is read first, without a say.
    const std::size_t from = here();
    SetValue value;
    {
      const Unwanted unwanted(*this, true);
      value = either();
    }
    if (!take_word("if")) {
      if (quiet_) return value;
      at_ = from;
      return either();
    }
    const bool chosen = truth(either());
    if (!take_word("else")) misplaced();
    SetValue other;
    {
      const Unwanted unwanted(*this, chosen);
      other = choice();
    }
    if (!chosen || quiet_) return other;
    const std::size_t end = std::exchange(at_, from);
    value = either();
    at_ = end;
    return value;
  }
  SetValue either() {
    SetValue left = both();
    while (take_word("or")) {
      const Unwanted unwanted(*this, truth(left));
      SetValue right = both();
      if (!truth(left)) left = std::move(right);
    }
    return left;
  }
  SetValue both() {
    SetValue left = negation();
    while (take_word("and")) {
      const Unwanted unwanted(*this, !truth(left));
      SetValue right = negation();
      if (truth(left)) left = std::move(right);
    }
    return left;
  }
  SetValue negation() {
    const Deeper deeper(*this);
    if (!take_word("not")) return comparison();
    return SetValue::of(truth(negation()) ? 0 : 1);
  }
  SetValue comparison() {
    const std::size_t from = here();
    SetValue left = union_of();
    bool holds = true, compared = false;
    for (std::string_view sign = sign_here();
         sign == "<" || sign == "<=" || sign == ">" || sign == ">=" || sign == "==" || sign == "!=";
         sign = sign_here()) {
      at_ += sign.size();
      SetValue right = union_of();
      holds = holds && compare(sign, left, right, from);
      compared = true;
      left = std::move(right);
    }
    return compared ? SetValue::of(holds ? 1 : 0) : left;
  }
  bool compare(std::string_view sign, const SetValue& a, const SetValue& b, std::size_t from) const {
    if (sign == "==" || sign == "!=") {
      const bool equal = a.kind == b.kind && a.number == b.number && a.text == b.text && a.set == b.set;
      return equal == (sign == "==");
    }
    const double x = number(a, from), y = number(b, from);
    return sign == "<" ? x < y : sign == "<=" ? x <= y : sign == ">" ? x > y : x >= y;
  }
  SetValue union_of() {
    const std::size_t from = here();
    SetValue left = difference_of_both();
    while (take("|")) left = sets("|", left, difference_of_both(), from);
    return left;
  }
  SetValue difference_of_both() {
    const std::size_t from = here();
    SetValue left = intersection();
    while (take("^")) left = sets("^", left, intersection(), from);
    return left;
  }
  SetValue intersection() {
    const std::size_t from = here();
    SetValue left = sum();
    while (take("&")) left = sets("&", left, sum(), from);
    return left;
  }
  SetValue sets(std::string_view sign, const SetValue& a, const SetValue& b, std::size_t from) const {
    if (quiet_) return a;
    const bool fit = a.kind == b.kind && (a.is(Sort::kTensors) || a.is(Sort::kVariables));
    if (!fit)
      wrong("O0202", fmt::format("`{}` joins sets of one kind, not {} and {}", sign, kind_text(a), kind_text(b)), from,
            at_ - from);
    SetValue made = a;
    made.set = sign == "|" ? a.set | b.set : sign == "&" ? a.set & b.set : sign == "^" ? a.set ^ b.set : a.set & ~b.set;
    return made;
  }
  SetValue sum() {
    const std::size_t from = here();
    SetValue left = product();
    for (std::string_view sign = sign_here(); sign == "+" || sign == "-"; sign = sign_here()) {
      at_ += sign.size();
      left = added(sign, left, product(), from);
    }
    return left;
  }
  SetValue added(std::string_view sign, const SetValue& a, const SetValue& b, std::size_t from) const {
    if (quiet_) return a;
    if (sign == "-" && !a.is(Sort::kNumber) && !a.is(Sort::kTimes)) return sets(sign, a, b, from);
    if (sign == "+" && (a.is(Sort::kTimes) || b.is(Sort::kTimes))) return plus(a, b, from);
    return SetValue::of(sign == "+" ? number(a, from) + number(b, from) : number(a, from) - number(b, from));
  }
  // Sums of largest sums are the largest of all their sums. A time without calls is none that figures depend on.
  SetValue plus(const SetValue& a, const SetValue& b, std::size_t from) const {
    if (!a.is(Sort::kTimes)) return number(a, from) == 0 ? b : constant_time(from);
    if (!b.is(Sort::kTimes)) return number(b, from) == 0 ? a : constant_time(from);
    SetValue made = a;
    made.times.clear();
    for (const auto& x : a.times)
      for (const auto& y : b.times) {
        std::vector<double> both = x;
        for (std::size_t i = 0; i < both.size(); ++i) both[i] += y[i];
        made.times.push_back(std::move(both));
      }
    if (made.times.size() > kMostSums) wrong("O2102", "the latency is the largest of too many sums", from, at_ - from);
    return made;
  }
  [[noreturn]] SetValue constant_time(std::size_t from) const {
    wrong("O2102", "a latency that is there without any call is not supported", from, at_ - from);
  }
  SetValue product() {
    const std::size_t from = here();
    SetValue left = sign();
    for (std::string_view sign_text = sign_here();
         sign_text == "*" || sign_text == "/" || sign_text == "//" || sign_text == "%"; sign_text = sign_here()) {
      at_ += sign_text.size();
      left = multiplied(sign_text, left, sign(), from);
    }
    return left;
  }
  SetValue multiplied(std::string_view op, const SetValue& a, const SetValue& b, std::size_t from) const {
    if (quiet_) return a;
    if (op == "*" && b.is(Sort::kTimes) && !a.is(Sort::kTimes)) return multiplied(op, b, a, from);
    if (a.is(Sort::kTimes)) {
      if (op != "*" && op != "/") wrong("O2102", fmt::format("`{}` of a number of calls", op), from, at_ - from);
      const double by = number(b, from);
      if (op == "/" && by == 0) wrong("O0204", "division by zero", from, at_ - from);
      SetValue made = a;
      for (auto& one : made.times)
        for (double& factor : one) factor = op == "*" ? factor * by : factor / by;
      return made;
    }
    const double x = number(a, from), y = number(b, from);
    if (op == "*") return SetValue::of(x * y);
    if (y == 0) wrong("O0204", "division by zero", from, at_ - from);
    if (op == "/") return SetValue::of(x / y);
    const double floor = std::floor(x / y);
    return SetValue::of(op == "//" ? floor : x - floor * y);
  }
  SetValue sign() {
    const Deeper deeper(*this);
    const std::size_t from = here();
    if (take("~")) {
      SetValue value = sign();
      if (quiet_) return value;
      if (value.is(Sort::kTensors))
        value.set = symbols_.all_tensors() & ~value.set;
      else if (value.is(Sort::kVariables))
        value.set = symbols_.all_variables() & ~value.set;
      else
        wrong("O0202", fmt::format("`~` is the rest of a set, not of {}", kind_text(value)), from, at_ - from);
      return value;
    }
    if (take("-")) return SetValue::of(-number(sign(), from));
    if (take("+")) return sign();
    return power();
  }
  SetValue power() {
    const std::size_t from = here();
    SetValue left = postfix();
    if (!take("**")) return left;
    return SetValue::of(std::pow(number(left, from), number(sign(), from)));
  }
  double number(const SetValue& value, std::size_t from) const {
    if (value.is(Sort::kNumber)) return value.number;
    if (quiet_) return 1;
    if (value.is(Sort::kTimes)) wrong("O2102", "this is not linear in the number of calls", from, at_ - from);
    wrong("O0202", fmt::format("a number is needed here, but this is {}", kind_text(value)), from, at_ - from);
  }

  SetValue postfix() {
    const std::size_t from = here();
    SetValue value = atom();
    for (;;) {
      if (take("(")) {  // `All()` is `All`
        if (!take(")")) misplaced();
        if (!quiet_ && !value.is(Sort::kTensors) && !value.is(Sort::kVariables))
          wrong("O0202", fmt::format("{} cannot be called", kind_text(value)), from, at_ - from);
      } else if (take(".")) {
        const std::size_t at = here();
        const std::string name(word_here());
        if (name.empty()) misplaced();
        at_ += name.size();
        value = part(value, name, at);
      } else {
        return value;
      }
    }
  }
  SetValue part(const SetValue& value, const std::string& name, std::size_t at) const {
    if (quiet_) return value;
    if (value.is(Sort::kTensors)) {
      if (name == "tensors") return value;
      if (name == "rank_variables") {
        Bits variables = 0;
        for (std::size_t i = 0; i < symbols_.variables_of.size(); ++i)
          if ((value.set >> i & 1) != 0) variables |= symbols_.variables_of[i];
        return SetValue::variables(variables);
      }
      if (name == "bits_per_value") {
        if (value.set == 0 || (value.set & (value.set - 1)) != 0)
          wrong("O0202", "`bits_per_value` is of one tensor, and this set has not one", at, name.size());
        const auto i = static_cast<std::size_t>(std::countr_zero(value.set));
        if (i >= symbols_.bits_of.size())
          wrong("O0202", "how many bits the tensors have is not known here yet", at, name.size());
        return SetValue::of(symbols_.bits_of[i]);
      }
    }
    if (value.is(Sort::kAction)) {
      const ActionFigures& action = symbols_.actions[value.action];
      if (name == "n_calls") {
        SetValue made;
        made.kind = Sort::kTimes;
        made.times.emplace_back(symbols_.actions.size());
        made.times[0][value.action] = 1;
        return made;
      }
      if (name == "name") return SetValue::words(action.name);
      if (const auto known = action.figures.find(name); known != action.figures.end())
        return SetValue::of(known->second);
    }
    wrong("O0201", fmt::format("{} has no `{}`", kind_text(value), name), at, name.size(), name);
  }

  SetValue atom() {
    const std::size_t from = here();
    if (from >= text_.size()) misplaced();
    const char c = text_[from];
    if (take("(")) {
      SetValue inside = choice();
      if (!take(")")) misplaced();
      return inside;
    }
    if (is_digit(c) || (c == '.' && from + 1 < text_.size() && is_digit(text_[from + 1]))) return digits();
    if (c == '\'' || c == '"') {
      const std::size_t end = text_.find(c, from + 1);
      if (end == std::string_view::npos) misplaced();
      at_ = end + 1;
      return SetValue::words(std::string(text_.substr(from + 1, end - from - 1)));
    }
    const std::string name(word_here());
    if (name.empty() || name == "if" || name == "else" || name == "and" || name == "or" || name == "for") misplaced();
    at_ += name.size();
    if (const auto bound = bound_.find(name); bound != bound_.end()) return bound->second;
    if (const auto known = symbols_.names.find(name); known != symbols_.names.end()) return known->second;
    if (name == "True" || name == "true") return SetValue::of(1);
    if (name == "False" || name == "false") return SetValue::of(0);
    if (name == "None" || name == "null") return {};
    if (name == "inf") return SetValue::of(std::numeric_limits<double>::infinity());
    if (name == "actions" && !symbols_.actions.empty()) {
      SetValue list;
      list.kind = Sort::kActions;
      return list;
    }
    if (sign_here() == "(") return call(name, from);
    wrong("O0201", fmt::format("`{}` is not defined", name), from, name.size(), name);
  }
  SetValue digits() {
    const std::size_t from = at_;
    std::string plain;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent = (c == 'e' || c == 'E') && at_ + 1 < text_.size() &&
                            (is_digit(text_[at_ + 1]) || ((text_[at_ + 1] == '-' || text_[at_ + 1] == '+') &&
                                                          at_ + 2 < text_.size() && is_digit(text_[at_ + 2])));
      if (exponent) {
        plain += 'e';
        ++at_;
        if (!is_digit(text_[at_])) {
          if (text_[at_] == '-') plain += '-';
          ++at_;
        }
      } else if (!is_digit(c) && c != '.' && c != '_') {
        break;
      } else if (c != '_') {
        plain += c;
        ++at_;
      } else {
        ++at_;
      }
    }
    if (at_ < text_.size() && in_name(text_[at_])) misplaced();
    double value = 0;
    const auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (error != std::errc() || stop != plain.data() + plain.size())
      wrong("O0200", fmt::format("`{}` is not a number", text_.substr(from, at_ - from)), from, at_ - from);
    return SetValue::of(value);
  }

  SetValue call(const std::string& name, std::size_t from) {
    take("(");
    std::vector<SetValue> arguments;
    if (!take(")")) {
      const std::size_t body = here();
      if (!loop(body, arguments)) {
        do arguments.push_back(choice());
        while (take(","));
      }
      if (!take(")")) misplaced();
    }
    if (quiet_) return SetValue::of(1);
    return applied(name, arguments, from);
  }
  // `body for a in actions`: the body's value for each action. False, and nothing is read: it is no loop.
  bool loop(std::size_t body, std::vector<SetValue>& into) {
    const std::size_t word = find_for();
    if (word == std::string_view::npos) return false;
    at_ = word + 3;
    const std::string name(word_here());
    if (name.empty()) misplaced();
    at_ += name.size();
    if (!take_word("in")) misplaced();
    const std::size_t from = here();
    const SetValue over = choice();
    const std::size_t end = at_;
    if (!quiet_ && !over.is(Sort::kActions)) wrong("O2102", "loops go over `actions` here", from, end - from);
    const auto hidden = bound_;
    for (std::size_t i = 0; i < symbols_.actions.size(); ++i) {
      SetValue action;
      action.kind = Sort::kAction;
      action.action = i;
      if (++rounds_ > kMostRounds) wrong("O0208", "loops within loops take too many rounds", from, end - from);
      bound_[name] = action;
      at_ = body;
      into.push_back(choice());
      if (here() != word) misplaced();
    }
    bound_ = hidden;
    at_ = end;
    return true;
  }
  // Where ` for ` stands before the parenthesis that is open closes.
  std::size_t find_for() const {
    int open = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == '(') ++open;
      if (text_[i] == ')' && open-- == 0) break;
      if (open == 0 && text_.substr(i).starts_with("for ") && i > at_ && !in_name(text_[i - 1])) return i;
    }
    return std::string_view::npos;
  }
  SetValue applied(const std::string& name, const std::vector<SetValue>& arguments, std::size_t from) const {
    if (name == "len" && arguments.size() == 1) {
      const SetValue& of = arguments[0];
      if (of.is(Sort::kTensors) || of.is(Sort::kVariables)) return SetValue::of(std::popcount(of.set));
      if (of.is(Sort::kActions)) return SetValue::of(static_cast<double>(symbols_.actions.size()));
      wrong("O0202", fmt::format("`len` counts a set, not {}", kind_text(of)), from, at_ - from);
    }
    if (arguments.empty()) wrong("O0202", fmt::format("`{}` takes an argument", name), from, at_ - from);
    const bool calls =
        std::any_of(arguments.begin(), arguments.end(), [](const SetValue& one) { return one.is(Sort::kTimes); });
    if (name == "sum" || name == "max" || name == "min") return folded(name, arguments, calls, from);
    const double x = number(arguments[0], from);
    if (arguments.size() == 1) {
      static const std::map<std::string, double (*)(double), std::less<>> kFunctions = {
          {"ceil", [](double a) { return std::ceil(a); }},
          {"floor", [](double a) { return std::floor(a); }},
          {"round", [](double a) { return std::rint(a); }},
          {"abs", [](double a) { return std::abs(a); }},
          {"sqrt", [](double a) { return std::sqrt(a); }},
          {"log2", [](double a) { return std::log2(a); }},
          {"log", [](double a) { return std::log(a); }},
          {"log10", [](double a) { return std::log10(a); }},
          {"exp", [](double a) { return std::exp(a); }},
          {"int", [](double a) { return std::trunc(a); }},
          {"float", [](double a) { return a; }},
          {"bool", [](double a) { return a != 0 ? 1.0 : 0.0; }}};
      if (const auto known = kFunctions.find(name); known != kFunctions.end()) return SetValue::of(known->second(x));
    }
    if (name == "pow" && arguments.size() == 2) return SetValue::of(std::pow(x, number(arguments[1], from)));
    wrong("O0202",
          fmt::format("`{}` of {} value{} is not known here", name, arguments.size(), arguments.size() == 1 ? "" : "s"),
          from, at_ - from);
  }
  SetValue folded(const std::string& name, const std::vector<SetValue>& arguments, bool calls, std::size_t from) const {
    if (!calls) {
      double made = number(arguments[0], from);
      for (std::size_t i = 1; i < arguments.size(); ++i) {
        const double next = number(arguments[i], from);
        made = name == "sum" ? made + next : name == "max" ? std::max(made, next) : std::min(made, next);
      }
      return SetValue::of(made);
    }
    if (name == "min") wrong("O2102", "the least of numbers of calls is not supported", from, at_ - from);
    SetValue made = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (name == "sum") {
        made = plus(made, arguments[i], from);
      } else {
        if (!made.is(Sort::kTimes) || !arguments[i].is(Sort::kTimes)) constant_time(from);
        made.times.insert(made.times.end(), arguments[i].times.begin(), arguments[i].times.end());
      }
    }
    return made;
  }

  std::string_view text_;
  const Symbols& symbols_;
  std::size_t at_ = 0;
  int depth_ = 0, rounds_ = 0;
  bool quiet_ = false;
  std::map<std::string, SetValue, std::less<>> bound_;
};

}  // namespace

SetValue evaluate(std::string_view text, const Symbols& symbols) {
  return Reader(text, symbols).read();
}

SetValue evaluate(const yaml::Node& node, const Symbols& symbols, std::string_view what) {
  if (node.is_null()) return {};
  if (!node.is_scalar()) base::fail("O2103", fmt::format("{} is one value, not a list or a map", what), node.where);
  try {
    return evaluate(node.scalar, symbols);
  } catch (const SetExpressionError& error) {
    base::Location where = node.where;
    if (where.line > 0) {
      where.column += static_cast<int>(error.offset) + (node.quoted ? 1 : 0);
      where.length = static_cast<int>(error.length);
    }
    std::vector<std::string> names;
    if (!error.name.empty())
      for (const auto& known : symbols.names) names.push_back(known.first);
    // What AccelForge's chips call an einsum's tensors; only renames say which those are.
    const bool role = error.name == "input" || error.name == "output" || error.name == "weight";
    base::fail(error.code, fmt::format("{}: {}", what, error.message), where,
               role ? fmt::format("`renames` say which tensor `{}` is: write them in the workload, or give a file of "
                                  "them, too (AccelForge's `_renames_default.yaml`)",
                                  error.name)
               : error.name.empty() ? ""
                                    : base::did_you_mean(error.name, names, ""));
  }
}

double number_of(const yaml::Node& node, const Symbols& symbols, std::string_view what) {
  const SetValue value = evaluate(node, symbols, what);
  if (!value.is(Sort::kNumber))
    base::fail("O2103", fmt::format("{} must be a number, but is {}", what, kind_text(value)), node.where);
  return value.number;
}

Bits tensors_of(const yaml::Node& node, const Symbols& symbols, std::string_view what) {
  const SetValue value = evaluate(node, symbols, what);
  if (!value.is(Sort::kTensors))
    base::fail("O2103", fmt::format("{} must be a set of tensors, but is {}", what, kind_text(value)), node.where,
               "sets are `All`, `Inputs`, `Outputs`, `Intermediates`, `Nothing`, names of tensors, joined by | & - ~");
  return value.set;
}

}  // namespace orrery::formats::accelforge
