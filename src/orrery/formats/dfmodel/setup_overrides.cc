// A value is read by the same parser as the file: the path is spelled out as nested blocks around it, in a text of its
// own that messages can point into, and the one field in it is moved to its place.
#include "orrery/formats/dfmodel/setup_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::dfmodel {

namespace {

struct Failure {
  std::string message, hint;
};

Entry* find_entry(Block& block, std::string_view field) {
  for (Entry& entry : block.entries)
    if (entry.field->name == field) return &entry;
  return nullptr;
}

Entry* first_of(Block& block, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (Entry* entry = find_entry(block, name)) return entry;
  return nullptr;
}

// The entry that a path's part means where it is not a field's own name, or nullptr.
Entry* by_alias(Block& block, std::string_view part) {
  if (part == "execution") return find_entry(block, "miscellany");
  if (part == "topology") return first_of(block, topology_names());
  if (part == "workload") return first_of(block, workload_names());
  return nullptr;
}

std::string kernel_name(const Block& kernel) {
  const Entry* name = kernel.find("name");
  return name ? name->text : "";
}

// A kernel by its name or id, a connection by its id.
Entry& called(Block& graph, const std::string& repeated, const std::string& wanted) {
  const bool kernels = repeated == "kernels";
  std::vector<std::string> names;
  for (Entry& entry : graph.entries) {
    if (entry.field->name != repeated) continue;
    const Entry* id = entry.block.find("id");
    if (id && std::to_string(id->integer) == wanted) return entry;
    if (!kernels) continue;
    names.push_back(kernel_name(entry.block));
    if (names.back() == wanted) return entry;
  }
  if (!kernels) throw Failure{fmt::format("there is no connection `{}`", wanted), "connections go by their ids"};
  throw Failure{fmt::format("there is no kernel `{}`", wanted),
                base::did_you_mean(wanted, names, "kernels go by their names or ids")};
}

// The one block among `block`'s that has the field; of a kernel, its body.
Entry* body_with(Block& block, const std::string& field) {
  for (Entry& entry : block.entries)
    if (entry.field->block && entry.field->block->find(field)) return &entry;
  return nullptr;
}

struct Target {
  Block* block = nullptr;
  const FieldType* field = nullptr;
  std::vector<std::string> blocks;  // the names around it, outermost first
};

Block& enter(Block& block, Entry* entry, const FieldType& type, std::vector<std::string>& names) {
  names.push_back(entry ? entry->field->name : type.name);
  if (entry) return entry->block;
  Entry& made = block.entries.emplace_back();
  made.field = &type;
  made.where = block.where;
  made.block.type = type.block;
  made.block.where = block.where;
  return made.block;
}

Target find_target(Block& root, const std::vector<std::string>& parts) {
  Target target;
  target.block = &root;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Block& block = *target.block;
    const bool last = i + 1 == parts.size();
    const FieldType* type = block.type->find(parts[i]);
    Entry* entry = type ? find_entry(block, parts[i]) : nullptr;
    if (!entry)
      if (Entry* meant = by_alias(block, parts[i])) entry = meant, type = meant->field;
    if (!type) {
      if (Entry* body = body_with(block, parts[i]); body && block.type->name == "Kernel") {
        target.blocks.push_back(body->field->name);
        target.block = &body->block;
        --i;
        continue;
      }
      if (i == 0 && (parts[0] == "model" || parts[0] == "plan"))
        throw Failure{fmt::format("a setup has no `{}`: its fields begin with {}", parts[0],
                                  base::joined(block.type->field_names(), ", ")),
                      "`execution.llm.num_layer` is how many layers there are; other sizes are the graph's: write it "
                      "with `orrery "
                      "graph llm --model NAME --layers N --hidden N ... -o FILE` and add `system` and `execution`"};
      throw Failure{
          fmt::format("`{}` is not a field of `{}`", parts[i], block.type->name),
          base::did_you_mean(parts[i], block.type->field_names(),
                             fmt::format("its fields are {}", base::joined(block.type->field_names(), ", ")))};
    }
    if (last) {
      if (type->block)
        throw Failure{fmt::format("`{}` is a block, not a field", parts[i]),
                      fmt::format("go on with one of its fields: {}", base::joined(type->block->field_names(), ", "))};
      target.field = type;
      return target;
    }
    if (!type->block) throw Failure{fmt::format("`{}` is a field, not a block", parts[i]), "end the path with it"};
    if (type->repeated) {
      if (i + 2 >= parts.size()) {
        const bool kernels = type->name == "kernels";
        throw Failure{fmt::format("the path ends before a {}'s field", kernels ? "kernel" : "connection"),
                      fmt::format("write `dataflow_graph.{}.{}.FIELD`", type->name, kernels ? "NAME" : "ID")};
      }
      target.blocks.push_back(type->name);
      target.block = &called(block, type->name, parts[++i]).block;
      continue;
    }
    target.block = &enter(block, entry, *type, target.blocks);
  }
  throw Failure{"the path is empty", "write `system.num_chip=8`"};
}

