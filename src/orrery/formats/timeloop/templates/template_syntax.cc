// Recursive descent over the tokens. Expressions, loosest first:
//
//   a if c else b     or     and     not     == != < <= > >= in, not in     + -     ~     * / // %     **     - +
//   name 1 'text' [..] (..) {..}  followed by  .name [..] (..)  and then by  |filter  is test
//
// Cost: linear in the text. Nesting is bounded (kMaxNesting), so that no input exhausts the stack.
#include "orrery/formats/timeloop/templates/template_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/expressions/python_arithmetic.h"
#include "orrery/formats/timeloop/templates/template_tokens.h"

namespace orrery::formats::timeloop::jinja {
namespace {

using TemplateSyntaxExpression = TemplateExpression;

constexpr int kMaxNesting = 64;

class Parser {
 public:
  explicit Parser(std::shared_ptr<const base::SourceFile> file) : file_(std::move(file)) {
    tokens_ = template_tokens(file_);
  }

  Template parse() {
    Template result{file_, statements({})};
    if (!at_end()) refuse(look().where, "this closes nothing", "");
    return result;
  }

 private:
  const Token& look(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool at_end() const { return look().kind == Token::Kind::kEnd; }
  const Token& take() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }
  bool take_sign(std::string_view sign) {
    if (!look().is(sign)) return false;
    ++at_;
    return true;
  }
  bool take_name(std::string_view name) {
    if (!look().is_name(name)) return false;
    ++at_;
    return true;
  }
  [[noreturn]] static void refuse(const base::Location& where, std::string message, std::string hint) {
    base::fail("O0113", std::move(message), where, std::move(hint));
  }
  void expect(std::string_view sign) {
    if (!take_sign(sign)) refuse(look().where, fmt::format("`{}` is missing here", sign), "");
  }
  void close() {
    if (look().kind == Token::Kind::kClose) {
      ++at_;
      return;
    }
    refuse(look().where, fmt::format("`{}` cannot stand here", shown(look())), "");
  }
  static std::string shown(const Token& token) { return std::string(token.raw.substr(0, token.raw.find('\n'))); }
  std::string name() {
    if (look().kind != Token::Kind::kName) refuse(look().where, "a name is missing here", "");
    return std::string(take().raw);
  }

  struct Nested {
    explicit Nested(Parser& owner) : parser(owner) {
      if (++owner.nesting_ > kMaxNesting)
        refuse(owner.look().where, fmt::format("this nests more than {} deep", kMaxNesting), "");
    }
    ~Nested() { --parser.nesting_; }
    Parser& parser;
  };

  // Up to a statement that begins with one of `ends`, which is left standing.
  std::vector<Statement> statements(std::initializer_list<std::string_view> ends) {
    const Nested nested(*this);
    std::vector<Statement> body;
    while (!at_end()) {
      const Token& token = look();
      if (token.kind == Token::Kind::kText) {
        body.push_back({});
        body.back().where = token.where;
        body.back().text = take().raw;
      } else if (token.kind == Token::Kind::kPrint) {
        ++at_;
        Statement print;
        print.kind = Statement::Kind::kPrint;
        print.where = token.where;
        print.expressions.push_back(whole_expression());
        close();
        body.push_back(std::move(print));
      } else {
        if (std::any_of(ends.begin(), ends.end(), [&](auto end) { return look(1).is_name(end); })) return body;
        body.push_back(statement());
      }
    }
    return body;
  }

  Statement statement() {
    Statement made;
    made.where = take().where;
    if (look().kind != Token::Kind::kName) refuse(made.where, "a statement begins with its name", "");
    made.where = look().where;
    const std::string word = name();
    if (word == "set") return set(std::move(made));
    if (word == "if") return if_else(std::move(made));
    if (word == "for") return loop(std::move(made));
    if (word == "macro") return macro(std::move(made));
    if (word == "include") return include(std::move(made));
    if (word == "assert") return assertion(std::move(made));
    if (word.starts_with("end") || word == "else" || word == "elif")
      refuse(made.where, fmt::format("`{}` stands here without what it belongs to", word), "");
    refuse(made.where, fmt::format("`{}`: this Jinja statement is not supported", word),
           "known: set, if, for, macro, include, assert, raw");
  }

