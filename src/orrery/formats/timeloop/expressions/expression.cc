// Recursive descent over Python's expression grammar, one function per level of precedence:
//
//   choice := or ["if" or "else" choice]      or := and {"or" and}      and := not {"and" not}
//   not := "not" not | compare                compare := sum {("<"|"<="|...) sum}
//   sum := product {("+"|"-") product}        product := sign {("*"|"/"|"//"|"%") sign}
//   sign := ("+"|"-") sign | power            power := atom ["**" sign]
//   atom := number | text | name | name "(" [choice {"," choice}] ")" | "(" choice ")"
//
// Cost: linear in the text.
#include "orrery/formats/timeloop/expressions/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/formats/timeloop/expressions/python_arithmetic.h"

namespace orrery::formats::timeloop {

struct Expression::Tree {
  enum class Kind { kValue, kName, kCall, kUnary, kBinary, kAnd, kOr, kNot, kChoice, kCompare };
  Kind kind = Kind::kValue;
  Value value;
  std::string text;                    // name, function or operator
  std::vector<std::string> operators;  // of a chain of comparisons
  std::vector<std::unique_ptr<Tree>> children;
  std::size_t offset = 0;
  std::size_t length = 1;
  int depth = 1;
};

namespace {

constexpr std::string_view kOfComponent = ".attributes[";

using Tree = Expression::Tree;
using Pointer = std::unique_ptr<Tree>;

constexpr std::size_t kMaxText = 4096;
constexpr int kMaxDepth = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > kMaxText)
      throw ExpressionError{"O0208", "the expression is longer than 4096 characters", 0, 1, ""};
  }

  std::vector<std::string> names;
  bool calls = false;

  Pointer parse() {
    Pointer tree = choice();
    skip_blanks();
    if (at_ < text_.size()) wrong();
    return tree;
  }

 private:
  [[noreturn]] void wrong() const {
    if (at_ >= text_.size()) throw ExpressionError{"O0200", "the expression ends too early", text_.size(), 1, ""};
    throw ExpressionError{"O0200", fmt::format("`{}` cannot stand here", text_.substr(at_, 1)), at_, 1, ""};
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  std::string_view name_here() {
    skip_blanks();
    if (at_ >= text_.size() || !starts_name(text_[at_])) return {};
    std::size_t end = at_;
    while (end < text_.size() && (starts_name(text_[end]) || is_digit(text_[end]))) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    if (name_here() != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view operator_here() {
    skip_blanks();
    for (std::string_view op : {"**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">"}) {
      if (text_.substr(at_, op.size()) == op) return op;
    }
    return {};
  }
  bool take_operator(std::string_view op) {
    if (operator_here() != op) return false;
    at_ += op.size();
    return true;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Pointer join(Tree::Kind kind, std::string text, std::size_t from, std::vector<Pointer> children) const {
    auto tree = std::make_unique<Tree>();
    tree->kind = kind;
    tree->text = std::move(text);
    tree->offset = from;
    tree->length = std::max<std::size_t>(1, at_ - from);
    for (const Pointer& child : children) tree->depth = std::max(tree->depth, child->depth + 1);
    if (tree->depth > kMaxDepth) too_deep(from);
    tree->children = std::move(children);
    return tree;
  }
  template <typename... Children>
  Pointer make(Tree::Kind kind, std::string_view text, std::size_t from, Children... children) const {
    std::vector<Pointer> all;
    (all.push_back(std::move(children)), ...);
    return join(kind, std::string(text), from, std::move(all));
  }
  [[noreturn]] static void too_deep(std::size_t offset) {
    throw ExpressionError{"O0208", fmt::format("the expression nests more than {} deep", kMaxDepth), offset, 1, ""};
  }
  // Counts the parser's own nesting.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxDepth) {
        --parser_.nesting_;
        too_deep(parser_.at_);
      }
    }
    ~Nesting() { --parser_.nesting_; }
    Parser& parser_;
  };

  std::size_t here() {
    skip_blanks();
    return at_;
  }

  Pointer choice() {
    const Nesting nesting(*this);
    const std::size_t from = here();
    Pointer value = disjunction();
    if (!take_word("if")) return value;
    Pointer condition = disjunction();
    if (!take_word("else")) wrong();
    Pointer other = choice();
    return make(Tree::Kind::kChoice, "if", from, std::move(condition), std::move(value), std::move(other));
  }
  Pointer disjunction() {
    const std::size_t from = here();
    Pointer left = conjunction();
    while (take_word("or")) {
      Pointer right = conjunction();
      left = make(Tree::Kind::kOr, "or", from, std::move(left), std::move(right));
    }
    return left;
  }
  Pointer conjunction() {
    const std::size_t from = here();
    Pointer left = negation();
    while (take_word("and")) {
      Pointer right = negation();
      left = make(Tree::Kind::kAnd, "and", from, std::move(left), std::move(right));
    }
    return left;
  }
  Pointer negation() {
    const Nesting nesting(*this);
    const std::size_t from = here();
    if (!take_word("not")) return comparison();
    Pointer operand = negation();
    return make(Tree::Kind::kNot, "not", from, std::move(operand));
  }
  Pointer comparison() {
    const std::size_t from = here();
    Pointer first = sum();
    std::vector<std::string> operators;
    std::vector<Pointer> operands;
    for (std::string_view op = operator_here();
         op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!="; op = operator_here()) {
      at_ += op.size();
      operators.emplace_back(op);
      operands.push_back(sum());
    }
    if (operators.empty()) return first;
    operands.insert(operands.begin(), std::move(first));
    Pointer tree = join(Tree::Kind::kCompare, "compare", from, std::move(operands));
    tree->operators = std::move(operators);
    return tree;
  }
  Pointer sum() {
    const std::size_t from = here();
    Pointer left = product();
    for (std::string_view op = operator_here(); op == "+" || op == "-"; op = operator_here()) {
      at_ += op.size();
      Pointer right = product();
      left = make(Tree::Kind::kBinary, op, from, std::move(left), std::move(right));
    }
    return left;
  }
  Pointer product() {
    const std::size_t from = here();
    Pointer left = sign();
    for (std::string_view op = operator_here(); op == "*" || op == "/" || op == "//" || op == "%";
         op = operator_here()) {
      at_ += op.size();
      Pointer right = sign();
      left = make(Tree::Kind::kBinary, op, from, std::move(left), std::move(right));
    }
    return left;
  }
  Pointer sign() {
    const Nesting nesting(*this);
    const std::size_t from = here();
    const std::string_view op = operator_here();
    if (op != "+" && op != "-") return power();
    at_ += op.size();
    Pointer operand = sign();
    return make(Tree::Kind::kUnary, op, from, std::move(operand));
  }
  Pointer power() {
    const std::size_t from = here();
    Pointer left = atom();
    if (!take_operator("**")) return left;
    Pointer right = sign();
    return make(Tree::Kind::kBinary, "**", from, std::move(left), std::move(right));
  }

  Pointer atom() {
    const std::size_t from = here();
    if (from >= text_.size()) wrong();
    const char c = text_[from];
    if (take('(')) {
      Pointer inside = choice();
      if (!take(')')) wrong();
      return inside;
    }
    if (is_digit(c) || (c == '.' && from + 1 < text_.size() && is_digit(text_[from + 1]))) return number();
    if (c == '\'' || c == '"') return quoted();
    const std::string_view name = name_here();
    if (name.empty() || name == "if" || name == "else" || name == "and" || name == "or" || name == "not") wrong();
    at_ += name.size();
    if (text_.substr(at_).starts_with(kOfComponent)) return attribute(name, from);
    if (take('(')) {
      if (name == "len") return length(from);
      return call(name, from);
    }
    return named(std::string(name), from);
  }
  Pointer named(std::string name, std::size_t from) {
    Pointer tree = make(Tree::Kind::kName, name, from);
    names.push_back(std::move(name));
    return tree;
  }
  // `len(spec.problem.instance)` is a name as a whole: documents' parts have lengths, but are no values.
  Pointer length(std::size_t from) {
    std::string whole = "len(";
    do {
      const std::string_view step = name_here();
      if (step.empty()) wrong();
      at_ += step.size();
      whole += std::string(step) + ".";
    } while (take('.'));
    if (!take(')')) wrong();
    whole.back() = ')';
    return named(std::move(whole), from);
  }
  // So is `buf.attributes["depth"]`.
  Pointer attribute(std::string_view component, std::size_t from) {
    at_ += kOfComponent.size();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) wrong();
    const Pointer key = quoted();
    if (!take(']')) wrong();
    return named(attribute_name(component, std::get<std::string>(key->value)), from);
  }
  Pointer call(std::string_view name, std::size_t from) {
    std::vector<Pointer> arguments;
    if (!take(')')) {
      do {
        arguments.push_back(choice());
      } while (take(','));
      if (!take(')')) wrong();
    }
    calls = calls || python::is_function(name);
    return join(Tree::Kind::kCall, std::string(name), from, std::move(arguments));
  }
  Pointer quoted() {
    const std::size_t from = at_;
    const std::size_t end = text_.find(text_[from], from + 1);
    if (end == std::string_view::npos) wrong();
    at_ = end + 1;
    Pointer tree = make(Tree::Kind::kValue, "", from);
    tree->value = std::string(text_.substr(from + 1, end - from - 1));
    return tree;
  }
  Pointer number() {
    const std::size_t from = at_;
    std::string digits;
    int radix = 10;
    if (text_[at_] == '0' && at_ + 1 < text_.size()) {
      const char mark = text_[at_ + 1];
      radix = mark == 'x' || mark == 'X' ? 16 : mark == 'o' || mark == 'O' ? 8 : mark == 'b' || mark == 'B' ? 2 : 10;
      if (radix != 10) at_ += 2;
    }
    bool real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '_' && !digits.empty()) {
        ++at_;
        continue;
      }
      const bool exponent = radix == 10 && (c == 'e' || c == 'E');
      if (exponent) {
        const std::size_t next = at_ + 1;
        const bool signed_next = next < text_.size() && (text_[next] == '+' || text_[next] == '-');
        const std::size_t digit = next + (signed_next ? 1 : 0);
        if (digit >= text_.size() || !is_digit(text_[digit])) break;
        digits += 'e';
        if (signed_next) digits += text_[next];
        at_ = digit;
        real = true;
        while (at_ < text_.size() && is_digit(text_[at_])) digits += text_[at_++];
        break;
      }
      const bool point = radix == 10 && c == '.' && !real;
      const bool hexadecimal = radix == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
      if (!point && !is_digit(c) && !hexadecimal) break;
      real = real || point;
      digits += c;
      ++at_;
    }
    // "32nm", "1.2.3": a number that runs into something else is no number.
    if (at_ < text_.size() && (starts_name(text_[at_]) || text_[at_] == '.')) wrong();
    Pointer tree = make(Tree::Kind::kValue, "", from);
    const char* begin = digits.data();
    const char* end = begin + digits.size();
    if (!real) {
      base::Count whole = 0;
      const auto [stop, error] = std::from_chars(begin, end, whole, radix);
      if (error == std::errc::result_out_of_range) {
        throw ExpressionError{"O0207", "the number does not fit in 64 bits", from, at_ - from, ""};
      }
      if (error != std::errc() || stop != end) wrong();
      tree->value = whole;
      return tree;
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range) {
      throw ExpressionError{"O0207", "the number exceeds the real numbers", from, at_ - from, ""};
    }
    if (error != std::errc() || stop != end) wrong();
    tree->value = value;
    return tree;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

