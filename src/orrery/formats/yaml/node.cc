// YAML text -> Node tree, from yaml-cpp's event stream.
//
// Idea: yaml-cpp's own node graph drops places, keeps the first of duplicate keys and shares aliased
// nodes; its event stream has everything. A builder with an explicit stack turns events into plain
// values, so the depth and the size of the result are bounded here, whatever the text says:
//
//   depth  <= kMaxDepth   (nesting as written plus nesting reached through aliases)
//   nodes  <= kMaxNodes
//   copies <= kMaxCopies  (nodes that anchors and aliases copy: "a billion laughs" stops here)
//   scalar <= kMaxScalar  (bytes of one value)
//   text   <= kMaxBytes   (yaml-cpp takes it byte by byte: a second for 3 MB)
//
// Cost: linear in the text plus the copies that aliases ask for.
#include "orrery/formats/yaml/node.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "orrery/base/text/file_kind.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/yaml/merge_keys.h"

namespace orrery::formats::yaml {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxCopies = 200'000;
constexpr std::size_t kMaxScalar = std::size_t{64} << 10;
constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxDuplicates = 100;

// Stops the parse; becomes one O0101.
struct SyntaxError {
  std::string message;
  base::Location where;
  std::string hint;
};

char same_letter(char c) {
  return c == '-' ? '_' : c;
}

bool same_key(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return same_letter(x) == same_letter(y); });
}

// Byte offsets of line starts, to find the text under a mark.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  // The rest of a line from a column on; both count from 0.
  std::string_view rest(int line, int column) const {
    if (line < 0 || column < 0 || static_cast<std::size_t>(line) >= starts_.size()) return {};
    const std::size_t begin = starts_[line] + static_cast<std::size_t>(column);
    std::size_t end = static_cast<std::size_t>(line) + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
    if (end > starts_[line] && end <= text_.size() && end > 0 && text_[end - 1] == '\r') --end;
    return begin < end ? text_.substr(begin, end - begin) : std::string_view{};
  }
  std::pair<int, int> position(std::size_t offset) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const auto line = static_cast<int>(after - starts_.begin()) - 1;
    return {line, static_cast<int>(offset - starts_[line])};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

std::size_t quoted_length(std::string_view rest) {
  const char quote = rest.front();
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (quote == '"' && rest[i] == '\\') {
      ++i;
    } else if (rest[i] == quote) {
      if (quote == '\'' && i + 1 < rest.size() && rest[i + 1] == quote) {
        ++i;
      } else {
        return i + 1;
      }
    }
  }
  return rest.size();
}

// Length of a plain scalar on its first line: its text when that is what stands there, else the line
// up to a comment.
std::size_t plain_length(std::string_view rest, std::string_view scalar) {
  if (!scalar.empty() && rest.substr(0, scalar.size()) == scalar) return scalar.size();
  std::size_t end = rest.find(" #");
  if (end == std::string_view::npos) end = rest.size();
  while (end > 0 && (rest[end - 1] == ' ' || rest[end - 1] == '\t')) --end;
  return end;
}

// Length of "&anchor" or "!tag" and the blanks behind it, if that stands first.
std::size_t property_length(std::string_view rest) {
  if (rest.empty() || (rest.front() != '&' && rest.front() != '!')) return 0;
  const std::size_t end = rest.find_first_of(" \t");
  if (end == std::string_view::npos) return 0;
  const std::size_t next = rest.find_first_not_of(" \t", end);
  return next == std::string_view::npos || rest[next] == '#' ? 0 : next;
}

std::string short_tag(const std::string& tag) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag == "?" || tag == "!") return "";
  if (tag.compare(0, kCore.size(), kCore) == 0) return "!!" + tag.substr(kCore.size());
  return tag;
}

int depth_of(const Node& node) {
  int depth = 0;
  for (const auto& item : node.items) depth = std::max(depth, depth_of(item));
  for (const auto& entry : node.entries) depth = std::max(depth, depth_of(entry.value));
  return depth + 1;
}

