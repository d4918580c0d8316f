#include "orrery/formats/accelforge/workload_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <set>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/accelforge/einsum_text.h"

namespace orrery::formats::accelforge {
namespace {

constexpr double kMostSize = 1e15;

base::Count size_of(const yaml::Node& node, const Symbols& symbols, const std::string& what) {
  const double size = number_of(node, symbols, what);
  if (!(size >= 1 && size <= kMostSize && size == std::floor(size)))
    base::fail("O2103", fmt::format("{} must be a whole number from 1 to 1e15, but is {:.17g}", what, size),
               node.where);
  return base::saturated(size);
}

// The name that keeps a text from having a value; empty where none does.
std::string unknown_name(const yaml::Node& node, const Symbols& symbols) {
  try {
    evaluate(node.scalar, symbols);
    return "";
  } catch (const SetExpressionError& error) {
    return error.name;
  }
}

// Sizes of ranks may be said by those of others, in any order.
std::map<std::string, base::Count> rank_sizes(const yaml::Node& node) {
  std::map<std::string, base::Count> sizes;
  Symbols symbols;
  std::vector<const yaml::Node::Entry*> open;
  for (const yaml::Node::Entry& entry : node.entries) open.push_back(&entry);
  const std::vector<const yaml::Node::Entry*> all = open;
  while (!open.empty()) {
    std::vector<const yaml::Node::Entry*> later;
    for (const yaml::Node::Entry* entry : open) {
      const std::string awaited = unknown_name(entry->value, symbols);
      const bool waits = awaited != entry->key && std::any_of(open.begin(), open.end(),
                                                              [&](const auto* other) { return other->key == awaited; });
      if (waits) {
        later.push_back(entry);
        continue;
      }
      const base::Count size = size_of(entry->value, symbols, fmt::format("the size of rank `{}`", entry->key));
      sizes[entry->key] = size;
      symbols.names[entry->key] = SetValue::of(static_cast<double>(size));
    }
    if (later.size() == open.size())
      base::fail("O2109", fmt::format("the size of rank `{}` goes in a circle", later[0]->key), later[0]->value.where);
    open = std::move(later);
  }
  return sizes;
}

// `0 <= m < 128`: m and 128.
std::pair<std::string, base::Count> bound_of(const yaml::Node& node) {
  const std::string& text = node.scalar;
  std::size_t at = 0;
  const auto blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  const auto take = [&](std::string_view sign) {
    blanks();
    if (!std::string_view(text).substr(at).starts_with(sign)) return false;
    at += sign.size();
    return true;
  };
  bool read = take("0") && take("<=");
  blanks();
  std::size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
  const std::string variable = text.substr(at, end - at);
  at = end;
  read = read && !variable.empty() && take("<");
  const bool inclusive = read && at < text.size() && text[at] == '=';
  if (inclusive) ++at;
  if (!read || text.find_first_of("<>=", at) != std::string::npos)
    base::fail("O2104", fmt::format("`{}` is no shape that is read here", text), node.where,
               "write `0 <= m < 128`, of one variable");
  yaml::Node bound = node;
  bound.scalar = text.substr(at);
  bound.where.column += static_cast<int>(at);
  bound.where.length = std::max(1, static_cast<int>(text.size() - at));
  return {variable, size_of(bound, {}, fmt::format("the bound of `{}`", variable)) + (inclusive ? 1 : 0)};
}

std::map<std::string, base::Count> shapes(const yaml::Node* node) {
  std::map<std::string, base::Count> made;
  if (node == nullptr) return made;
  const auto add = [&](const yaml::Node& one) {
    const auto [variable, bound] = bound_of(one);
    const auto [known, added] = made.emplace(variable, bound);
    if (!added) known->second = std::min(known->second, bound);
  };
  for (const yaml::Node& item : node->items) add(item);
  for (const yaml::Node::Entry& entry : node->entries) add(entry.value);
  return made;
}

struct Entry {
  EinsumSpec spec;
  const yaml::Node* renames = nullptr;
};

class WorkloadBuilder {
 public:
  WorkloadBuilder(const Documents& documents, base::Diagnostics& found) : documents_(documents), found_(found) {}

