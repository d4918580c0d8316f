// A template is rendered to text, whose characters know their places (templates/placed_text.h), and parsed; places of
// the text become those of the files. An included value is a placeholder in the text and put in after parsing, so that
// it needs no writing as YAML.
//
// Cost: linear in the texts, and bounded (templates/template_budget.h); a file that is included twice is read once.
#include "orrery/formats/timeloop/documents/jinja.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/documents/inheriting_templates.h"
#include "orrery/formats/timeloop/documents/template_paths.h"
#include "orrery/formats/timeloop/expressions/key_check.h"
#include "orrery/formats/timeloop/expressions/python_arithmetic.h"
#include "orrery/formats/timeloop/templates/render.h"
#include "orrery/formats/yaml/merge_keys.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;

using File = std::shared_ptr<const base::SourceFile>;
using jinja::PlacedText;
using jinja::TemplateValue;

constexpr std::size_t kMostNested = 16;
constexpr std::size_t kMostTemplate = std::size_t{256} << 10;
using yaml::kPlaceholder;

// `--define NAME=VALUE`: numbers and truth values as Python writes them, everything else is text.
TemplateValue defined_value(const std::string& text) {
  if (text == "True" || text == "true" || text == "False" || text == "false" || text == "None")
    return TemplateValue::of(*python::constant(text));
  if (const auto whole = base::parse_number<base::Count>(text)) return TemplateValue::number(*whole);
  if (const auto real = base::parse_number<double>(text)) return TemplateValue::of(*real);
  return TemplateValue::text(text);
}

std::size_t size_of(const yaml::Node& node) {
  std::size_t size = 1;
  for (const yaml::Node& item : node.items) size += size_of(item);
  for (const yaml::Node::Entry& entry : node.entries) size += size_of(entry.value);
  return size;
}

class Expander {
 public:
  Expander(const TemplateOptions& options, const File& top, std::vector<File>& included, base::Diagnostics& found,
           bool inherits)
      : paths_(options.folders, top->name), included_(included), found_(found), inherits_(inherits), open_{top->name} {
    for (const base::Override& one : options.defined) variables_.insert_or_assign(one.path, defined_value(one.value));
  }

  // Throws InputError.
  std::vector<yaml::Node> documents(const File& file, const TemplatePaths::Folders& folders) {
    const PlacedText text = rendered(file, folders);
    auto shown = std::make_shared<base::SourceFile>();
    shown->name = file->name;
    shown->text = text.text();
    base::Diagnostics own;
    auto documents = yaml::parse(shown, base::Severity::kWarning, own);
    const auto origin = [&](base::Location& where) {
      if (where.file.get() != shown.get() || where.line == 0) return;
      const int length = where.length;
      where = text.origin(where.line, where.column);
      if (where.length == 1) where.length = length;
    };
    base::Diagnostics errors;
    for (const base::Diagnostic& diagnostic : own.all()) {
      const bool error = diagnostic.severity == base::Severity::kError;
      base::Diagnostic& copy = (error ? errors : found_).add(diagnostic);
      if (const base::Location& where = diagnostic.primary.where; where.line > 0 && copy.code == "O0101")
        copy.note(
            fmt::format("line {} of what the template renders to: `{}`", where.line, line_of(*shown, where.line)));
      origin(copy.primary.where);
      for (base::Label& label : copy.secondary) origin(label.where);
    }
    errors.throw_if_errors();
    for (yaml::Node& document : documents) place(document, origin);
    for (yaml::Node& document : documents) {
      fill(document);
      if (inherits_) yaml::merge_filled(document);
    }
    return documents;
  }

 private:
  // The functions of one template.
  class Functions : public jinja::Surroundings {
   public:
    Functions(Expander& owner, const File& file, TemplatePaths::Folders folders)
        : owner_(owner), file_(file), folders_(std::move(folders)) {}

    std::vector<std::string> functions() const override {
      return {"include", "include_all", "include_text", "add_to_path", "find_path", "path_exists", "cwd"};
    }

