// The first form, of libconfig's days: `arithmetic` and a list `storage`, innermost first -> components.
//
// It knows no classes: `technology = "DRAM"` makes a DRAM, everything else is an SRAM. Nor does it give energies or a
// node; Timeloop then takes ratios to one multiplication of 16 bit, from two points of Eyeriss's register files and
// buffers and its DRAM (Chen, Emer, Sze, ISCA 2016), linear in the capacity and in the width of an access:
//
//   SRAM   E(x) = 1 + 5 (x - 0.5) / 99.5 for 16 bit, x in KiB of a whole cluster; times width / 16
//   DRAM   200 for 16 bit
//   multiplier  (bits / 16)^2
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/describe/machine/ranges.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

constexpr const char* kArithmetic = "arithmetic";  // of a unit that has no name

class Lists {
 public:
  Lists(const AttributeFrame& top, Flattened& into, base::Diagnostics& found) : top_(top), into_(into), found_(found) {}

  void storages(const yaml::Node& list) {
    if (!list.is_sequence()) {
      found_.error("O0302", "`storage` must be a list of storages, innermost first", list.where);
      return;
    }
    for (auto node = list.items.rbegin(); node != list.items.rend(); ++node) {
      if (!node->is_map()) {
        found_.error("O0305", "a storage must be a map", node->where);
        continue;
      }
      const std::string name = name_of(*node, "a storage", found_);
      if (name.empty()) continue;
      const yaml::Node* technology = node->find("technology");
      add(*node, name, technology != nullptr && technology->scalar == "DRAM" ? "DRAM" : "SRAM");
    }
  }

  void arithmetic(const yaml::Node* node, const yaml::Node& beside) {
    if (node == nullptr || !node->is_map()) {
      found_
          .error("O0302", "the architecture has `storage`, but no map `arithmetic`",
                 node != nullptr ? node->where : beside.where)
          .hint("say how many units compute: `arithmetic = { instances = 256; word_bits = 16; };`");
      return;
    }
    const yaml::Node* name = node->find("name");
    static const std::vector<std::string> kKeys = {"name",  "instances", "word_bits",       "datawidth",     "meshX",
                                                   "meshY", "energy",    "network_operand", "network_result"};
    warn_unknown_keys(*node, kKeys, "O0323", "the arithmetic", found_);
    add(*node, name != nullptr && name->is_scalar() && !name->scalar.empty() ? name->scalar : kArithmetic, "compute");
  }

 private:
  void add(const yaml::Node& written, const std::string& name, const char* class_name) {
    yaml::Node& attributes = into_.made.emplace_back(written);
    std::erase_if(attributes.entries, [](const yaml::Node::Entry& entry) {
      const std::string key = plain_key(entry.key);
      return key == "name" || key == "technology";
    });
    const AttributeFrame& frame = into_.frames.emplace_back(top_, &attributes);
    Component component;
    component.name = name;
    component.class_name = class_name;
    component.where = written.where;
    if (const yaml::Node* place = written.find("name")) component.where = place->where;
    component.frame = &frame;
    component.node = &written;
    component.around = frame.outer;
    component.meshes_known = false;
    component.table_path = name;
    warn_misspelt_attributes(attributes, found_);
    into_.components.push_back(std::move(component));
  }

  const AttributeFrame& top_;
  Flattened& into_;
  base::Diagnostics& found_;
};

double sram_ratio(const machine::Storage& storage) {
  if (!storage.capacity_words) return 0;
  const double block = static_cast<double>(storage.block_size), cluster = static_cast<double>(storage.cluster_size);
  const double width = static_cast<double>(storage.word_bits) * block * cluster;
  const double height = std::ceil(static_cast<double>(*storage.capacity_words) / block);
  constexpr double kSlope = (6.0 - 1.0) / (100.0 - 0.5);
  return (kSlope * (width * height / 8192 - 0.5) + 1.0) * width / 16 / cluster;
}

}  // namespace

void flatten_lists(const yaml::Node& storage, const yaml::Node* arithmetic, const AttributeFrame& top, Flattened& into,
                   base::Diagnostics& found) {
  Lists lists(top, into, found);
  lists.storages(storage);
  lists.arithmetic(arithmetic, storage);
}

Ratios apply_ratios(const Flattened& flat, machine::Chip& chip, base::Diagnostics& found) {
  Ratios ratios;
  const auto take = [&](double ratio, const std::string& of, const base::Location& where) {
    ratios.relative.push_back(of);
    if (machine::in_range(ratio)) return ratio;
    found.error("O0609", fmt::format("the energy of `{}` is out of range", of), where)
        .note(machine::range_broken(ratio, "multiplications of 16 bit"))
        .hint("make it smaller, or give its energy");
    return 0.0;
  };
  for (machine::Storage& storage : chip.storages) {
    if (storage.energy_from_user) {
      ratios.given.push_back(storage.name);
      continue;
    }
    const double ratio = storage.is_dram ? 200.0 * storage.word_bits * static_cast<double>(storage.block_size) / 16
                                         : sram_ratio(storage);
    const double access = take(ratio, storage.name, storage.where);
    storage.energy = {access, access, access, 0};
  }
  const AttributeFrame& frame = *flat.components.back().frame;
  machine::Compute& compute = chip.compute;
  const yaml::Node* energy = frame.attributes->find("energy");
  if (energy == nullptr) {
    const double words = static_cast<double>(compute.word_bits) / 16;
    compute.compute_pj = take(words * words, compute.name, compute.where);
  } else if (const auto given = as_number(*energy, frame.scope, "energy", found)) {
    compute.compute_pj = *given;
    ratios.given.push_back(compute.name);
    if (*given < 0 || !machine::in_range(*given))
      found.error("O0609", fmt::format("`energy` of `{}` is out of range", compute.name), energy->where)
          .note(machine::range_broken(*given, "pJ"));
  }
  return ratios;
}

void warn_of_ratios(const Ratios& ratios, const base::Location& where, base::Diagnostics& found) {
  const char* const kRule =
      "as in Timeloop: an access to 0.5 KiB of SRAM 1, to 100 KiB 6, to DRAM 200, for 16 bit; areas and leakage 0";
  const char* const kHint =
      "give an `ERT`, or each storage its `vector_access_energy` and the arithmetic its `energy`, in pJ";
  if (ratios.given.empty()) {
    found.warning("O2032", "energies are ratios to a multiplication of 16 bit: this form of a chip gives none", where)
        .note(kRule)
        .note("what is shown as pJ is a multiple of what such a multiplication takes")
        .hint(kHint);
    return;
  }
  found
      .warning("O2032",
               fmt::format("sums mix pJ with ratios to a multiplication of 16 bit: `{}` {} no energy",
                           base::joined(ratios.relative, "`, `"), base::plural(ratios.relative.size(), "has", "have")),
               where)
      .note(fmt::format("`{}` {} energies in pJ; the sums are right where such a multiplication takes 1 pJ",
                        base::joined(ratios.given, "`, `"), base::plural(ratios.given.size(), "has", "have")))
      .note(kRule)
      .hint(kHint);
}

}  // namespace orrery::formats::timeloop
