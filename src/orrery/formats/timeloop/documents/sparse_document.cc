#include "orrery/formats/timeloop/documents/sparse_document.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::RankFormat;
using nest::SparseDesign;
using nest::SparseStorage;

constexpr Count kMostBits = 1 << 20;
constexpr std::string_view kInSpace = "skipping_spatial";

// What one component is told; where and for whom.
struct Directive {
  std::string component;
  const yaml::Node* body = nullptr;
  base::Location where;
};

const Component* component_named(const Architecture& architecture, const std::string& name) {
  for (const Component& component : architecture.flat->components)
    if (component.name == name) return &component;
  return nullptr;
}

std::vector<Directive> directives_of(const yaml::Node* document, const Architecture& architecture,
                                     base::Diagnostics& found) {
  std::vector<Directive> all;
  for (const Component& component : architecture.flat->components) {
    const yaml::Node* own = component.node == nullptr ? nullptr : component.node->find("sparse_optimizations");
    if (own == nullptr || own->is_null()) continue;
    if (!own->is_map()) {
      if (!own->is_sequence() || !own->items.empty())
        found.error("O2028", "`sparse_optimizations` of a component must be a map", own->where);
      continue;
    }
    if (!own->entries.empty()) all.push_back({component.name, own, own->where});
  }
  if (document == nullptr || document->is_null()) return all;
  const yaml::Node* targets = document->is_map() ? document->find("targets") : document;
  if (targets == nullptr || targets->is_null()) return all;
  if (!targets->is_sequence()) {
    found.error("O2028", "`sparse_optimizations` must have a list `targets`", targets->where);
    return all;
  }
  for (const yaml::Node& target : targets->items) {
    const yaml::Node* name = target.find("name");
    if (name == nullptr) name = target.find("target");
    if (name == nullptr || !name->is_scalar()) {
      found.error("O2028", "a target of `sparse_optimizations` has no name", target.where);
      continue;
    }
    all.push_back({split_range(name->scalar).first, &target, name->where});
  }
  return all;
}

class SparseDocumentReader {
 public:
  SparseDocumentReader(const Architecture& architecture, const workload::Einsum& einsum, const Scope& scope,
                       base::Diagnostics& found)
      : architecture_(architecture), chip_(architecture.chip), einsum_(einsum), scope_(scope), found_(found) {
    for (const workload::Dataspace& dataspace : einsum.dataspaces) tensors_.push_back(dataspace.name);
    for (const workload::Dimension& dimension : einsum.dimensions) dimensions_.push_back(dimension.name);
    design_.storages.resize(chip_.storages.size());
    for (std::size_t level = 0; level < chip_.storages.size(); ++level) read_storage(level);
  }

  void read(const Directive& directive) {
    static const std::vector<std::string> kKeys = {
        "name", "target", "representation_format", "action_optimization", "compute_optimization", "version"};
    warn_unknown_keys(*directive.body, kKeys, "O2028", "a sparse optimisation", found_);
    const int level = chip_.storage_index(directive.component);
    if (directive.component == chip_.compute.name) {
      if (const yaml::Node* compute = present(*directive.body, "compute_optimization")) read_compute(*compute);
      for (const std::string_view key : {"representation_format", "action_optimization"})
        if (const yaml::Node* node = present(*directive.body, key))
          found_
              .error("O2028",
                     fmt::format("`{}` is the compute unit; it stores nothing to which `{}` could apply",
                                 directive.component, key),
                     node->where)
              .hint("what compute units save is `compute_optimization`; give this to a storage or remove it");
      return;
    }
    if (level < 0) {
      std::vector<std::string> names{chip_.compute.name};
      for (const machine::Storage& storage : chip_.storages) names.push_back(storage.name);
      base::Diagnostic& error = found_.error(
          "O2028", fmt::format("`{}` is neither a storage nor the compute unit", directive.component), directive.where);
      suggest(error, directive.component, names, "components");
      return;
    }
    SparseStorage& storage = design_.storages[static_cast<std::size_t>(level)];
    if (const yaml::Node* format = present(*directive.body, "representation_format"))
      read_formats(*format, level, storage);
    if (const yaml::Node* actions = present(*directive.body, "action_optimization")) read_savings(*actions, storage);
    if (const yaml::Node* compute = present(*directive.body, "compute_optimization"))
      found_.error("O2028", fmt::format("`{}` is a storage; it computes nothing", directive.component), compute->where);
  }