  WorkloadSpec build() {
    const yaml::Node& workload = documents_.workload;
    warn_unknown(workload,
                 {"einsums", "rank_sizes", "iteration_space_shape", "bits_per_value", "persistent_tensors",
                  "n_instances", "name", "version"},
                 "`workload`", found_);
    if (const yaml::Node* sizes = workload.find("rank_sizes")) sizes_ = rank_sizes(*sizes);
    shapes_ = shapes(workload.find("iteration_space_shape"));
    const yaml::Node* instances = workload.find("n_instances");
    if (instances != nullptr) times_ = static_cast<double>(size_of(*instances, {}, "`n_instances`"));
    const yaml::Node* einsums = workload.find("einsums");
    if (einsums == nullptr || !einsums->is_sequence() || einsums->items.empty())
      base::fail("O2109", "`einsums` is a list of at least one einsum", workload.where);
    flatten(*einsums);
    for (Entry& entry : entries_) gather(entry.spec);
    WorkloadSpec made;
    for (Entry& entry : entries_) {
      name_things(entry);
      made.einsums.push_back(std::move(entry.spec));
    }
    check_bits(made);
    order(made.einsums);
    return made;
  }

 private:
  void flatten(const yaml::Node& list) {
    for (const yaml::Node& item : list.items) {
      if (item.is_sequence())
        flatten(item);
      else
        add(item);
    }
  }

  void add(const yaml::Node& node) {
    Entry entry;
    EinsumSpec& spec = entry.spec;
    spec.where = node.where;
    spec.times = times_;
    const yaml::Node* text = node.is_scalar() ? &node : node.find("einsum");
    const yaml::Node* list = node.find("tensor_accesses");
    if (text != nullptr) {
      spec.accesses = accesses_of_text(*text);
      if (list != nullptr) add_to_accesses(spec.accesses, *list, found_);
    } else if (list != nullptr) {
      spec.accesses = accesses_of_list(*list, found_);
    } else {
      base::fail("O2109", "an einsum is a text, or has `tensor_accesses`", node.where);
    }
    spec.name = spec.accesses.back().tensor;
    if (node.is_map()) read_keys(node, text != nullptr, entry);
    for (const Entry& other : entries_)
      if (other.spec.name == spec.name)
        base::fail("O2109", fmt::format("two einsums are called `{}`", spec.name), node.where);
    drop_repeated(spec);
    entries_.push_back(std::move(entry));
  }

  void read_keys(const yaml::Node& node, bool has_text, Entry& entry) {
    warn_unknown(node,
                 {"name", "einsum", "tensor_accesses", "renames", "is_copy_operation", "n_instances", "rank_sizes",
                  "iteration_space_shape"},
                 "an einsum", found_);
    if (const yaml::Node* name = node.find("name"); name != nullptr && !has_text) entry.spec.name = name->scalar;
    if (const yaml::Node* copy = node.find("is_copy_operation"))
      entry.spec.copy = copy->scalar == "True" || copy->scalar == "true";
    if (const yaml::Node* times = node.find("n_instances"))
      entry.spec.times *= static_cast<double>(size_of(*times, {}, "`n_instances`"));
    if (const yaml::Node* sizes = node.find("rank_sizes")) own_sizes_[entry.spec.name] = rank_sizes(*sizes);
    if (const yaml::Node* shape = node.find("iteration_space_shape")) own_shapes_[entry.spec.name] = shapes(shape);
    entry.renames = node.find("renames");
    if (entry.spec.copy && entry.spec.accesses.size() != 2) base::fail("O2109", "a copy reads one tensor", node.where);
  }

