// libprotobuf's parser ends at its first error. To tell of all of them at once, a value that does not fit its field is
// overwritten by a stand-in (in a copy, byte for byte, so that no place moves) and the text is read again; what comes
// from a stand-in is marked as broken, so that nobody complains about it twice. A mistake of syntax ends the reading.
// Cost: one reading per bad value, at most kMostRepairs.
#include "orrery/formats/dfmodel/block.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "orrery/formats/dfmodel/descriptors.h"
#include "orrery/formats/dfmodel/text_lines.h"
#include "orrery/formats/dfmodel/text_mistake.h"

namespace orrery::formats::dfmodel {

namespace pb = google::protobuf;

namespace {

constexpr int kMostRepairs = 20;
constexpr int kDeepest = 16;  // blocks within blocks; the format has five
constexpr std::size_t kLargest = std::size_t{1} << 30;

class Collector : public pb::io::ErrorCollector {
 public:
  std::optional<ParserMessage> error;  // the first
  std::vector<ParserMessage> warnings;

  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (!error) error = ParserMessage{line, column, message};
  }
  void AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) override {
    warnings.push_back({line, column, message});
  }
};

// A place where braces open deeper than any block of the format: unknown blocks are skipped by recursion.
std::optional<std::size_t> too_deep(std::string_view text) {
  int depth = 0;
  char quote = 0;
  bool comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      comment = false;
      quote = 0;
    } else if (comment) {
      continue;
    } else if (quote) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '#') {
      comment = true;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++depth > kDeepest) return i;
    } else if (c == '}' || c == '>' || c == ']') {
      depth = std::max(0, depth - 1);
    }
  }
  return std::nullopt;
}

// A message to plain data.
class Converter {
 public:
  Converter(const TextLines& lines, const std::vector<Mistake>& repaired) : lines_(lines), repaired_(repaired) {}

  Block convert(const pb::Message& message, const pb::TextFormat::ParseInfoTree* tree, const BlockType& type,
                base::Location where) const {
    Block block;
    block.type = &type;
    block.where = std::move(where);
    const pb::Reflection& reflection = *message.GetReflection();
    std::vector<const pb::FieldDescriptor*> stated;
    reflection.ListFields(message, &stated);
    std::size_t entries = 0;
    for (const pb::FieldDescriptor* field : stated)
      entries += static_cast<std::size_t>(reflection.FieldSize(message, field));
    block.entries.reserve(entries);
    for (const pb::FieldDescriptor* field : stated) {
      const FieldType& told = type.fields[static_cast<std::size_t>(field->index())];
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Entry& entry = block.entries.emplace_back();
        entry.field = &told;
        const auto range = tree ? tree->GetLocationRange(field, i) : pb::TextFormat::ParseLocationRange();
        place(entry, range, block.where);
        fill(entry, message, reflection, field, i);
        if (told.block) {
          entry.block = convert(reflection.GetRepeatedMessage(message, field, i),
                                tree ? tree->GetTreeForNested(field, i) : nullptr, *told.block, entry.where);
        }
      }
    }
    // Protobuf gives fields by their tags; here they stand as in the text.
    const auto earlier = [](const Entry& a, const Entry& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    };
    if (!std::is_sorted(block.entries.begin(), block.entries.end(), earlier))
      std::stable_sort(block.entries.begin(), block.entries.end(), earlier);
    return block;
  }

 private:
  void place(Entry& entry, const pb::TextFormat::ParseLocationRange& range, const base::Location& around) const {
    if (range.start.line < 0) {
      entry.where = around;
      return;
    }
    const std::size_t begin = lines_.offset(range.start.line, range.start.column);
    const std::size_t end = lines_.offset(range.end.line, range.end.column);
    entry.where = lines_.place(begin, entry.field->block ? begin + entry.field->name.size() : end);
    if (entry.field->block) return;
    for (const Mistake& mistake : repaired_)
      if (mistake.begin >= begin && mistake.begin < end) entry.broken = true;
  }

  static void fill(Entry& entry, const pb::Message& message, const pb::Reflection& reflection,
                   const pb::FieldDescriptor* field, int i) {
    switch (entry.field->kind) {
      case FieldKind::kInteger:
        entry.integer = reflection.GetRepeatedInt64(message, field, i);
        break;
      case FieldKind::kReal:
        entry.real = entry.field->wide ? reflection.GetRepeatedDouble(message, field, i)
                                       : static_cast<double>(reflection.GetRepeatedFloat(message, field, i));
        break;
      case FieldKind::kFlag:
        entry.flag = reflection.GetRepeatedBool(message, field, i);
        break;
      case FieldKind::kText:
        entry.text = reflection.GetRepeatedString(message, field, i);
        break;
      case FieldKind::kChoice:
        entry.choice = reflection.GetRepeatedEnumValue(message, field, i);
        break;
      case FieldKind::kBlock:
        break;
    }
  }

  const TextLines& lines_;
  const std::vector<Mistake>& repaired_;
};

void refuse_twice(const Block& block, base::Diagnostics& found) {
  for (const Entry& entry : block.entries) {
    refuse_twice(entry.block, found);
    if (entry.field->repeated) continue;
    const Entry* first = block.find(entry.field->name);
    if (first == &entry) continue;
    found.error("O1403", fmt::format("`{}` is given twice", entry.field->name), entry.where)
        .also(first->where, "first here")
        .hint("keep one of them");
  }
}