  SparseDesign take() { return std::move(design_); }

 private:
  static const yaml::Node* present(const yaml::Node& map, std::string_view key) {
    const yaml::Node* node = map.find(key);
    return node == nullptr || node->is_null() ? nullptr : node;
  }

  void read_storage(std::size_t level) {
    SparseStorage& storage = design_.storages[level];
    storage.formats.resize(einsum_.dataspaces.size());
    const Component* component = component_named(architecture_, chip_.storages[level].name);
    if (component == nullptr || component->frame == nullptr) {
      units_.push_back(nullptr);
      return;
    }
    const auto find = [&](std::string_view key, std::string_view other) {
      const yaml::Node* node = component->frame->find(key);
      return node != nullptr || other.empty() ? node : component->frame->find(other);
    };
    const auto count = [&](std::string_view key, std::string_view other, Count otherwise) {
      const yaml::Node* node = find(key, other);
      if (node == nullptr) return otherwise;
      const auto value = as_count(*node, component->frame->scope, key, found_);
      if (value && (*value < 0 || *value > (Count{1} << 40)))
        found_.error("O2028", fmt::format("`{}` of `{}` is {}", key, component->name, *value), node->where)
            .note("it must be from 0 to 2^40");
      return value.value_or(otherwise);
    };
    const auto flag = [&](std::string_view key) {
      const yaml::Node* node = find(key, "");
      return node != nullptr && as_bool(*node, component->frame->scope, key, found_).value_or(false);
    };
    storage.metadata_width_bits = count("metadata_storage_width", "metadata_width", 0);
    storage.metadata_word_bits = count("metadata_datawidth", "metadata_word_bits", 0);
    units_.push_back(find("metadata_datawidth", "metadata_word_bits"));
    const Count rows = count("metadata_storage_depth", "metadata_depth", 0);
    if (rows >= 0 && rows <= (Count{1} << 40) && storage.metadata_width_bits <= (Count{1} << 20))
      storage.metadata_capacity_bits =
          base::saturated(std::floor(static_cast<double>(rows) * static_cast<double>(storage.metadata_width_bits) /
                                     chip_.storages[level].multiple_buffering));
    storage.decompresses = flag("decompression_supported");
    storage.compresses = flag("compression_supported");
    if (flag("tile_partition_supported"))
      found_
          .error("O2028",
                 fmt::format("`{}` cuts compressed tiles while it runs, which is not modelled", component->name),
                 find("tile_partition_supported", "")->where)
          .hint("a format whose inner ranks are those of the tiles inside needs no cutting");
  }

  std::optional<int> tensor(const yaml::Node* name, const base::Location& where) {
    if (name == nullptr || !name->is_scalar()) {
      found_.error("O2028", "a sparse optimisation names no dataspace", where);
      return std::nullopt;
    }
    const int s = einsum_.dataspace_index(name->scalar);
    if (s >= 0) return s;
    base::Diagnostic& error = found_.error("O2028", fmt::format("`{}` is not a dataspace", name->scalar), name->where);
    suggest(error, name->scalar, tensors_, "dataspaces");
    return std::nullopt;
  }