    TemplateValue call(std::string_view name, const jinja::TemplateArguments& arguments, const base::Location& where,
                       const jinja::Variables& known) override {
      owner_.budget_.step(where, kCostOfAFile);
      const Lent lent(owner_, known);
      const auto text = [&](std::size_t i) -> std::string {
        const std::string* held = i < arguments.values.size() ? arguments.values[i].as_text() : nullptr;
        if (held == nullptr) base::fail("O0113", fmt::format("`{}` takes the name of a file, as a text", name), where);
        return *held;
      };
      const TemplatePaths& paths = owner_.paths_;
      const fs::path home = fs::path(file_->name).parent_path();
      if (name == "cwd") return TemplateValue::text(paths.absolute(home));
      const std::string wanted = text(0);
      if (name == "add_to_path") {
        folders_.push_back(paths.folder(wanted, home, folders_, where));
        return TemplateValue::text("");
      }
      if (name == "path_exists") return TemplateValue::truth(paths.exists(wanted, home, folders_, where));
      if (name == "find_path") return TemplateValue::text(paths.absolute(paths.any(wanted, home, folders_, where)));
      if (name == "include_text") return include_text(paths.all(wanted, home, folders_, where), where);
      std::string key = arguments.values.size() > 1 ? text(1) : "";
      if (name == "include")
        return owner_.placeholder(owner_.value({paths.one(wanted, home, folders_, where)}, key, folders_, where));
      return owner_.placeholder(owner_.value(paths.all(wanted, home, folders_, where), key, folders_, where, true));
    }

   private:
    TemplateValue include_text(const std::vector<std::string>& names, const base::Location& where) {
      auto whole = std::make_shared<PlacedText>();
      for (const std::string& name : names) {
        if (!whole->text().empty()) whole->append_made(where, "\n");
        whole->append(*owner_.text_of_file(name, folders_, where));
      }
      TemplateValue value;
      value.kind = TemplateValue::Kind::kIncluded;
      value.included = std::move(whole);
      return value;
    }

    // What an included file knows while it is read.
    class Lent {
     public:
      Lent(Expander& owner, const jinja::Variables& known) : owner_(owner) {
        if (!owner.inherits_) return;
        kept_ = std::exchange(owner.variables_, known);
        // A macro is a part of the template that defines it.
        std::erase_if(owner.variables_, [](const auto& one) { return one.second.kind == TemplateValue::Kind::kMacro; });
      }
      ~Lent() {
        if (owner_.inherits_) owner_.variables_ = std::move(kept_);
      }
      Lent(const Lent&) = delete;
      Lent& operator=(const Lent&) = delete;

     private:
      Expander& owner_;
      jinja::Variables kept_;
    };

    static constexpr std::size_t kCostOfAFile = 4096;  // asking the file system takes as long as some steps

    Expander& owner_;
    File file_;
    TemplatePaths::Folders folders_;
  };

  PlacedText rendered(const File& file, const TemplatePaths::Folders& folders) {
    if (file->text.size() > kMostTemplate)
      base::fail("O0103", fmt::format("`{}` is a template of more than {} KiB", file->name, kMostTemplate >> 10),
                 {file, 0, 0, 1}, "move what needs no rendering to a file of its own");
    Functions functions(*this, file, folders);
    budget_.allow(file->text.size());
    // What the tree points into must outlive it, and so must the tree while macros are called.
    const jinja::Template parsed = jinja::parse_template(file);
    return jinja::render(parsed, variables_, functions, budget_);
  }

  // Errors of what `inside` does to an included file say who included it.
  template <typename F>
  auto included_from(const base::Location& where, const std::string& name, F&& inside) {
    const auto again = std::find_if(open_.begin(), open_.end(), [&](const std::string& one) {
      return paths_.absolute(one) == paths_.absolute(name);
    });
    if (again != open_.end() || open_.size() >= kMostNested) {
      base::Diagnostics own;
      auto& error = own.error("O0113",
                              again != open_.end() ? fmt::format("`{}` includes itself", name)
                                                   : fmt::format("includes go more than {} files deep", kMostNested),
                              where);
      for (auto one = again; one != open_.end() && one + 1 != open_.end(); ++one)
        error.note("by way of `" + *(one + 1) + "`");
      throw base::InputError(own.all());
    }
    open_.push_back(name);
    try {
      auto result = inside();
      open_.pop_back();
      return result;
    } catch (base::InputError& error) {
      for (base::Diagnostic& diagnostic : error.diagnostics) diagnostic.also(where, "included here");
      throw;
    }
  }

