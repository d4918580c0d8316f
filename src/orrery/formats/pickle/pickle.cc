// A pickle is a program for a stack machine. This one runs it on values that only describe: an object becomes the name
// of what would have made it and the arguments. Values are kept in one table and refer to each other by index, so that
// a value that is used often is stored once, and lists and dicts can be extended after they were remembered.
//
// Source: Python's Lib/pickletools.py, which documents every operation. Cost: each operation takes at least a byte and
// makes at most one value.
#include "orrery/formats/pickle/pickle.h"

#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace orrery::formats::pickle {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostValues = 4'000'000;

class Machine : private PickleBytes {
 public:
  Machine(std::string_view bytes, std::size_t begin, bool (*may_call)(std::string_view, std::string_view),
          const base::Location& whole, const Purpose& purpose)
      : PickleBytes(bytes, begin, whole, purpose), may_call_(may_call) {
    // Values that need no arguments are made once.
    none_ = make({.kind = Kind::kNone});
    true_ = make({.kind = Kind::kTruth, .integer = 1});
    false_ = make({.kind = Kind::kTruth, .integer = 0});
    empty_ = make({.kind = Kind::kTuple});
  }

  Pickle run() {
    while (step()) {
    }
    out_.top = pop();
    out_.end = at();
    return std::move(out_);
  }