  void read_formats(const yaml::Node& node, int level, SparseStorage& storage) {
    const yaml::Node* list = node.find("data_spaces");
    if (list == nullptr || list->is_null()) return;
    if (!list->is_sequence()) {
      found_.error("O2028", "`representation_format` must have a list `data_spaces`", list->where);
      return;
    }
    for (const yaml::Node& one : list->items) {
      static const std::vector<std::string> kKeys = {"name", "ranks", "rank_application_order", "compression_rate"};
      warn_unknown_keys(one, kKeys, "O2028", "a format", found_);
      const auto s = tensor(one.find("name"), one.where);
      const yaml::Node* ranks = one.find("ranks");
      if (!s) continue;
      if (ranks == nullptr || !ranks->is_sequence() || ranks->items.empty()) {
        found_
            .error("O2028",
                   fmt::format("the format of `{}` has no list `ranks`", tensors_[static_cast<std::size_t>(*s)]),
                   one.where)
            .hint("write `ranks: [{format: UOP}, {format: CP}]`, outermost first");
        continue;
      }
      if (const yaml::Node* rate = present(one, "compression_rate"))
        found_.warning("O2028", "`compression_rate` is not used: what a format leaves out follows from the density",
                       rate->where);
      if (storage.formats[static_cast<std::size_t>(*s)] || !formatted_.insert({level, *s}).second) {
        found_.error("O2028",
                     fmt::format("`{}` has two formats at `{}`", tensors_[static_cast<std::size_t>(*s)],
                                 chip_.storages[static_cast<std::size_t>(level)].name),
                     one.where);
        continue;
      }
      nest::TensorFormat format;
      format.where = one.where;
      if (const yaml::Node* order = present(one, "rank_application_order")) {
        const std::string text = plain_key(as_string(*order, scope_, "rank_application_order", found_).value_or(""));
        format.inner_to_outer = text == "inner_to_outer";
        if (text != "inner_to_outer" && text != "outer_to_inner")
          found_.error("O2028", fmt::format("`{}` is not an order of ranks", text), order->where)
              .hint("it is `outer_to_inner` or `inner_to_outer`");
      }
      bool good = true;
      for (auto rank = ranks->items.rbegin(); rank != ranks->items.rend(); ++rank) {
        auto own = read_rank(*rank, level, storage);
        good = good && own.has_value();
        if (own) format.ranks.push_back(std::move(*own));
      }
      if (!good) continue;
      for (std::size_t r = 1; r < format.ranks.size(); ++r)
        if (format.ranks[r].compressed() && !format.ranks[r - 1].compressed()) {
          found_
              .error("O2028",
                     fmt::format("{} leaves out what {} inside it stores", name_of(format.ranks[r].kind),
                                 name_of(format.ranks[r - 1].kind)),
                     one.where)
              .note("a compressed rank outside an uncompressed one is not modelled");
          good = false;
        }
      if (good) storage.formats[static_cast<std::size_t>(*s)] = std::move(format);
    }
  }

  std::optional<RankFormat> read_rank(const yaml::Node& node, int level, const SparseStorage& storage) {
    static const std::vector<std::string> kKeys = {"format", "flattened_rankIDs", "metadata_word_bits",
                                                   "payload_word_bits"};
    static const std::vector<std::string> kFormats = {"UOP", "CP", "RLE", "B", "UB"};
    warn_unknown_keys(node, kKeys, "O2028", "a rank", found_);
    const yaml::Node* name = node.find("format");
    if (name == nullptr || !name->is_scalar()) {
      found_.error("O2028", "a rank has no `format`", node.where).hint("formats are UOP, CP, RLE, B and UB");
      return std::nullopt;
    }
    const std::string upper = base::upper(name->scalar);
    const auto at = std::find(kFormats.begin(), kFormats.end(), upper);
    if (at == kFormats.end()) {
      base::Diagnostic& error =
          found_.error("O2028", fmt::format("`{}` is not a format of a rank", name->scalar), name->where);
      suggest(error, name->scalar, kFormats, "formats");
      return std::nullopt;
    }
    constexpr RankFormat::Kind kKinds[] = {RankFormat::Kind::kOffsetPairs, RankFormat::Kind::kCoordinates,
                                           RankFormat::Kind::kRunLengths, RankFormat::Kind::kBitmask,
                                           RankFormat::Kind::kUncompressedBitmask};
    RankFormat rank;
    rank.kind = kKinds[at - kFormats.begin()];
    const bool takes_bits = rank.kind != RankFormat::Kind::kUncompressedBitmask;
    rank.metadata_bits = bits(takes_bits ? present(node, "metadata_word_bits") : nullptr, "metadata_word_bits",
                              rank.kind == RankFormat::Kind::kBitmask ? 1 : -1, level, storage);
    rank.payload_bits =
        bits(takes_bits ? present(node, "payload_word_bits") : nullptr, "payload_word_bits", -1, level, storage);
    if (const yaml::Node* lists = present(node, "flattened_rankIDs")) {
      if (!lists->is_sequence() || std::any_of(lists->items.begin(), lists->items.end(),
                                               [](const yaml::Node& list) { return !list.is_sequence(); })) {
        found_.error("O2028", "`flattened_rankIDs` must be a list of lists of dimensions", lists->where)
            .hint("write `flattened_rankIDs: [[P, Q]]`");
        return std::nullopt;
      }
      for (const yaml::Node& list : lists->items) {
        auto& rule = rank.flattened.emplace_back();
        for (const yaml::Node& id : list.items) {
          const int d = einsum_.dimension_index(id.scalar);
          if (d < 0) {
            base::Diagnostic& error =
                found_.error("O2028", fmt::format("`{}` is not a dimension", id.scalar), id.where);
            suggest(error, id.scalar, dimensions_, "dimensions");
          } else {
            rule.push_back(d);
          }
        }
      }
    }
    return rank;
  }