std::size_t size_of(const Node& node) {
  std::size_t size = 1;
  for (const auto& item : node.items) size += size_of(item);
  for (const auto& entry : node.entries) size += size_of(entry.value);
  return size;
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<const base::SourceFile> file, const Lines& lines, base::Severity duplicate_keys,
          base::Diagnostics& found)
      : file_(std::move(file)), lines_(lines), duplicate_keys_(duplicate_keys), found_(found) {}

  std::vector<Node> documents;

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp 0.7 does not move past a stray `,` or `]` and makes empty documents of it for ever.
    if (mark.pos == last_start_) throw SyntaxError{"this cannot stand here", place(mark, 1), ""};
    last_start_ = mark.pos;
    open_.clear();
    anchors_.clear();
    place_of_document_ = place(mark, 1);
    complete_ = false;
  }
  void OnDocumentEnd() override {
    if (!complete_) {
      Node empty;
      empty.where = place_of_document_;
      documents.push_back(std::move(empty));
    }
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    const std::string_view rest = lines_.rest(mark.line, mark.column);
    node.where = place(mark, rest.substr(0, 1) == "~" ? 1 : 4);
    if (rest.substr(0, 1) != "~" && rest.substr(0, 4) != "null" && rest.substr(0, 4) != "Null" &&
        rest.substr(0, 4) != "NULL") {
      node.where.length = 1;
    }
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) throw SyntaxError{"this alias stands inside the value it names", place(mark, 1), ""};
    if (static_cast<int>(open_.size()) + known->second.depth > kMaxDepth) {
      throw SyntaxError{fmt::format("aliases nest values more than {} deep", kMaxDepth), place(mark, 1), ""};
    }
    count_copies(known->second.size, place(mark, 1));
    Node copy = known->second.node;
    add_value(std::move(copy));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.size() > kMaxScalar) {
      throw SyntaxError{fmt::format("one value has {} bytes; it may have {}", value.size(), kMaxScalar), place(mark, 1),
                        "is a quote or a bracket missing, or is this the wrong file?"};
    }
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = value;
    node.tag = short_tag(tag);
    node.quoted = tag == "!" || node.tag == "!!str";
    YAML::Mark start = mark;
    std::string_view rest = lines_.rest(start.line, start.column);
    for (std::size_t skip = property_length(rest); skip > 0; skip = property_length(rest)) {
      start.column += static_cast<int>(skip);
      rest.remove_prefix(skip);
    }
    const bool quotes = !rest.empty() && (rest.front() == '"' || rest.front() == '\'');
    node.where = place(start, static_cast<int>(quotes ? quoted_length(rest) : plain_length(rest, value)));
    add(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key;                    // of a map, while its value is awaited
    std::map<std::string, std::size_t> places;  // key, with `-` as `_` -> index of its first entry
    struct Merge {
      Node value;
      bool deep = false;
    };
    std::vector<Merge> merges;  // values of `<<` and `<<<`
  };
  struct Anchor {
    Node node;
    std::size_t size = 0;
    int depth = 0;
  };

  base::Location place(const YAML::Mark& mark, int length) const {
    return {file_, mark.line + 1, mark.column + 1, std::max(1, length)};
  }
  void count(const base::Location& where) {
    if (++nodes_ > kMaxNodes) {
      throw SyntaxError{fmt::format("the document has more than {} values", kMaxNodes), where, ""};
    }
  }
  void count_copies(std::size_t nodes, const base::Location& where) {
    copies_ += nodes;
    if (copies_ > kMaxCopies) {
      throw SyntaxError{fmt::format("aliases stand for more than {} values", kMaxCopies), where,
                        "aliases that name aliases multiply; write the values that are needed"};
    }
  }
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (static_cast<int>(open_.size()) >= kMaxDepth) {
      throw SyntaxError{fmt::format("values nest more than {} deep", kMaxDepth), place(mark, 1), ""};
    }
    count(place(mark, 1));
    Open open;
    open.node.kind = kind;
    open.node.tag = short_tag(tag);
    open.node.where = place(mark, open.node.tag.empty() ? 1 : static_cast<int>(open.node.tag.size()));
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    for (Open::Merge& one : done.merges) merge_entries(done.node, std::move(one.value), one.deep);
    keep_anchor(done.node, done.anchor);
    add_value(std::move(done.node));
  }
  void add(Node node, YAML::anchor_t anchor) {
    count(node.where);
    keep_anchor(node, anchor);
    add_value(std::move(node));
  }
  void keep_anchor(const Node& node, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    Anchor kept{node, size_of(node), depth_of(node)};
    count_copies(kept.size, node.where);
    anchors_.insert_or_assign(anchor, std::move(kept));
  }

  // Puts a finished value where it belongs: the document, a sequence, a map's key or a map's value.
  void add_value(Node node) {
    if (open_.empty()) {
      drop_merge_tags(node);
      documents.push_back(std::move(node));
      complete_ = true;
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.is_map() || node.is_sequence()) throw SyntaxError{"a key must be a single word", node.where, ""};
      parent.key = std::move(node);
    } else {
      Node key = std::move(*parent.key);
      parent.key.reset();
      if ((key.scalar == "<<" || key.scalar == "<<<") && !key.quoted && key.is_scalar()) {
        add_merge(parent, std::move(node), key);
      } else {
        add_entry(parent, std::move(key), std::move(node));
      }
    }
  }
  void add_entry(Open& map, Node key, Node value) {
    std::string normal = key.scalar;
    std::transform(normal.begin(), normal.end(), normal.begin(), same_letter);
    const auto [first, added] = map.places.emplace(std::move(normal), map.node.entries.size());
    if (!added && ++duplicates_ == kMaxDuplicates + 1) {
      throw SyntaxError{fmt::format("more than {} keys are given twice", kMaxDuplicates), key.where,
                        "is this the right file?"};
    }
    if (!added) {
      const auto& earlier = map.node.entries[first->second];
      auto message = fmt::format("`{}` is given twice", key.scalar);
      auto& diagnostic = duplicate_keys_ == base::Severity::kError
                             ? found_.error("O0102", std::move(message), key.where)
                             : found_.warning("O0102", std::move(message), key.where);
      diagnostic.label("given again here").also(earlier.key_where, "first given here");
      if (duplicate_keys_ != base::Severity::kError) diagnostic.note("the last one counts");
      if (earlier.key != key.scalar) diagnostic.note("`-` and `_` are the same letter in keys");
    }
    map.node.entries.push_back({key.scalar, key.where, std::move(value)});
  }
  static void add_merge(Open& map, Node value, const Node& key) {
    const bool deep = key.scalar == "<<<";
    if (value.is_map()) {
      map.merges.push_back({std::move(value), deep});
      return;
    }
    if (awaits_value(value)) {
      map.node.entries.push_back({key.scalar, key.where, std::move(value)});
      return;
    }
    bool usable = value.is_sequence();
    for (const Node& item : value.items) usable = usable && item.is_map();
    if (!usable) throw SyntaxError{fmt::format("`{}` merges a map, or a list of maps", key.scalar), key.where, ""};
    for (Node& item : value.items) map.merges.push_back({std::move(item), deep});
  }

  std::shared_ptr<const base::SourceFile> file_;
  const Lines& lines_;
  base::Severity duplicate_keys_;
  base::Diagnostics& found_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  std::size_t nodes_ = 0;
  std::size_t copies_ = 0;
  std::size_t duplicates_ = 0;
  int last_start_ = -1;
  base::Location place_of_document_;
  bool complete_ = false;
};