// As it stands in the text.
std::string_view value_of(const Entry& entry) {
  const std::string_view text = entry.where.file->text;
  std::size_t line = 0;
  for (int i = 1; i < entry.where.line; ++i) line = text.find('\n', line) + 1;
  std::string_view value = text.substr(line + static_cast<std::size_t>(entry.where.column) - 1,
                                       static_cast<std::size_t>(entry.where.length));
  value.remove_prefix(std::min(value.size(), value.find(':') + 1));
  value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
  return value;
}

// A number such as 1e300 or 1e-300 that became infinite or 0 on its way through 32 bits.
void refuse_beyond_range(Block& block, base::Diagnostics& found) {
  for (Entry& entry : block.entries) {
    refuse_beyond_range(entry.block, found);
    if (entry.field->kind != FieldKind::kReal || entry.broken) continue;
    if (entry.real != 0 && !std::isinf(entry.real)) continue;
    const std::string_view value = value_of(entry);
    const std::string_view digits = value.substr(0, value.find_first_of("eE"));
    if (digits.find_first_of("123456789") == std::string_view::npos) continue;  // inf or 0 in so many words
    const bool wide = entry.field->wide;
    found.error("O1405", fmt::format("`{}` cannot be {}", entry.field->name, value), entry.where)
        .label(entry.real == 0 ? "too close to 0" : "too large")
        .note(fmt::format("it is kept in {} bits: {}", wide ? 64 : 32,
                          entry.real == 0 ? fmt::format("0, or at least {}", wide ? "4.9e-324" : "1.4e-45")
                                          : fmt::format("at most {}", wide ? "1.8e308" : "3.4e38")));
    entry.broken = true;
  }
}

// The innermost block that holds a place, by the order of places; unknown fields are noted there.
Block* block_named(Block& block, std::string_view type, const base::Location& place) {
  Block* best = nullptr;
  for (Entry& entry : block.entries) {
    if (!entry.field->block) continue;
    const auto before = std::pair(entry.where.line, entry.where.column) <= std::pair(place.line, place.column);
    if (before && entry.field->block->name == type) best = &entry.block;
    if (Block* inner = block_named(entry.block, type, place)) {
      if (!best || std::pair(inner->where.line, inner->where.column) > std::pair(best->where.line, best->where.column))
        best = inner;
    }
  }
  return best;
}

}  // namespace

const Entry* Block::find(std::string_view field) const {
  for (const Entry& entry : entries)
    if (entry.field->name == field) return &entry;
  return nullptr;
}

ParsedText parse_text(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found) {
  ParsedText parsed;
  parsed.root.type = &schema().blocks.front();
  parsed.root.where = {file, 0, 0, 1};
  const TextLines lines(file);
  const auto end_here = [&](const std::string& message, const base::Location& where) -> base::Diagnostic& {
    parsed.complete = false;
    return found.error("O1400", message, where);
  };
  if (file->text.size() > kLargest) {
    end_here("the file is larger than 1 GiB", parsed.root.where);
    return parsed;
  }
  if (const auto deep = too_deep(file->text)) {
    end_here("blocks are nested too deeply", lines.place(*deep, *deep + 1))
        .note(fmt::format("no block of the format is nested in more than {} others", kDeepest - 1))
        .hint("is a closing brace missing?");
    return parsed;
  }

  std::string text = file->text;
  if (text.starts_with("\xef\xbb\xbf")) text.replace(0, 3, "   ");  // a byte order mark
  std::vector<Mistake> mistakes;
  std::unique_ptr<pb::Message> message = new_message();
  std::unique_ptr<pb::TextFormat::ParseInfoTree> tree;
  Collector collector;
  while (true) {
    collector.error.reset();
    collector.warnings.clear();
    tree = std::make_unique<pb::TextFormat::ParseInfoTree>();
    pb::TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.WriteLocationsTo(tree.get());
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(2 * kDeepest);
    pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    if (parser.Parse(&stream, message.get()) && !collector.error) break;
    if (!collector.error) collector.error = ParserMessage{-1, -1, "the text cannot be read"};
    const Mistake mistake = understand(*collector.error, text, lines);
    found.error(mistake.is_value ? "O1401" : "O1400", mistake.message, lines.place(mistake.begin, mistake.end))
        .label(mistake.label)
        .hint(mistake.hint);
    if (static_cast<int>(mistakes.size()) >= kMostRepairs || mistake.stand_in.empty()) {
      parsed.complete = false;
      break;
    }
    text.replace(mistake.begin, mistake.end - mistake.begin, mistake.stand_in);
    mistakes.push_back(mistake);
  }
  if (parsed.complete) {
    parsed.root = Converter(lines, mistakes).convert(*message, tree.get(), schema().blocks.front(), parsed.root.where);
    refuse_twice(parsed.root, found);
    refuse_beyond_range(parsed.root, found);
  }
  for (const ParserMessage& warning : collector.warnings) {
    const UnknownField unknown = understand_warning(warning, text, lines);
    const base::Location where = lines.place(unknown.begin, unknown.end);
    found.warning("O1402", unknown.message, where).label(unknown.label).hint(unknown.hint);
    if (Block* block = block_named(parsed.root, unknown.block, where)) block->unknown.push_back(where);
    if (unknown.block == parsed.root.type->name) parsed.root.unknown.push_back(where);
  }
  return parsed;
}

}  // namespace orrery::formats::dfmodel