  File read(const std::string& name, const base::Location& where) {
    File& file = files_[paths_.absolute(name)];
    if (file) return file;
    try {
      file = yaml::read_file(name);
    } catch (base::InputError& unreadable) {
      for (base::Diagnostic& diagnostic : unreadable.diagnostics) diagnostic.primary.where = where;
      throw;
    }
    included_bytes_ += file->text.size();
    if (included_bytes_ > base::kMostFileBytes)
      base::fail("O0103",
                 fmt::format("includes bring in more than {} MiB; no more is read", base::kMostFileBytes >> 20), where);
    included_.push_back(file);
    return file;
  }

  static std::string cache_key(const std::string& path, const TemplatePaths::Folders& folders) {
    std::string key = path;
    for (const std::string& folder : folders) key += "\n" + folder;
    return key;
  }

  std::shared_ptr<const PlacedText> text_of_file(const std::string& name, const TemplatePaths::Folders& folders,
                                                 const base::Location& where) {
    return included_from(where, name, [&] {
      const File file = read(name, where);
      std::shared_ptr<const PlacedText>& text = texts_[cache_key(paths_.absolute(name), folders)];
      if (!text || inherits_) text = std::make_shared<const PlacedText>(rendered(file, folders));
      return text;
    });
  }

  const std::vector<yaml::Node>& documents_of_file(const std::string& name, const TemplatePaths::Folders& folders,
                                                   const base::Location& where) {
    return *included_from(where, name, [&] {
      const File file = read(name, where);
      std::shared_ptr<const std::vector<yaml::Node>>& parsed = parsed_[cache_key(paths_.absolute(name), folders)];
      if (!parsed || inherits_) parsed = std::make_shared<const std::vector<yaml::Node>>(documents(file, folders));
      return parsed;
    });
  }

  // The value at `key`, whose parts are parted by dots, of each file; as one list where `all` are asked for.
  yaml::Node value(const std::vector<std::string>& names, const std::string& key, const TemplatePaths::Folders& folders,
                   const base::Location& where, bool all = false) {
    yaml::Node list;
    list.kind = yaml::Node::Kind::kSequence;
    list.where = where;
    for (const std::string& name : names) {
      const auto& documents = documents_of_file(name, folders, where);
      yaml::Node nothing;
      nothing.where = where;
      const yaml::Node* held = documents.empty() ? &nothing : &documents.front();
      held = &part_of(*held, key, name, where);
      budget_.step(where, 64 * size_of(*held));
      if (!all) return *held;
      if (held->is_sequence())
        list.items.insert(list.items.end(), held->items.begin(), held->items.end());
      else
        list.items.push_back(*held);
    }
    return list;
  }

  // The value at `key`, whose parts are parted by dots.
  static const yaml::Node& part_of(const yaml::Node& whole, const std::string& key, const std::string& file,
                                   const base::Location& where) {
    const yaml::Node* held = &whole;
    for (std::size_t at = 0; at < key.size();) {
      const std::size_t dot = std::min(key.find('.', at), key.size());
      const std::string step = key.substr(at, dot - at);
      at = dot + 1;
      if (step.empty()) continue;
      const yaml::Node* next = held->find(step);
      if (next == nullptr) refuse_key(file, step, *held, where);
      held = next;
    }
    return *held;
  }

  [[noreturn]] static void refuse_key(const std::string& file, const std::string& key, const yaml::Node& node,
                                      const base::Location& where) {
    std::vector<std::string> keys;
    for (const auto& entry : node.entries) keys.push_back(entry.key);
    base::Diagnostics own;
    auto& error = own.error("O0113", fmt::format("`{}` has no key `{}`", file, key), where);
    suggest(error, key, keys, "keys");
    throw base::InputError(own.all());
  }

  TemplateValue placeholder(yaml::Node value) {
    values_.push_back(std::move(value));
    return TemplateValue::text(fmt::format("{}{}", kPlaceholder, values_.size() - 1));
  }