  // `DX + DX` reads DX once.
  static void drop_repeated(EinsumSpec& spec) {
    std::vector<AccessSpec> kept;
    for (AccessSpec& access : spec.accesses) {
      const auto same =
          std::find_if(kept.begin(), kept.end(), [&](const AccessSpec& one) { return one.tensor == access.tensor; });
      if (same == kept.end()) {
        kept.push_back(std::move(access));
      } else if (access.output || same->projection != access.projection) {
        base::fail("O2104", fmt::format("`{}` is touched twice in different ways", access.tensor), access.where,
                   "give the second a name of its own and copy it before");
      }
    }
    if (kept.size() > kMostMembers) base::fail("O2109", "an einsum touches 64 tensors at most", spec.where);
    spec.accesses = std::move(kept);
  }

  static const base::Count* of(const std::map<std::string, base::Count>& sizes, const std::string& name) {
    const auto known = sizes.find(name);
    return known == sizes.end() ? nullptr : &known->second;
  }

  // The variables and their sizes, and who makes and reads what.
  void gather(EinsumSpec& spec) {
    Symbols& symbols = spec.symbols;
    const auto& own = own_sizes_[spec.name];
    const auto& own_shape = own_shapes_[spec.name];
    for (const AccessSpec& access : spec.accesses) {
      (access.output ? made_ : read_).insert(access.tensor);
      users_[access.tensor].insert(spec.name);
      symbols.tensors.push_back(access.tensor);
      symbols.variables_of.push_back(0);
      for (const auto& [rank, variable] : access.projection) {
        auto known = std::find(symbols.variables.begin(), symbols.variables.end(), variable);
        if (known == symbols.variables.end()) {
          symbols.variables.push_back(variable);
          spec.sizes.push_back(0);
          known = symbols.variables.end() - 1;
        }
        const auto i = static_cast<std::size_t>(known - symbols.variables.begin());
        if (i >= kMostMembers) base::fail("O2109", "an einsum has 64 rank variables at most", spec.where);
        symbols.variables_of.back() |= Bits{1} << i;
        const base::Count* size = of(own, rank);
        if (size == nullptr) size = of(sizes_, rank);
        for (const base::Count* one : {size, of(shapes_, variable), of(own_shape, variable)})
          if (one != nullptr) spec.sizes[i] = spec.sizes[i] == 0 ? *one : std::min(spec.sizes[i], *one);
      }
      all_variables_.insert(symbols.variables.begin(), symbols.variables.end());
    }
    for (std::size_t i = 0; i < spec.sizes.size(); ++i)
      if (spec.sizes[i] == 0)
        base::fail("O2109",
                   fmt::format("nothing says how large `{}` of einsum `{}` is", symbols.variables[i], spec.name),
                   spec.where, "give its rank a size in `rank_sizes`");
  }

  void name_things(Entry& entry) {
    EinsumSpec& spec = entry.spec;
    Symbols& symbols = spec.symbols;
    auto& names = symbols.names;
    for (const auto& [tensor, users] : users_) names[tensor] = SetValue::tensors(0);
    for (const std::string& variable : all_variables_) names[variable] = SetValue::variables(0);
    Bits outputs = 0, intermediates = 0, shared = 0, persistent = 0;
    for (std::size_t i = 0; i < spec.accesses.size(); ++i) {
      const AccessSpec& access = spec.accesses[i];
      const Bits one = Bits{1} << i;
      names[access.tensor] = SetValue::tensors(one);
      if (access.output) outputs |= one;
      if (made_.count(access.tensor) > 0 && read_.count(access.tensor) > 0) intermediates |= one;
      if (users_[access.tensor].size() > 1) shared |= one;
      if (access.persistent) persistent |= one;
    }
    for (std::size_t i = 0; i < symbols.variables.size(); ++i)
      names[symbols.variables[i]] = SetValue::variables(Bits{1} << i);
    const Bits all = symbols.all_tensors();
    const std::pair<const char*, Bits> sets[] = {{"All", all},         {"Tensors", all},
                                                 {"Nothing", 0},       {"Inputs", all & ~outputs},
                                                 {"Outputs", outputs}, {"Intermediates", intermediates},
                                                 {"Shared", shared},   {"Persistent", persistent}};
    for (const auto& [name, set] : sets) names[name] = SetValue::tensors(set);
    rename(entry);
    read_bits(spec);
    if (const yaml::Node* node = documents_.workload.find("persistent_tensors"); node != nullptr && !node->is_null()) {
      const Bits set = tensors_of(*node, symbols, "`persistent_tensors`");
      for (std::size_t i = 0; i < spec.accesses.size(); ++i) spec.accesses[i].persistent |= (set >> i & 1) != 0;
    }
  }