 private:
  // --- values ------------------------------------------------------------------------------------------------------
  PickleRef make(PickleValue value) {
    if (out_.values.size() >= kMostValues) broken(fmt::format("it makes more than {} values", kMostValues));
    out_.values.push_back(std::move(value));
    return static_cast<PickleRef>(out_.values.size() - 1);
  }
  void push(PickleRef value) {
    if (stack_.size() >= kMostValues) broken(fmt::format("more than {} values wait for their use", kMostValues));
    stack_.push_back(value);
  }
  void push_new(PickleValue value) { push(make(std::move(value))); }
  void push_text(Kind kind, std::string_view text) { push_new({kind, 0, 0, text}); }
  void push_integer(std::int64_t value) { push_new({Kind::kInteger, value}); }
  // Two's complement of any length, little-endian.
  void push_long(std::string_view digits) {
    if (digits.size() > sizeof(std::int64_t)) return push_text(Kind::kLongInteger, digits);
    std::uint64_t bits = !digits.empty() && (digits.back() & 0x80) ? ~std::uint64_t{0} : 0;
    std::memcpy(&bits, digits.data(), digits.size());
    push_integer(std::bit_cast<std::int64_t>(bits));
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleRef pop() {
    if (stack_.size() <= floor()) broken("a value is missing");
    const PickleRef value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<PickleRef> pop_to_mark() {
    if (marks_.empty()) broken("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }
  std::vector<PickleRef> pop_some(int count) {
    std::vector<PickleRef> values(static_cast<std::size_t>(count));
    for (std::size_t i = values.size(); i-- > 0;) values[i] = pop();
    return values;
  }
  PickleValue& top(Kind kind, const char* what) {
    if (stack_.size() <= floor()) broken("a value is missing");
    PickleValue& value = out_.values[stack_.back()];
    if (value.kind != kind) broken(fmt::format("values are put into something that is not a {}", what));
    return value;
  }
  void append(const std::vector<PickleRef>& values, Kind kind) {
    PickleValue& to = top(kind, kind == Kind::kList ? "list" : "dict");
    if (kind == Kind::kDict && values.size() % 2 != 0) broken("a key has no value");
    to.items.insert(to.items.end(), values.begin(), values.end());
  }

  void remember(std::uint64_t index) {
    if (stack_.size() <= floor()) broken("a value is missing");
    memo_[index] = stack_.back();
  }
  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) broken(fmt::format("nothing was remembered as {}", index));
    push(found->second);
  }

  void call() {
    const PickleRef arguments = pop();
    const PickleRef callee = pop();
    const PickleValue& what = out_.at(callee);
    if (what.kind != Kind::kGlobal) refused("calls something that is not a name");
    if (out_.at(arguments).kind != Kind::kTuple) broken("arguments are not a tuple");
    if (!may_call_(what.text, what.name)) refused(fmt::format("calls `{}.{}`", what.text, what.name));
    push_new({Kind::kCall, 0, 0, {}, {}, {callee, arguments}});
  }
  void stack_global() {
    const PickleRef name = pop();
    const PickleRef module = pop();
    if (out_.at(name).kind != Kind::kText || out_.at(module).kind != Kind::kText) broken("a name is not text");
    push_new({Kind::kGlobal, 0, 0, out_.at(module).text, out_.at(name).text});
  }
  void integer_line() {
    const std::string_view text = line();
    if (text == "00" || text == "01") return push(text == "01" ? true_ : false_);
    push_integer(decimal(text));
  }

  bool step();

  bool (*may_call_)(std::string_view, std::string_view);
  Pickle out_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::map<std::uint64_t, PickleRef> memo_;
  PickleRef none_ = 0, true_ = 0, false_ = 0, empty_ = 0;
};

// False at the end of the pickle.
bool Machine::step() {
  const unsigned char code = operation();
  switch (code) {
    case 0x80:  // PROTO
      if (const auto version = number<std::uint8_t>(); version > 5)
        broken(fmt::format("protocol {} is not known", version));
      break;
    case 0x95:  // FRAME
      take(8);
      break;
    case '.':
      return false;
    case '(':
      if (marks_.size() >= kMostValues) broken("too many marks");
      marks_.push_back(stack_.size());
      break;
    case '0':
      if (stack_.size() == floor() && !marks_.empty())
        marks_.pop_back();
      else
        pop();
      break;
    case '1':
      pop_to_mark();
      break;
    case '2': {
      const PickleRef value = pop();
      push(value);
      push(value);
      break;
    }
    // Numbers.
    case 'N':
      push(none_);
      break;
    case 0x88:
      push(true_);
      break;
    case 0x89:
      push(false_);
      break;
    case 'I':
      integer_line();
      break;
    case 'L':
      push_integer(decimal(line()));
      break;
    case 'J':
      push_integer(number<std::int32_t>());
      break;
    case 'K':
      push_integer(number<std::uint8_t>());
      break;
    case 'M':
      push_integer(number<std::uint16_t>());
      break;
    case 0x8a:  // LONG1
      push_long(take(number<std::uint8_t>()));
      break;
    case 0x8b:  // LONG4
      push_long(take(number<std::uint32_t>()));
      break;
    case 'F':
      push_new({Kind::kReal, 0, decimal_real()});
      break;
    case 'G':
      push_new({Kind::kReal, 0, binary_real()});
      break;
    // Texts and bytes.
    case 'S':
      push_text(Kind::kText, quoted());
      break;
    case 'V':
      push_text(Kind::kText, unescaped());
      break;
    case 'T':
      push_text(Kind::kText, take(number<std::uint32_t>()));
      break;
    case 'U':
    case 0x8c:  // SHORT_BINUNICODE
      push_text(Kind::kText, take(number<std::uint8_t>()));
      break;
    case 'X':
      push_text(Kind::kText, take(number<std::uint32_t>()));
      break;
    case 0x8d:  // BINUNICODE8
      push_text(Kind::kText, take(number<std::uint64_t>()));
      break;
    case 'C':
      push_text(Kind::kBytes, take(number<std::uint8_t>()));
      break;
    case 'B':
      push_text(Kind::kBytes, take(number<std::uint32_t>()));
      break;
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_text(Kind::kBytes, take(number<std::uint64_t>()));
      break;
    // Tuples, lists, dicts.
    case ')':
      push(empty_);
      break;
    case 't':
      push_new({Kind::kTuple, 0, 0, {}, {}, pop_to_mark()});
      break;
    case 0x85:
    case 0x86:
    case 0x87:
      push_new({Kind::kTuple, 0, 0, {}, {}, pop_some(code - 0x84)});
      break;
    case ']':
      push_new({Kind::kList});
      break;
    case 'l':
      push_new({Kind::kList, 0, 0, {}, {}, pop_to_mark()});
      break;
    case 'a':
      append(pop_some(1), Kind::kList);
      break;
    case 'e':
      append(pop_to_mark(), Kind::kList);
      break;
    case '}':
      push_new({Kind::kDict});
      break;
    case 'd':
      push_new({Kind::kDict});
      {
        const PickleRef dict = pop();
        const std::vector<PickleRef> items = pop_to_mark();
        push(dict);
        append(items, Kind::kDict);
      }
      break;
    case 's':
      append(pop_some(2), Kind::kDict);
      break;
    case 'u':
      append(pop_to_mark(), Kind::kDict);
      break;
    // The memo.
    case 'p':
    case 'g': {
      const std::int64_t index = decimal(line());
      if (index < 0) broken("a memo's number is negative");
      if (code == 'p')
        remember(static_cast<std::uint64_t>(index));
      else
        recall(static_cast<std::uint64_t>(index));
      break;
    }
    case 'q':
      remember(number<std::uint8_t>());
      break;
    case 'r':
      remember(number<std::uint32_t>());
      break;
    case 0x94:  // MEMOIZE
      remember(memo_.size());
      break;
    case 'h':
      recall(number<std::uint8_t>());
      break;
    case 'j':
      recall(number<std::uint32_t>());
      break;
    // Names, calls, and what stands outside.
    case 'c': {
      const std::string_view module = line();
      push_new({Kind::kGlobal, 0, 0, module, line()});
      break;
    }
    case 0x93:
      stack_global();
      break;
    case 'R':
      call();
      // An ordered dict is a dict, and is filled like one.
      if (const PickleValue& made = out_.at(stack_.back());
          out_.at(made.items[0]).name == "OrderedDict" && out_.at(made.items[1]).items.empty()) {
        pop();
        push_new({Kind::kDict});
      }
      break;
    case 'b': {  // BUILD: a dict's attributes (state_dict's `_metadata`) say nothing about tensors
      pop();
      top(Kind::kDict, "dict");
      break;
    }
    case 'P':
      refused("refers to objects by text");
    case 'Q':
      push_new({Kind::kPersistent, 0, 0, {}, {}, pop_some(1)});
      break;
    case 'i':
    case 'o':
    case 0x81:
    case 0x92:
      refused("makes objects of a class");
    case 0x82:
    case 0x83:
    case 0x84:
      refused("uses extensions");
    case 0x8f:
    case 0x90:
    case 0x91:
      refused("holds sets");
    case 0x97:
    case 0x98:
      refused("holds buffers from outside");
    default:
      broken(fmt::format("0x{:02x} is not an operation", code));
  }
  return true;
}

}  // namespace

Pickle read_pickle(std::string_view bytes, std::size_t begin, bool (*may_call)(std::string_view, std::string_view),
                   const base::Location& whole, const Purpose& purpose) {
  return Machine(bytes, begin, may_call, whole, purpose).run();
}

}  // namespace orrery::formats::pickle