  // Bits of one unit; -1: the storage's own. What does not divide the width of the metadata storage is widened until it
  // does, so that no unit lies across two rows.
  int bits(const yaml::Node* given, std::string_view key, Count otherwise, int level, const SparseStorage& storage) {
    Count wanted = otherwise >= 0 ? otherwise : storage.metadata_word_bits;
    if (given != nullptr) {
      const auto own = as_count(*given, scope_, key, found_);
      if (own && (*own < 0 || *own > kMostBits))
        found_.error("O2028", fmt::format("`{}` is {}; it must be from 0 to {}", key, *own, kMostBits), given->where);
      wanted = std::clamp<Count>(own.value_or(0), 0, kMostBits);
    }
    const Count width = storage.metadata_width_bits;
    if (width == 0) return static_cast<int>(std::min(wanted, kMostBits));
    const std::string& owner = chip_.storages[static_cast<std::size_t>(level)].name;
    Count wide = wanted;
    if (given != nullptr || otherwise >= 0) {
      while (wide > 0 && wide < 2 * wanted && width % wide != 0) ++wide;
    } else if (const yaml::Node* own = units_[static_cast<std::size_t>(level)]; own != nullptr && wanted == 0) {
      found_
          .error("O2028", fmt::format("a unit of metadata in `{}` has 0 bits, but a tensor has a format there", owner),
                 own->where)
          .hint(
              "give `metadata_datawidth` the bits of a coordinate or run, or the rank its own `metadata_word_bits` "
              "and `payload_word_bits`");
    } else if (own != nullptr && width % wanted != 0 && wanted <= width) {
      found_
          .error("O2028",
                 fmt::format("rows of {} bits of metadata in `{}` do not hold whole units of {}", width, owner, wanted),
                 own->where)
          .hint("let `metadata_datawidth` divide `metadata_storage_width`");
    }
    if (wide > width)
      found_
          .error("O2028", fmt::format("a unit of metadata has {} bits, a row of `{}` has {}", wide, owner, width),
                 given != nullptr ? given->where : chip_.storages[static_cast<std::size_t>(level)].where)
          .hint("`metadata_storage_width` and `metadata_datawidth` are attributes of the storage");
    return static_cast<int>(std::min(wide, kMostBits));
  }

  void read_savings(const yaml::Node& node, SparseStorage& storage) {
    if (!node.is_sequence()) {
      found_.error("O2028", "`action_optimization` must be a list", node.where);
      return;
    }
    for (const yaml::Node& one : node.items) {
      static const std::vector<std::string> kKeys = {"type", "options", "target", "condition_on"};
      warn_unknown_keys(one, kKeys, "O2028", "an action optimisation", found_);
      const yaml::Node* type = one.find("type");
      const std::string name = type == nullptr ? "" : plain_key(type->scalar);
      if (name != "gating" && name != "skipping") {
        base::Diagnostic& error =
            found_.error("O2028",
                         name == kInSpace ? std::string("skipping instances in space is not modelled")
                                          : fmt::format("`{}` saves no access", name),
                         type == nullptr ? one.where : type->where);
        if (name == kInSpace)
          error.note(
              "Sparseloop defines gating and skipping in time; in space, instances without work would take that of "
              "others, and with it change which of them share a read");
        error.hint(name.find("position") == std::string::npos
                       ? "`type` is `gating` or `skipping`"
                       : "skipping by position is not modelled; operations that zeros save are `compute_optimization`");
        continue;
      }
      nest::AccessSaving saving;
      saving.skips = name == "skipping";
      saving.where = one.where;
      const yaml::Node* options = present(one, "options");
      if (options == nullptr) {
        read_follower(one, saving);
      } else if (!options->is_sequence() || options->items.empty()) {
        found_.error("O2028", "`options` must be a list of targets with what they are conditioned on", options->where)
            .hint("write `options: [{target: B, condition_on: [A]}]`");
      } else {
        for (const yaml::Node& option : options->items) read_follower(option, saving);
      }
      if (!saving.options.empty()) storage.savings.push_back(std::move(saving));
    }
  }