  // Names of the einsum's own, then those of `renames` for it, then its defaults; the first of a name counts.
  void rename(Entry& entry) {
    std::set<std::string> done;
    if (entry.renames != nullptr) rename_by(*entry.renames, entry.spec, done);
    const yaml::Node* einsums = documents_.renames.find("einsums");
    if (einsums == nullptr) return;
    for (const std::string& wanted : {entry.spec.name, std::string("default")})
      for (const yaml::Node& item : einsums->items) {
        const yaml::Node* name = item.find("name");
        if (name == nullptr || name->scalar != wanted) continue;
        for (const char* part : {"tensor_accesses", "rank_variables"})
          if (const yaml::Node* list = item.find(part)) rename_by(*list, entry.spec, done);
      }
  }

  void rename_by(const yaml::Node& renames, EinsumSpec& spec, std::set<std::string>& done) {
    for (const yaml::Node::Entry& entry : renames.entries) rename_one(entry.key, entry.value, nullptr, spec, done);
    for (const yaml::Node& item : renames.items) {
      const yaml::Node* name = item.find("name");
      const yaml::Node* source = item.find("source");
      if (name == nullptr || source == nullptr) base::fail("O2109", "a rename has a `name` and a `source`", item.where);
      rename_one(name->scalar, *source, item.find("expected_count"), spec, done);
    }
  }

  void rename_one(const std::string& name, const yaml::Node& source, const yaml::Node* expected, EinsumSpec& spec,
                  std::set<std::string>& done) {
    if (!done.insert(name).second) return;
    Symbols& symbols = spec.symbols;
    const std::string what = fmt::format("`{}` of einsum `{}`", name, spec.name);
    const SetValue value = evaluate(source, symbols, what);
    if (!value.is(SetValue::Kind::kTensors) && !value.is(SetValue::Kind::kVariables))
      base::fail("O2103", fmt::format("{} must be a set of tensors or of rank variables", what), source.where);
    symbols.names[name] = value;
    if (expected == nullptr || expected->is_null()) return;
    const SetValue count = evaluate(*expected, symbols, "`expected_count`");
    const int members = std::popcount(value.set);
    if (count.is(SetValue::Kind::kNumber) && count.number != members)
      base::fail("O2105",
                 fmt::format("{} must be {} tensor{}, but is {}", what, count.number, count.number == 1 ? "" : "s",
                             members_text(value, symbols)),
                 source.where, fmt::format("say which it is: `renames: {{{}: ...}}` in the einsum", name));
  }

  static std::string members_text(const SetValue& value, const Symbols& symbols) {
    std::string text;
    const auto& names = value.is(SetValue::Kind::kTensors) ? symbols.tensors : symbols.variables;
    for (std::size_t i = 0; i < names.size(); ++i)
      if ((value.set >> i & 1) != 0) text += (text.empty() ? "`" : ", `") + names[i] + "`";
    return text.empty() ? "none" : text;
  }