const Entry* leaf(const Block& block) {
  if (block.entries.empty()) return nullptr;
  const Entry& entry = block.entries.front();
  return entry.field->block ? leaf(entry.block) : &entry;
}

// A value is spelled into a text, so it must be one word of it: anything behind that would be another field.
void check_word(const FieldType& field, const std::string& value) {
  const auto only = [&](std::string_view more) {
    return std::all_of(value.begin(), value.end(), [&](unsigned char c) {
      return (c < 128 && std::isalnum(c)) || more.find(static_cast<char>(c)) != std::string_view::npos;
    });
  };
  if (field.kind == FieldKind::kText) {
    const bool quoted = value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
    const std::string_view inside = std::string_view(value).substr(quoted, value.size() - (quoted ? 2 : 0));
    if (inside.find_first_of("\"'\\\n") == std::string_view::npos) return;
    throw Failure{"a name holds no quotes, backslashes or line breaks", "write it without them"};
  }
  const bool number = !value.empty() && std::string_view("+-.0123456789").find(value[0]) != std::string_view::npos;
  if (value.empty() || !only(number ? "+-." : "_"))
    throw Failure{fmt::format("`{}` is not one value of a field", value),
                  "change one field with each `--set`; numbers have no units, blanks or underscores"};
}

// Setups are proto3: a number that is 0 and one that is absent are the same.
void warn_of_zero(const Entry& entry, base::Diagnostics& found) {
  const bool number = entry.field->kind == FieldKind::kInteger || entry.field->kind == FieldKind::kReal;
  if (!number || entry.broken || entry.integer != 0 || entry.real != 0) return;
  found
      .warning("O1470", fmt::format("`{}: 0` is the same as no `{}`", entry.field->name, entry.field->name),
               entry.where)
      .note("in DFModel's format a number that is 0 counts as not given")
      .hint("give a small number where little is meant");
}

std::shared_ptr<const base::SourceFile> spelled(const Target& target, const base::Override& set) {
  const std::string& value = set.value;
  const bool bare = target.field->kind == FieldKind::kText && (value.empty() || (value[0] != '"' && value[0] != '\''));
  const auto file = base::value_text(set);
  file->text.clear();
  for (const std::string& block : target.blocks) file->text += block + " { ";
  file->text += target.field->name + ": " + (bare ? "\"" + value + "\"" : value);
  for (std::size_t i = 0; i < target.blocks.size(); ++i) file->text += " }";
  return file;
}

void replace(Target& target, Entry entry) {
  std::vector<Entry>& entries = target.block->entries;
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [&](const Entry& old) { return old.field->name == entry.field->name; }),
                entries.end());
  entries.push_back(std::move(entry));
}

}  // namespace

void apply_overrides(const base::Overrides& overrides, Block& root, base::Diagnostics& found) {
  for (const base::Override& set : overrides) {
    const auto& [path, value] = set;
    std::vector<std::string> parts;
    std::stringstream stream(path);
    for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
    try {
      Target target = find_target(root, parts);
      check_word(*target.field, value);
      const ParsedText parsed = parse_text(spelled(target, set), found);
      const Entry* entry = leaf(parsed.root);
      if (!parsed.complete || !entry) continue;
      warn_of_zero(*entry, found);
      replace(target, *entry);
    } catch (const Failure& failure) {
      found.error("O1421", fmt::format("`--set {}={}`: {}", path, value, failure.message)).hint(failure.hint);
    }
  }
}

}  // namespace orrery::formats::dfmodel