  void end(const base::Location& opened, std::string_view what, std::string_view word) {
    if (at_end()) refuse(opened, fmt::format("`{}` is never closed by `{{% {} %}}`", what, word), "");
    ++at_;
    ++at_;
    close();
  }

  Statement set(Statement made) {
    do {
      std::string target = name();
      if (take_sign(".")) target += "." + name();
      made.names.push_back(std::move(target));
    } while (take_sign(","));
    if (take_sign("=")) {
      made.kind = Statement::Kind::kSet;
      made.expressions.push_back(whole_expression());
      close();
      return made;
    }
    made.kind = Statement::Kind::kSetBlock;
    if (made.names.size() > 1) refuse(look().where, "`=` is missing here", "");
    close();
    const base::Location opened = made.where;
    made.bodies.push_back(statements({"endset"}));
    end(opened, "set", "endset");
    return made;
  }

  Statement if_else(Statement made) {
    made.kind = Statement::Kind::kIf;
    const base::Location opened = made.where;
    made.expressions.push_back(expression());
    close();
    made.bodies.push_back(statements({"elif", "else", "endif"}));
    while (!at_end() && look(1).is_name("elif")) {
      at_ += 2;
      made.expressions.push_back(expression());
      close();
      made.bodies.push_back(statements({"elif", "else", "endif"}));
    }
    if (!at_end() && look(1).is_name("else")) {
      at_ += 2;
      close();
      made.bodies.push_back(statements({"endif"}));
    }
    end(opened, "if", "endif");
    return made;
  }

  Statement loop(Statement made) {
    made.kind = Statement::Kind::kFor;
    const base::Location opened = made.where;
    const bool parenthesised = take_sign("(");
    do made.names.push_back(name());
    while (take_sign(","));
    if (parenthesised) expect(")");
    if (!take_name("in")) refuse(look().where, "`in` is missing here", "");
    made.expressions.push_back(either());
    if (take_name("if")) made.expressions.push_back(expression());
    if (look().is_name("recursive")) refuse(look().where, "recursive loops are not read here", "");
    close();
    made.bodies.push_back(statements({"else", "endfor"}));
    if (!at_end() && look(1).is_name("else")) {
      at_ += 2;
      close();
      made.bodies.push_back(statements({"endfor"}));
    }
    end(opened, "for", "endfor");
    return made;
  }

  Statement macro(Statement made) {
    made.kind = Statement::Kind::kMacro;
    const base::Location opened = made.where;
    made.names.push_back(name());
    expect("(");
    while (!take_sign(")")) {
      if (made.names.size() > 1) expect(",");
      made.names.push_back(name());
      if (take_sign("="))
        made.expressions.push_back(expression());
      else if (!made.expressions.empty())
        refuse(look().where, "a parameter without a default follows one that has one", "");
    }
    close();
    made.bodies.push_back(statements({"endmacro"}));
    end(opened, "macro", "endmacro");
    return made;
  }

  // `{% include 'file' %}` is `{{ include_text('file') }}`.
  Statement include(Statement made) {
    made.kind = Statement::Kind::kPrint;
    TemplateSyntaxExpression call = node(TemplateSyntaxExpression::Kind::kCall, made.where);
    TemplateSyntaxExpression function = node(TemplateSyntaxExpression::Kind::kName, made.where);
    function.name = "include_text";
    call.parts.push_back(std::move(function));
    call.parts.push_back(expression());
    close();
    made.expressions.push_back(std::move(call));
    return made;
  }

  // Of AccelForge: `{% assert condition, "what is said where it does not hold" %}`.
  Statement assertion(Statement made) {
    made.kind = Statement::Kind::kAssert;
    made.expressions.push_back(expression());
    if (take_sign(",")) made.expressions.push_back(expression());
    close();
    return made;
  }

  static TemplateSyntaxExpression node(TemplateSyntaxExpression::Kind kind, const base::Location& where) {
    TemplateSyntaxExpression made;
    made.kind = kind;
    made.where = where;
    return made;
  }
  static TemplateSyntaxExpression binary(std::string op, const base::Location& where, TemplateSyntaxExpression a,
                                         TemplateSyntaxExpression b) {
    TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kBinary, where);
    made.name = std::move(op);
    made.parts.push_back(std::move(a));
    made.parts.push_back(std::move(b));
    return made;
  }