  void read_follower(const yaml::Node& node, nest::AccessSaving& saving) {
    const auto target = tensor(node.find("target"), node.where);
    const yaml::Node* leaders = node.find("condition_on");
    if (leaders != nullptr && leaders->is_sequence() && leaders->items.empty()) {
      found_
          .error("O2028", "the list `condition_on` is empty: it names the tensors whose zeros save the accesses",
                 leaders->where)
          .hint("what a tensor's own zeros save is said by its `representation_format`; leave this entry out");
      return;
    }
    if (leaders == nullptr || !leaders->is_sequence()) {
      found_.error("O2028", "an action optimisation has no list `condition_on`", node.where)
          .hint("write `{target: B, condition_on: [A]}`: accesses to B are left out where A is zero");
      return;
    }
    nest::Follower follower;
    for (const yaml::Node& leader : leaders->items) {
      const auto s = tensor(&leader, leader.where);
      if (!s) continue;
      if (target && *s == *target) {
        found_
            .error("O2028", fmt::format("accesses to `{}` cannot depend on `{}` itself", leader.scalar, leader.scalar),
                   leader.where)
            .hint("what a tensor's own zeros save is said by its `representation_format`");
        continue;
      }
      if (std::find(follower.leaders.begin(), follower.leaders.end(), *s) != follower.leaders.end()) {
        found_.error("O2028", fmt::format("`{}` stands in `condition_on` twice", leader.scalar), leader.where);
        continue;
      }
      follower.leaders.push_back(*s);
    }
    if (!target || follower.leaders.size() != leaders->items.size()) return;
    follower.target = *target;
    saving.options.push_back(std::move(follower));
  }

  void read_compute(const yaml::Node& node) {
    if (!node.is_sequence()) {
      found_.error("O2028", "`compute_optimization` must be a list", node.where)
          .hint("write `compute_optimization: [{type: gate_on_zero_operand}]`");
      return;
    }
    for (const yaml::Node& one : node.items) {
      const yaml::Node* type = one.find("type");
      const std::string name = type == nullptr ? "" : type->scalar;
      if (name == "gating" || name == "gate_on_zero_operand")
        design_.gates_compute = true;
      else if (name == "skipping" || name == "skip_on_not_aligned_operands")
        design_.aligns_compute = true;
      else
        found_.error("O2028", fmt::format("`{}` saves no operation", name), type == nullptr ? one.where : type->where)
            .hint("`type` is `gate_on_zero_operand` or `skip_on_not_aligned_operands`");
    }
  }

  const Architecture& architecture_;
  const machine::Chip& chip_;
  const workload::Einsum& einsum_;
  const Scope& scope_;
  base::Diagnostics& found_;
  std::vector<std::string> tensors_, dimensions_;
  std::vector<const yaml::Node*> units_;     // the `metadata_datawidth` of each storage; null: not given
  std::set<std::pair<int, int>> formatted_;  // level and dataspace
  SparseDesign design_;
};

// The first that the table has, as Timeloop looks for it.
template <std::size_t N>
std::optional<double> first(const std::optional<Prices>& prices, const std::array<std::string_view, N>& names) {
  return prices ? prices->find(names) : std::nullopt;
}

}  // namespace

SparseDesign read_sparse_design(const yaml::Node* document, const Architecture& architecture,
                                const workload::Einsum& einsum, std::vector<nest::Density> densities,
                                const Scope& scope, base::Diagnostics& found) {
  SparseDocumentReader reader(architecture, einsum, scope, found);
  for (const Directive& directive : directives_of(document, architecture, found)) reader.read(directive);
  SparseDesign design = reader.take();
  design.densities = std::move(densities);
  return design;
}