Value evaluate_tree(const Tree& tree, const Expression::Lookup& lookup) {
  const auto operand = [&](std::size_t i) { return evaluate_tree(*tree.children[i], lookup); };
  const auto guarded = [&](auto compute) -> Value {
    try {
      return compute();
    } catch (const python::ArithmeticError& error) {
      throw ExpressionError{error.code, error.message, tree.offset, tree.length,
                            error.code == "O0202" && !python::is_function(tree.text) ? tree.text : ""};
    }
  };
  switch (tree.kind) {
    case Tree::Kind::kValue:
      return tree.value;
    case Tree::Kind::kName: {
      if (auto value = lookup(tree.text)) return *value;
      if (auto value = python::constant(tree.text)) return *value;
      throw ExpressionError{"O0201", fmt::format("`{}` is not defined", tree.text), tree.offset, tree.length,
                            tree.text};
    }
    case Tree::Kind::kCall: {
      std::vector<Value> arguments;
      for (std::size_t i = 0; i < tree.children.size(); ++i) arguments.push_back(operand(i));
      return guarded([&] { return python::call(tree.text, arguments); });
    }
    case Tree::Kind::kUnary: {
      const Value a = operand(0);
      return guarded([&] { return python::unary(tree.text, a); });
    }
    case Tree::Kind::kBinary: {
      const Value a = operand(0);
      const Value b = operand(1);
      return guarded([&] { return python::binary(tree.text, a, b); });
    }
    case Tree::Kind::kCompare: {
      Value left = operand(0);
      for (std::size_t i = 0; i < tree.operators.size(); ++i) {
        Value right = operand(i + 1);
        if (!python::truth(guarded([&] { return python::binary(tree.operators[i], left, right); }))) return false;
        left = std::move(right);
      }
      return true;
    }
    case Tree::Kind::kNot:
      return !python::truth(operand(0));
    case Tree::Kind::kAnd: {
      Value left = operand(0);
      return python::truth(left) ? operand(1) : left;
    }
    case Tree::Kind::kOr: {
      Value left = operand(0);
      return python::truth(left) ? left : operand(1);
    }
    case Tree::Kind::kChoice:
      return python::truth(operand(0)) ? operand(1) : operand(2);
  }
  return {};
}

}  // namespace

std::string attribute_name(std::string_view component, std::string_view key) {
  return fmt::format("{}{}{}]", component, kOfComponent, key);
}

Expression Expression::parse(std::string_view text) {
  Parser parser(text);
  Expression expression;
  expression.tree_ = parser.parse();
  expression.names_ = std::move(parser.names);
  expression.calls_ = parser.calls;
  return expression;
}

Value Expression::evaluate(const Lookup& lookup) const {
  return evaluate_tree(*tree_, lookup);
}

bool Expression::is_name() const {
  return tree_->kind == Tree::Kind::kName;
}

}  // namespace orrery::formats::timeloop