  void fill(yaml::Node& node) {
    const std::size_t at = node.is_scalar() ? node.scalar.find(kPlaceholder) : std::string::npos;
    if (at != std::string::npos) {
      const std::string_view rest = std::string_view(node.scalar).substr(at + kPlaceholder.size());
      const std::size_t dot = inherits_ ? std::min(rest.find('.'), rest.size()) : rest.size();
      const auto number = base::parse_number<std::size_t>(rest.substr(0, dot));
      if (at != 0 || !number || *number >= values_.size())
        base::fail("O0113", "an included value stands within a text", node.where,
                   "let it stand alone as a value, or take the text: `include_text('file')`");
      const std::string key(rest.substr(dot));
      budget_.step(node.where, 64 * size_of(values_[*number]));
      yaml::Node value = part_of(values_[*number], key, "what is included here", node.where);
      node = std::move(value);
      return;
    }
    for (yaml::Node& item : node.items) fill(item);
    for (yaml::Node::Entry& entry : node.entries) fill(entry.value);
  }

  template <typename F>
  static void place(yaml::Node& node, const F& origin) {
    origin(node.where);
    for (yaml::Node& item : node.items) place(item, origin);
    for (yaml::Node::Entry& entry : node.entries) {
      origin(entry.key_where);
      place(entry.value, origin);
    }
  }

  static std::string line_of(const base::SourceFile& file, int line) {
    std::size_t begin = 0;
    for (int i = 1; i < line && begin != std::string::npos; ++i) {
      begin = file.text.find('\n', begin);
      if (begin != std::string::npos) ++begin;
    }
    if (begin == std::string::npos) return {};
    return file.text.substr(begin, std::min<std::size_t>(file.text.find('\n', begin) - begin, 100));
  }

  TemplatePaths paths_;
  std::vector<File>& included_;
  base::Diagnostics& found_;
  bool inherits_;
  jinja::Budget budget_;
  jinja::Variables variables_;
  std::vector<std::string> open_;  // the files that include each other, outermost first
  std::map<std::string, File> files_;
  std::map<std::string, std::shared_ptr<const PlacedText>> texts_;
  std::map<std::string, std::shared_ptr<const std::vector<yaml::Node>>> parsed_;
  std::vector<yaml::Node> values_;
  std::size_t included_bytes_ = 0;
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

TemplateOptions beside(TemplateOptions options, const std::vector<File>& files) {
  for (const File& file : files) {
    std::error_code error;
    if (fs::is_regular_file(file->name, error)) options.folders.push_back(fs::path(file->name).parent_path().string());
  }
  std::sort(options.folders.begin(), options.folders.end());
  options.folders.erase(std::unique(options.folders.begin(), options.folders.end()), options.folders.end());
  return options;
}

std::vector<yaml::Node> expand_template(const File& file, const TemplateOptions& options, std::vector<File>& included,
                                        base::Diagnostics& found) {
  try {
    return Expander(beside(options, {file}), file, included, found, false).documents(file, {});
  } catch (const base::InputError& error) {
    found.append(error.diagnostics);
    return {};
  }
}

std::vector<yaml::Node> expand_inheriting(const File& file, const TemplateOptions& options, std::vector<File>& included,
                                          base::Diagnostics& found) {
  try {
    TemplateOptions readable = beside(options, {file});
    for (std::size_t i = 0, given = readable.folders.size(); i < given; ++i) {
      std::error_code error;
      for (fs::path folder = fs::absolute(readable.folders[i].empty() ? "." : readable.folders[i], error);
           !error && folder.has_relative_path(); folder = folder.parent_path())
        if (folder.filename() == "workloads") readable.folders.push_back(folder.string());
    }
    return Expander(readable, file, included, found, true).documents(file, options.folders);
  } catch (base::InputError& error) {
    for (base::Diagnostic& one : error.diagnostics)
      if (one.code == "O0100") one.hint("name the folder that has it: `--include DIR`");
    found.append(error.diagnostics);
    return {};
  }
}

}  // namespace orrery::formats::timeloop