  void read_bits(EinsumSpec& spec) {
    Symbols& symbols = spec.symbols;
    std::vector<double> bits(spec.accesses.size(), 0);
    if (const yaml::Node* node = documents_.workload.find("bits_per_value")) {
      Bits rest = symbols.all_tensors();
      for (const bool other : {false, true})
        for (const yaml::Node::Entry& entry : node->entries) {
          if ((entry.key == "Other") != other) continue;
          yaml::Node key;
          key.kind = yaml::Node::Kind::kScalar;
          key.scalar = entry.key;
          key.where = entry.key_where;
          const Bits set = other ? rest : tensors_of(key, symbols, "a key of `bits_per_value`");
          const double value = number_of(entry.value, symbols, "`bits_per_value`");
          for (std::size_t i = 0; i < bits.size(); ++i) {
            if ((set >> i & 1) == 0) continue;
            if ((rest >> i & 1) == 0)
              base::fail("O2109", fmt::format("two keys give `{}` its bits", symbols.tensors[i]), entry.key_where);
            bits[i] = value;
          }
          rest &= ~set;
        }
    }
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (spec.accesses[i].bits) bits[i] = *spec.accesses[i].bits;
      if (!(bits[i] > 0))
        base::fail("O2109", fmt::format("nothing says how many bits a value of `{}` has", symbols.tensors[i]),
                   spec.accesses[i].where, "give `bits_per_value: {All: 16}` in `workload`");
    }
    symbols.bits_of = std::move(bits);
  }

  // What is read is made before: an einsum goes behind those it reads of, otherwise all stay in their order.
  static void order(std::vector<EinsumSpec>& einsums) {
    std::vector<EinsumSpec> sorted;
    std::set<std::string> awaited;
    for (const EinsumSpec& einsum : einsums) awaited.insert(einsum.accesses.back().tensor);
    while (!einsums.empty()) {
      const auto ready = std::find_if(einsums.begin(), einsums.end(), [&](const EinsumSpec& one) {
        return std::none_of(one.accesses.begin(), one.accesses.end(), [&](const AccessSpec& access) {
          return !access.output && awaited.count(access.tensor) > 0;
        });
      });
      if (ready == einsums.end()) refuse_circle(einsums);
      awaited.erase(ready->accesses.back().tensor);
      sorted.push_back(std::move(*ready));
      einsums.erase(ready);
    }
    einsums = std::move(sorted);
  }
  [[noreturn]] static void refuse_circle(const std::vector<EinsumSpec>& left) {
    base::Diagnostics own;
    auto& error = own.error("O2109", "the einsums go in a circle: each of these waits for another", left[0].where);
    error.label(fmt::format("`{}` makes `{}`", left[0].name, left[0].accesses.back().tensor));
    for (std::size_t i = 1; i < left.size(); ++i)
      error.also(left[i].where, fmt::format("`{}` makes `{}`", left[i].name, left[i].accesses.back().tensor));
    error.hint("give one of the tensors another name where it is read, if an earlier run made it");
    throw base::InputError(own.all());
  }

  static void check_bits(const WorkloadSpec& workload) {
    std::map<std::string, double> known;
    for (const EinsumSpec& einsum : workload.einsums)
      for (std::size_t i = 0; i < einsum.accesses.size(); ++i) {
        const double bits = einsum.symbols.bits_of[i];
        const auto [first, added] = known.emplace(einsum.accesses[i].tensor, bits);
        if (!added && first->second != bits)
          base::fail("O2109",
                     fmt::format("a value of `{}` has {} bits in einsum `{}`, and {} before", first->first, bits,
                                 einsum.name, first->second),
                     einsum.accesses[i].where);
      }
  }

  const Documents& documents_;
  base::Diagnostics& found_;
  std::vector<Entry> entries_;
  double times_ = 1;
  std::map<std::string, base::Count> sizes_, shapes_;
  std::map<std::string, std::map<std::string, base::Count>> own_sizes_, own_shapes_;  // by einsum
  std::set<std::string> made_, read_, all_variables_;
  std::map<std::string, std::set<std::string>> users_;  // einsums, by tensor
};

}  // namespace

WorkloadSpec read_workload(const Documents& documents, base::Diagnostics& found) {
  return WorkloadBuilder(documents, found).build();
}

}  // namespace orrery::formats::accelforge