  // `a, b` is a list.
  TemplateSyntaxExpression whole_expression() {
    TemplateSyntaxExpression first = expression();
    if (!look().is(",")) return first;
    TemplateSyntaxExpression list = node(TemplateSyntaxExpression::Kind::kList, first.where);
    list.parts.push_back(std::move(first));
    while (take_sign(",")) list.parts.push_back(expression());
    return list;
  }
  TemplateSyntaxExpression expression() {
    const Nested nested(*this);
    TemplateSyntaxExpression value = either();
    while (look().is_name("if")) {
      TemplateSyntaxExpression choice = node(TemplateSyntaxExpression::Kind::kChoice, take().where);
      choice.parts.push_back(either());
      choice.parts.push_back(std::move(value));
      if (take_name("else")) choice.parts.push_back(expression());
      value = std::move(choice);
    }
    return value;
  }
  TemplateSyntaxExpression either() {
    TemplateSyntaxExpression left = both();
    while (look().is_name("or")) {
      const base::Location where = take().where;
      left = binary("or", where, std::move(left), both());
    }
    return left;
  }
  TemplateSyntaxExpression both() {
    TemplateSyntaxExpression left = negation();
    while (look().is_name("and")) {
      const base::Location where = take().where;
      left = binary("and", where, std::move(left), negation());
    }
    return left;
  }
  TemplateSyntaxExpression negation() {
    if (!look().is_name("not")) return comparison();
    const Nested nested(*this);
    TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kUnary, take().where);
    made.name = "not";
    made.parts.push_back(negation());
    return made;
  }
  TemplateSyntaxExpression comparison() {
    TemplateSyntaxExpression left = levels(0);
    for (;;) {
      std::string op;
      for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"})
        if (look().is(sign)) op = sign;
      std::size_t length = 1;
      if (look().is_name("in")) op = "in";
      if (look().is_name("not") && look(1).is_name("in")) {
        op = "not in";
        length = 2;
      }
      if (op.empty()) return left;
      const base::Location where = look().where;
      at_ += length;
      left = binary(std::move(op), where, std::move(left), levels(0));
    }
  }
  // The operators that go from left to right, loosest first.
  TemplateSyntaxExpression levels(std::size_t level) {
    static const std::vector<std::vector<std::string_view>> kLevels = {
        {"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
    if (level == kLevels.size()) return signed_value(true);
    TemplateSyntaxExpression left = levels(level + 1);
    for (;;) {
      const auto& signs = kLevels[level];
      const auto sign = std::find_if(signs.begin(), signs.end(), [&](auto one) { return look().is(one); });
      if (sign == signs.end()) return left;
      const base::Location where = take().where;
      left = binary(std::string(*sign), where, std::move(left), levels(level + 1));
    }
  }
  TemplateSyntaxExpression signed_value(bool with_filters) {
    const Nested nested(*this);
    if (look().is("-") || look().is("+")) {
      TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kUnary, look().where);
      made.name = take().raw;
      made.parts.push_back(signed_value(false));
      return with_filters ? filters(std::move(made)) : made;
    }
    TemplateSyntaxExpression value = postfix(primary());
    return with_filters ? filters(std::move(value)) : value;
  }
  TemplateSyntaxExpression primary() {
    const Token& token = look();
    if (token.kind == Token::Kind::kName) {
      ++at_;
      if (auto constant = token.raw == "true" || token.raw == "True" || token.raw == "false" || token.raw == "False" ||
                                  token.raw == "none" || token.raw == "None"
                              ? python::constant(token.raw == "none" ? "None" : token.raw)
                              : std::nullopt)
        return literal(token.where, TemplateValue::of(*constant));
      TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kName, token.where);
      made.name = token.raw;
      return made;
    }
    if (token.kind == Token::Kind::kNumber) return number(take());
    if (token.kind == Token::Kind::kString) {
      std::string text = take().text;
      while (look().kind == Token::Kind::kString) text += take().text;
      return literal(token.where, TemplateValue::text(std::move(text)));
    }
    if (token.is("(")) {
      ++at_;
      if (look().is(")")) {
        ++at_;
        return node(TemplateSyntaxExpression::Kind::kList, token.where);
      }
      TemplateSyntaxExpression inside = expression();
      if (look().is(",")) {
        TemplateSyntaxExpression list = node(TemplateSyntaxExpression::Kind::kList, token.where);
        list.parts.push_back(std::move(inside));
        while (take_sign(",") && !look().is(")")) list.parts.push_back(expression());
        inside = std::move(list);
      }
      expect(")");
      return inside;
    }
    if (token.is("[")) {
      ++at_;
      TemplateSyntaxExpression list = node(TemplateSyntaxExpression::Kind::kList, token.where);
      while (!take_sign("]")) {
        if (!list.parts.empty()) expect(",");
        if (take_sign("]")) break;
        list.parts.push_back(expression());
      }
      return list;
    }
    if (token.is("{")) {
      ++at_;
      TemplateSyntaxExpression map = node(TemplateSyntaxExpression::Kind::kMap, token.where);
      while (!take_sign("}")) {
        if (!map.parts.empty()) expect(",");
        if (take_sign("}")) break;
        map.parts.push_back(expression());
        expect(":");
        map.parts.push_back(expression());
      }
      return map;
    }
    if (token.kind == Token::Kind::kClose || token.kind == Token::Kind::kEnd)
      refuse(token.where, "a value is missing here", "");
    refuse(token.where, fmt::format("`{}` cannot stand here", shown(token)), "");
  }
  static TemplateSyntaxExpression literal(const base::Location& where, TemplateValue value) {
    TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kLiteral, where);
    made.value = std::move(value);
    return made;
  }
  static TemplateSyntaxExpression number(const Token& token) {
    std::string digits(token.raw);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (const auto whole = base::parse_number<base::Count>(digits))
      return literal(token.where, TemplateValue::number(*whole));
    if (const auto real = base::parse_number<double>(digits)) return literal(token.where, TemplateValue::of(*real));
    refuse(token.where, fmt::format("`{}` is not a number of 64 bits", token.raw), "");
  }

  TemplateSyntaxExpression postfix(TemplateSyntaxExpression value) {
    for (int links = 0;; ++links) {
      if (links > kMaxNesting) refuse(look().where, fmt::format("more than {} links in a chain", kMaxNesting), "");
      const Token& token = look();
      if (token.is(".")) {
        ++at_;
        TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kAttribute, look().where);
        if (look().kind == Token::Kind::kNumber)
          made.name = take().raw;
        else
          made.name = name();
        made.parts.push_back(std::move(value));
        value = std::move(made);
      } else if (token.is("[")) {
        ++at_;
        TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kItem, token.where);
        made.parts.push_back(std::move(value));
        made.parts.push_back(expression());
        if (look().is(":")) refuse(look().where, "slices are not read here", "");
        expect("]");
        value = std::move(made);
      } else if (token.is("(")) {
        TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kCall, value.where);
        made.parts.push_back(std::move(value));
        arguments(made);
        value = std::move(made);
      } else {
        return value;
      }
    }
  }
  // `(a, b, name=c)`
  void arguments(TemplateSyntaxExpression& call) {
    expect("(");
    bool first = true;
    while (!take_sign(")")) {
      if (!first) expect(",");
      first = false;
      if (take_sign(")")) break;
      if (look().kind == Token::Kind::kName && look(1).is("=")) {
        call.keywords.push_back(name());
        ++at_;
      } else if (!call.keywords.empty()) {
        refuse(look().where, "an argument without a name follows one that has one", "");
      }
      call.parts.push_back(expression());
    }
  }
  TemplateSyntaxExpression filters(TemplateSyntaxExpression value) {
    for (int links = 0;; ++links) {
      if (links > kMaxNesting) refuse(look().where, fmt::format("more than {} links in a chain", kMaxNesting), "");
      if (take_sign("|")) {
        TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kFilter, look().where);
        made.name = name();
        made.parts.push_back(std::move(value));
        if (look().is("(")) arguments(made);
        value = std::move(made);
      } else if (look().is_name("is")) {
        ++at_;
        TemplateSyntaxExpression made = node(TemplateSyntaxExpression::Kind::kTest, look().where);
        made.negated = take_name("not");
        made.where = look().where;
        made.name = name();
        made.parts.push_back(std::move(value));
        if (look().is("(")) arguments(made);
        value = std::move(made);
      } else {
        return value;
      }
    }
  }

  std::shared_ptr<const base::SourceFile> file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Template parse_template(std::shared_ptr<const base::SourceFile> file) {
  return Parser(std::move(file)).parse();
}

}  // namespace orrery::formats::timeloop::jinja