void price_sparse_design(const PricesOf& prices, const machine::Chip& chip, SparseDesign& design,
                         base::Diagnostics& found) {
  using Names1 = std::array<std::string_view, 1>;
  using Names2 = std::array<std::string_view, 2>;
  using Names4 = std::array<std::string_view, 4>;
  std::vector<std::string> free_of_charge;
  for (std::size_t level = 0; level < design.storages.size(); ++level) {
    SparseStorage& storage = design.storages[level];
    const auto own = prices(chip.storages[level].name);
    nest::SparsePrices& at = storage.prices;
    at.gated_read = first(own, Names1{"gated_read"}).value_or(0);
    at.skipped_read = first(own, Names2{"skipped_read", "gated_read"}).value_or(0);
    at.gated_fill = first(own, Names2{"gated_fill", "gated_write"}).value_or(0);
    at.skipped_fill = first(own, Names4{"skipped_fill", "skipped_write", "gated_fill", "gated_write"}).value_or(0);
    at.gated_update = first(own, Names2{"gated_update", "gated_write"}).value_or(0);
    at.skipped_update =
        first(own, Names4{"skipped_update", "skipped_write", "gated_update", "gated_write"}).value_or(0);
    const auto read = first(own, Names2{"random_metadata_read", "metadata_read"});
    const auto fill =
        first(own, Names4{"random_metadata_fill", "random_metadata_write", "metadata_fill", "metadata_write"});
    const auto update =
        first(own, Names4{"random_metadata_update", "random_metadata_write", "metadata_update", "metadata_write"});
    at.metadata_read = read.value_or(0), at.metadata_fill = fill.value_or(0), at.metadata_update = update.value_or(0);
    at.gated_metadata_read = first(own, Names1{"gated_metadata_read"}).value_or(0);
    at.skipped_metadata_read = first(own, Names2{"skipped_metadata_read", "gated_metadata_read"}).value_or(0);
    at.gated_metadata_fill = first(own, Names2{"gated_metadata_fill", "gated_metadata_write"}).value_or(0);
    at.skipped_metadata_fill = first(own, Names4{"skipped_metadata_fill", "skipped_metadata_write",
                                                 "gated_metadata_fill", "gated_metadata_write"})
                                   .value_or(0);
    at.gated_metadata_update = first(own, Names2{"gated_metadata_update", "gated_metadata_write"}).value_or(0);
    at.skipped_metadata_update = first(own, Names4{"skipped_metadata_update", "skipped_metadata_write",
                                                   "gated_metadata_update", "gated_metadata_write"})
                                     .value_or(0);
    at.compression = first(own, Names1{"compression_count"}).value_or(0);
    at.decompression = first(own, Names1{"decompression_count"}).value_or(0);
    const bool has_format =
        std::any_of(storage.formats.begin(), storage.formats.end(), [](const auto& f) { return f.has_value(); });
    // Ranks whose units have no bits, since nothing says how many.
    const bool weightless = std::any_of(storage.formats.begin(), storage.formats.end(), [](const auto& format) {
      return format && std::all_of(format->ranks.begin(), format->ranks.end(), [](const RankFormat& rank) {
               return rank.metadata_bits == 0 && rank.payload_bits == 0;
             });
    });
    if (has_format && (storage.metadata_width_bits == 0 || weightless || !read || !fill || !update))
      free_of_charge.push_back(chip.storages[level].name);
  }
  if (!free_of_charge.empty())
    found.warning("O2036", fmt::format("metadata in {} costs no energy", quoted_list(free_of_charge)))
        .note(
            "accesses to metadata are counted in rows of `metadata_storage_width` bits, at the energies of "
            "`metadata_read`, `metadata_write` and `metadata_update`; where one of these, or `metadata_datawidth`, is "
            "not "
            "given it is 0, as in Timeloop");
  const auto own = prices(chip.compute.name);
  design.gated_compute_pj = first(own, std::array<std::string_view, 3>{"mac_gated", "mult_gated", "compute_gated"})
                                .value_or(chip.compute.compute_pj);
  design.skipped_compute_pj =
      first(own, std::array<std::string_view, 6>{"mac_skipped", "mult_skipped", "compute_skipped", "mac_gated",
                                                 "mult_gated", "compute_gated"})
          .value_or(chip.compute.compute_pj);
}

void note_ignored_sparse_design(const yaml::Node* document, const Architecture& architecture,
                                base::Diagnostics& found) {
  base::Diagnostics unread;
  for (const Directive& directive : directives_of(document, architecture, unread))
    found.warning("O2028", "sparse optimisations are left aside", directive.where).severity = base::Severity::kNote;
}

}  // namespace orrery::formats::timeloop
