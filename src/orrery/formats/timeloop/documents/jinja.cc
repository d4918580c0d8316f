// Rendering keeps the lines of the text: what prints nothing becomes nothing, a default becomes its
// text, and an include becomes a placeholder scalar, which is replaced by the included value after
// parsing. So every value keeps the place where its author wrote it.
//
// Cost: linear in the texts; includes nest at most kMaxIncludes deep.
#include "orrery/formats/timeloop/documents/jinja.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxIncludes = 8;
constexpr std::size_t kMaxFiles = 256;
constexpr std::string_view kPlaceholder = "orrery__included__value__";

struct Include {
  std::string file;
  std::string key;  // empty: all of it
  base::Location where;
};

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// `{{- x -}}`: the dashes eat blanks around, which means nothing to YAML values.
std::string_view without_dashes(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (!text.empty() && text.back() == '-') text.remove_suffix(1);
  return trim(text);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// 'text' or "text" without quotes inside.
std::optional<std::string> quoted(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front()) return {};
  const std::string_view inside = text.substr(1, text.size() - 2);
  if (inside.find(text.front()) != std::string_view::npos) return {};
  return std::string(inside);
}

// The argument text of `function(...)`, if it is that.
std::optional<std::string_view> arguments_of(std::string_view text, std::string_view function) {
  if (text.substr(0, function.size()) != function) return {};
  text = trim(text.substr(function.size()));
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return {};
  return trim(text.substr(1, text.size() - 2));
}

// `name|default(literal)`: the literal.
std::optional<std::string> default_of(std::string_view text) {
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || !is_name(trim(text.substr(0, bar)))) return {};
  const auto literal = arguments_of(trim(text.substr(bar + 1)), "default");
  if (!literal || literal->empty()) return {};
  if (auto string = quoted(*literal)) return string;
  if (literal->find_first_of("'\"(){}[]|~,") != std::string_view::npos) return {};
  return std::string(*literal);
}

class Expander {
 public:
  Expander(std::vector<std::shared_ptr<const base::SourceFile>>& included, base::Diagnostics& found)
      : included_(included), found_(found) {}

  std::vector<yaml::Node> expand(const std::shared_ptr<const base::SourceFile>& file, int depth) {
    auto rendered = std::make_shared<base::SourceFile>();
    rendered->name = file->name;
    std::vector<Include> includes;
    const std::size_t errors = found_.all().size();
    rendered->text = render(file, includes);
    if (found_.all().size() != errors && found_.has_errors()) return {};
    auto documents = yaml::parse(rendered, base::Severity::kWarning, found_);
    for (yaml::Node& document : documents) fill(document, includes, depth);
    return documents;
  }