// yaml-cpp's words for the mistakes people make, in plainer ones.
std::string plain_words(const std::string& message) {
  if (message.find("illegal map value") != std::string::npos) {
    return "a `:` where no key can be; is the line above indented as it should be, or is a quote missing?";
  }
  if (message.find("end of map not found") != std::string::npos) {
    return "this line is indented like neither its map nor any map around it";
  }
  if (message.find("end of sequence not found") != std::string::npos) {
    return "this line is indented like neither its list nor anything around it";
  }
  if (message.find("the referenced anchor is not defined") != std::string::npos) {
    return "no `&anchor` of this name comes before";
  }
  return message;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (same_key(entry->key, key)) return &entry->value;
  }
  return nullptr;
}

std::vector<Node> parse(const std::shared_ptr<const base::SourceFile>& file, base::Severity duplicate_keys,
                        base::Diagnostics& found) {
  std::string_view text = file->text;
  const Lines lines(text);
  if (text.size() > kMaxBytes) {
    found
        .error("O0103", fmt::format("`{}` has more than {} MiB of YAML; no more is read", file->name, kMaxBytes >> 20),
               {file, 0, 0, 1})
        .note(fmt::format("it has {} bytes", text.size()))
        .hint("is this the right file? several files may share the text");
    return {};
  }
  if (const auto bad = base::first_bad_byte(text)) {
    const auto [line, column] = lines.position(*bad);
    const auto byte = static_cast<unsigned char>(text[*bad]);
    const char* fault = byte < 0x80 ? "is a control character" : "is not a part of a UTF-8 text";
    found.error("O0101", fmt::format("byte 0x{:02x} {}", byte, fault), {file, line + 1, column + 1, 1})
        .hint("is this a text file? save it as UTF-8");
    return {};
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);

  Builder builder(file, lines, duplicate_keys, found);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const SyntaxError& error) {
    auto& diagnostic = found.error("O0101", error.message, error.where);
    if (!error.hint.empty()) diagnostic.hint(error.hint);
    diagnostic.hint(base::other_text_format(text));
    return {};
  } catch (const YAML::Exception& error) {
    const bool placed = error.mark.line >= 0 && error.mark.column >= 0;
    const base::Location where{file, placed ? error.mark.line + 1 : 0, placed ? error.mark.column + 1 : 0, 1};
    auto& diagnostic = found.error("O0101", "not YAML: " + plain_words(error.msg), where);
    const std::string_view line = placed ? lines.rest(error.mark.line, 0) : std::string_view{};
    if (line.find('\t') != std::string_view::npos) diagnostic.hint("indent with spaces; YAML allows no tabs");
    diagnostic.hint(base::other_text_format(text));
    return {};
  }
  return std::move(builder.documents);
}

}  // namespace orrery::formats::yaml