 private:
  std::string render(const std::shared_ptr<const base::SourceFile>& file, std::vector<Include>& includes) {
    const std::string_view text = file->text;
    const fs::path home = fs::path(file->name).parent_path();
    std::string result;
    int line = 1;
    std::size_t line_start = 0;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::string_view mark = text.substr(at, 2);
      if (mark != "{{" && mark != "{%" && mark != "{#") {
        if (text[at] == '\n') {
          ++line;
          line_start = at + 1;
        }
        result += text[at++];
        continue;
      }
      const std::string_view closing = mark == "{{" ? "}}" : mark == "{%" ? "%}" : "#}";
      const std::size_t end = text.find(closing, at + 2);
      const base::Location where{file, line, static_cast<int>(at - line_start) + 1, 2};
      if (end == std::string_view::npos) {
        found_.error("O0113", fmt::format("`{}` is never closed by `{}`", mark, closing), where);
        return {};
      }
      const std::string_view inside = text.substr(at + 2, end - at - 2);
      if (mark == "{%") {
        found_.error("O0113", fmt::format("`{{%{}%}}`: statements of Jinja are not read here", inside), where)
            .hint("render the file with Jinja first, or write the values out");
      } else if (mark == "{{") {
        base::Location whole = where;
        whole.length = inside.find('\n') == std::string_view::npos ? static_cast<int>(end + 2 - at) : 2;
        result += expression(without_dashes(inside), home, includes, whole);
      }
      for (std::size_t i = at; i < end; ++i) {
        if (text[i] != '\n') continue;
        ++line;
        line_start = i + 1;
        result += '\n';
      }
      at = end + 2;
    }
    return result;
  }

  std::string expression(std::string_view text, const fs::path& home, std::vector<Include>& includes,
                         const base::Location& where) {
    if (const auto arguments = arguments_of(text, "add_to_path")) {
      std::string_view path = *arguments;
      if (const std::size_t tilde = path.find('~'); tilde != std::string_view::npos) {
        if (trim(path.substr(0, tilde)) != "cwd()") return unknown(text, where);
        path = path.substr(tilde + 1);
      }
      const auto folder = quoted(path);
      if (!folder) return unknown(text, where);
      folders_.push_back(home / fs::path(*folder).relative_path());
      return "";
    }
    if (const auto arguments = arguments_of(text, "include")) {
      // The comma between file and key stands outside of quotes and parentheses.
      std::size_t comma = std::string_view::npos;
      int nesting = 0;
      for (std::size_t i = 0; i < arguments->size(); ++i) {
        const char c = (*arguments)[i];
        nesting += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && nesting == 0) comma = i;
      }
      const std::string_view first = trim(arguments->substr(0, comma));
      std::optional<std::string> file = quoted(first);
      if (!file) file = default_of(first);
      std::optional<std::string> key = std::string();
      if (comma != std::string_view::npos) key = quoted(arguments->substr(comma + 1));
      if (!file || file->empty() || !key) return unknown(text, where);
      includes.push_back({find_file(*file, home), *key, where});
      return fmt::format("{}{}", kPlaceholder, includes.size() - 1);
    }
    if (const auto value = default_of(text)) return *value;
    return unknown(text, where);
  }

  std::string unknown(std::string_view text, const base::Location& where) {
    auto& diagnostic = found_.error("O0113", fmt::format("`{{{{{}}}}}` is not read here", text), where);
    if (is_name(text)) {
      diagnostic.hint(fmt::format("give a value: `{{{{{}|default(...)}}}}`, or write it out", text));
    } else {
      diagnostic.note("known: include('file', 'key'), add_to_path('folder'), name|default(value)");
    }
    return "";
  }

  // The first folder that has it: the file's own, then those added. Otherwise the name, for the message.
  std::string find_file(const std::string& name, const fs::path& home) const {
    std::error_code error;
    if (fs::is_regular_file(home / name, error)) return (home / name).string();
    for (const fs::path& folder : folders_) {
      if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
    }
    return (home / name).string();
  }

  void fill(yaml::Node& node, const std::vector<Include>& includes, int depth) {
    if (node.is_scalar() && node.scalar.compare(0, kPlaceholder.size(), kPlaceholder) == 0) {
      const std::string digits = node.scalar.substr(kPlaceholder.size());
      for (std::size_t i = 0; i < includes.size(); ++i) {
        if (digits == std::to_string(i)) {
          node = value_of(includes[i], depth);
          return;
        }
      }
    }
    for (yaml::Node& item : node.items) fill(item, includes, depth);
    for (yaml::Node::Entry& entry : node.entries) fill(entry.value, includes, depth);
  }

  yaml::Node value_of(const Include& include, int depth) {
    yaml::Node nothing;
    nothing.where = include.where;
    if (depth >= kMaxIncludes || included_.size() >= kMaxFiles) {
      found_.error("O0113",
                   fmt::format("includes go more than {} files deep; does a file include itself?", kMaxIncludes),
                   include.where);
      return nothing;
    }
    std::error_code error;
    if (!fs::is_regular_file(include.file, error)) {
      found_.error("O0100", fmt::format("there is no file `{}`", include.file), include.where);
      return nothing;
    }
    std::shared_ptr<const base::SourceFile> file;
    try {
      file = yaml::read_file(include.file);
    } catch (const base::InputError& unreadable) {
      base::Diagnostic& diagnostic =
          found_.error(unreadable.diagnostics.front().code, unreadable.diagnostics.front().message, include.where);
      for (const std::string& hint : unreadable.diagnostics.front().hints) diagnostic.hint(hint);
      return nothing;
    }
    included_bytes_ += file->text.size();
    if (included_bytes_ > base::kMostFileBytes) {
      found_
          .error("O0103",
                 fmt::format("includes bring in more than {} MiB; no more is read", base::kMostFileBytes >> 20),
                 include.where)
          .note("a file counts each time it is included");
      return nothing;
    }
    included_.push_back(file);
    auto documents = expand(file, depth + 1);
    if (documents.empty()) return nothing;
    if (include.key.empty()) return std::move(documents.front());
    const yaml::Node* value = documents.front().find(include.key);
    if (value != nullptr) return *value;
    std::vector<std::string> keys;
    for (const auto& entry : documents.front().entries) keys.push_back(entry.key);
    auto& diagnostic =
        found_.error("O0113", fmt::format("`{}` has no key `{}`", include.file, include.key), include.where);
    suggest(diagnostic, include.key, keys, "keys");
    return nothing;
  }

  std::vector<std::shared_ptr<const base::SourceFile>>& included_;
  base::Diagnostics& found_;
  std::size_t included_bytes_ = 0;
  std::vector<fs::path> folders_;
};

}  // namespace

bool is_template(const base::SourceFile& file) {
  constexpr std::string_view kEnding = ".jinja";
  const std::string& name = file.name;
  const bool named =
      name.size() > kEnding.size() && (name.compare(name.size() - kEnding.size(), kEnding.size(), kEnding) == 0 ||
                                       name.find(".jinja2") == name.size() - kEnding.size() - 1);
  return named || file.text.find("{{") != std::string::npos || file.text.find("{%") != std::string::npos;
}

std::vector<yaml::Node> expand_template(const std::shared_ptr<const base::SourceFile>& file,
                                        std::vector<std::shared_ptr<const base::SourceFile>>& included,
                                        base::Diagnostics& found) {
  return Expander(included, found).expand(file, 0);
}

}  // namespace orrery::formats::timeloop
