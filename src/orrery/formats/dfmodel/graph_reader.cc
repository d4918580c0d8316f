#include "orrery/formats/dfmodel/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/dfmodel/setup_fields.h"

namespace orrery::formats::dfmodel {

namespace {

using workload::Communication;
using workload::Kernel;
using workload::KernelDimension;
using workload::KernelEdge;

constexpr const char* kBodies[] = {"gemm_input1_weight", "gemm_input1_input2", "elementwise_input1",
                                   "elementwise_input1_input2"};
constexpr workload::Operands kOperands[] = {workload::Operands::kInputAndWeight, workload::Operands::kTwoInputs,
                                            workload::Operands::kOneElementwise, workload::Operands::kTwoElementwise};

// In the order of the names in the schema, from 1.
KernelDimension dimension_of(int choice) {
  constexpr KernelDimension kOrder[] = {KernelDimension::kOuter, KernelDimension::kM, KernelDimension::kK,
                                        KernelDimension::kN, KernelDimension::kNone};
  return kOrder[choice - 1];
}
Communication communication_of(int choice) {
  constexpr Communication kOrder[] = {
      Communication::kNone,      Communication::kAllReduce,         Communication::kAllToAll,
      Communication::kAllGather, Communication::kPeriodicAllReduce, Communication::kPointToPoint,
      Communication::kBroadcast};
  return kOrder[choice];
}

class GraphReader {
 public:
  GraphReader(const Block& graph, base::Count word_bytes, base::Diagnostics& found)
      : word_bytes_(word_bytes), found_(found), where_(graph.where) {
    for (const Entry& entry : graph.entries) (entry.field->name == "kernels" ? kernels_ : edges_).push_back(&entry);
  }

  ReadGraph read() {
    if (kernels_.empty())
      found_.error("O1404", "the dataflow graph has no kernels", where_).hint("add `kernels { ... }` for each of them");
    number_kernels();
    for (const int position : out_.kernel_positions)
      out_.graph.kernels.push_back(read_kernel(*kernels_[static_cast<std::size_t>(position)]));
    for (std::size_t i = 0; i < edges_.size(); ++i) read_edge(*edges_[i], static_cast<int>(i));
    refuse_cycle();
    return std::move(out_);
  }

 private:
  // Orders the kernels by id. What has no usable id comes last, so that its body is checked, too.
  void number_kernels() {
    const auto count = static_cast<std::int64_t>(kernels_.size());
    std::map<std::int64_t, const Entry*> first;
    std::vector<std::pair<std::int64_t, int>> order;
    bool from_zero = false;
    for (const Entry* kernel : kernels_) {
      const Entry* id = kernel->block.find("id");
      from_zero = from_zero || (id && !id->broken && id->integer == 0);
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Block& kernel = kernels_[i]->block;
      const Entry* id = kernel.find("id");
      std::int64_t number = std::numeric_limits<std::int64_t>::max();
      ids_known_ =
          ids_known_ && id && !id->broken && id->integer >= 1 && id->integer <= count && !first.count(id->integer);
      if (!id) {
        found_
            .error("O1404", fmt::format("{} has no `id`: connections name kernels by it", called(kernel)), kernel.where)
            .note("ids count the kernels from 1");
      } else if (!id->broken) {
        number = id->integer;
        const auto [known, is_new] = first.emplace(number, id);
        if (!is_new) {
          found_.error("O1409", fmt::format("two kernels have the id {}", number), id->where)
              .also(known->second->where, "the first of them");
        } else if (number > count || (number < 1 && !(from_zero && number == 0))) {
          found_.error("O1409", fmt::format("{} has the id {}", called(kernel), number), id->where)
              .label(count == 1 ? "the only kernel has the id 1"
                                : fmt::format("{} kernels have the ids 1 to {}", count, count));
        } else if (number == 0) {
          found_.error("O1409", "ids of kernels count from 1, not from 0", id->where)
              .hint("add 1 to every id, and to every `startIdx` and `endIdx`");
        }
      }
      order.emplace_back(number, static_cast<int>(i));
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [number, position] : order) {
      if (number != std::numeric_limits<std::int64_t>::max())
        index_.emplace(number, static_cast<int>(out_.kernel_positions.size()));
      out_.kernel_positions.push_back(position);
    }
  }

  static std::string called(const Block& kernel) {
    const Entry* name = kernel.find("name");
    const Entry* id = kernel.find("id");
    if (name && !name->text.empty()) return fmt::format("kernel `{}`", name->text);
    return id && !id->broken ? fmt::format("kernel {}", id->integer) : "a kernel";
  }

  Kernel read_kernel(const Entry& entry) {
    Kernel kernel;
    Fields fields(entry.block, called(entry.block), found_);
    kernel.name = fields.text("name");
    if (kernel.name.empty())
      kernel.name = fmt::format("kernel_{}", entry.block.find("id") ? entry.block.find("id")->integer : 0);
    const int unit = fields.required_choice("type", "matrix units (`SYSTOLIC`) or vector lanes (`SIMD`) do it");
    kernel.unit = unit == 2 ? workload::KernelUnit::kSimd : workload::KernelUnit::kSystolic;
    kernel.direction = fields.choice("fwd_bwd") == 2 ? workload::Direction::kBackward : workload::Direction::kForward;
    const base::Count pin = fields.count("config", -1, -1);
    if (pin <= std::numeric_limits<int>::max()) {
      kernel.configuration = static_cast<int>(pin);
    } else {
      found_.error("O1416", fmt::format("{} is pinned to configuration {}", fields.name(), pin), fields.where("config"))
          .hint("`config: -1` leaves it free");
    }

    const Entry* body = nullptr;
    for (std::size_t i = 0; i < std::size(kBodies); ++i) {
      const Entry* candidate = entry.block.find(kBodies[i]);
      if (!candidate) continue;
      if (body) {
        found_
            .error("O1408", fmt::format("{} is both `{}` and `{}`", fields.name(), body->field->name, kBodies[i]),
                   candidate->where)
            .also(body->where, "the first body")
            .hint("keep one of them");
        continue;
      }
      body = candidate;
      kernel.operands = kOperands[i];
    }
    if (!body) {
      base::Diagnostic& error =
          found_.error("O1408", fmt::format("{} does not say what it computes", fields.name()), entry.where)
              .label(fmt::format("needs one of {}", name_list({std::begin(kBodies), std::end(kBodies)})));
      for (const base::Location& unknown : entry.block.unknown) error.also(unknown, "this is none of them");
      return kernel;
    }
    read_body(body->block, fields.name(), kernel);
    return kernel;
  }

  void read_body(const Block& body, const std::string& name, Kernel& kernel) {
    Fields fields(body, name, found_);
    const bool product = kernel.is_product();
    kernel.outer = fields.count("outer", 1, 1);
    kernel.m = fields.required_count("M", 1, "the rows of its output");
    if (product) kernel.k = fields.required_count("K", 1, "the length of the sums it takes");
    kernel.n = fields.required_count("N", 1, "the columns of its output");
    const bool one_input = kernel.operands == workload::Operands::kInputAndWeight ||
                           kernel.operands == workload::Operands::kOneElementwise;
    kernel.input_bytes = fields.not_negative(one_input ? "input_tensor_size" : "input_tensor_1_size");
    if (kernel.operands != workload::Operands::kOneElementwise) {
      kernel.second_bytes = fields.not_negative(one_input ? "weight_tensor_size" : "input_tensor_2_size");
    }
    kernel.output_bytes = fields.not_negative("output_tensor_size");

    if (const int sharding = fields.choice("sharding")) kernel.sharding = dimension_of(sharding);
    if (const int tiling = fields.choice("tiling")) kernel.tiling = dimension_of(tiling);
    if (!product) {
      const auto refuse = [&](std::string_view field, std::string_view verb, std::string_view way_out) {
        found_
            .error("O1419", fmt::format("{} works element by element: it has no K to {}", name, verb),
                   fields.where(field))
            .hint(fmt::format("`{}: {}` splits the columns instead", field, way_out));
      };
      if (kernel.sharding == KernelDimension::kK) refuse("sharding", "shard", "N_SHARDING");
      if (kernel.tiling == KernelDimension::kK) refuse("tiling", "tile", "N_TILING");
    }
    kernel.communication = communication_of(fields.choice("communication_type"));
    kernel.communication_bytes = fields.not_negative("communication_size");
    check_communication(fields, "communication_type", "communication_size");
    kernel.second_communication = communication_of(fields.choice("communication_type_2"));
    kernel.second_communication_bytes = fields.not_negative("communication_size_2");
    check_communication(fields, "communication_type_2", "communication_size_2");

    kernel.shard_m = fields.count("shard_outer_M", 0, 0);
    kernel.shard_k = fields.count("shard_K", 0, 0);
    kernel.shard_n = fields.count("shard_N", 0, 0);
    kernel.memory_bytes = fields.not_negative("memory_size");
    kernel.inputs = fields.count("num_input", 0, 0);
    kernel.skip_weight = fields.flag("skip_weight");
    kernel.sram_extra_bytes = fields.not_negative("sram_extra");
    kernel.dram_extra_bytes = fields.not_negative("dram_extra");
    if (fields.has("compute_util")) kernel.compute_utilization = fields.positive("compute_util", 1);
    if (fields.flag("use_effective_stage")) out_.staged.push_back(static_cast<int>(out_.graph.kernels.size()));
    refuse_overflow(kernel, fields);
  }

  void check_communication(Fields& fields, std::string_view type, std::string_view size) {
    const Entry* stated = fields.block().find(type);
    if (stated && stated->choice != 0 && !fields.has(size)) {
      fields.missing(size, fmt::format("the bytes of its {}",
                                       stated->field->choices->values[static_cast<std::size_t>(stated->choice - 1)]));
    } else if (fields.has(size) && !stated && fields.block().find(size)->real > 0) {
      found_.warning("O1420", fmt::format("`{}` of {} is not used", size, fields.name()), fields.where(size))
          .hint(fmt::format("say with `{}` how the bytes travel", type));
    }
  }

  void refuse_overflow(const Kernel& kernel, const Fields& fields) {
    using base::Count;
    const auto check = [&](std::string_view what, std::initializer_list<std::pair<std::string_view, Count>> factors) {
      Count product = 1;
      bool fits = true;
      std::string arithmetic;
      for (const auto& [name, factor] : factors) {
        fits = fits && !__builtin_mul_overflow(product, factor, &product);
        arithmetic += fmt::format("{}{} {}", arithmetic.empty() ? "" : " * ", name, factor);
      }
      if (fits) return true;
      found_
          .error("O1417", fmt::format("{} of {} cannot be counted in 64 bits", what, fields.name()), fields.where("M"))
          .note(arithmetic + " exceeds 9.2e18")
          .hint("is a dimension mistyped?");
      return false;
    };
    const Count word = std::max<Count>(word_bytes_, 1);
    // One message is enough: the products share their factors.
    check("the output bytes", {{"outer", kernel.outer}, {"M", kernel.m}, {"N", kernel.n}, {"word", word}}) &&
        check("the operand bytes", {{"outer", kernel.outer}, {"M", kernel.m}, {"K", kernel.k}, {"word", word}}) &&
        check("the operations",
              {{"outer", kernel.outer}, {"M", kernel.m}, {"K", kernel.k}, {"N", kernel.n}, {"FLOP", 2}});
  }

  // The kernel that a connection's end names; nothing when there is none.
  std::optional<int> end_of(Fields& fields, std::string_view index_field, std::string_view name_field) {
    const Entry* index = fields.block().find(index_field);
    if (!index) {
      fields.missing(index_field, index_field == "startIdx" ? "the id of the kernel it comes from"
                                                            : "the id of the kernel it leads to");
      return std::nullopt;
    }
    if (index->broken) return std::nullopt;
    const std::string stated_name = fields.text(name_field);
    const auto known = index_.find(index->integer);
    if (known == index_.end()) {
      // It may be that of a kernel whose id is wrong.
      const bool possible = index->integer >= 0 && index->integer <= static_cast<std::int64_t>(kernels_.size());
      if (!ids_known_ && possible) return std::nullopt;
      base::Diagnostic& error = found_.error(
          "O1410",
          fmt::format("`{}: {}` of {} is not the id of any kernel", index_field, index->integer, fields.name()),
          index->where);
      if (++nobody_ > kMostSuggestions) return std::nullopt;
      std::vector<std::string> ids;
      for (const auto& [id, position] : index_) {
        if (out_.graph.kernels[static_cast<std::size_t>(position)].name == stated_name && !stated_name.empty())
          error.hint(fmt::format("did you mean {}, the id of `{}`?", id, stated_name));
        ids.push_back(std::to_string(id));
      }
      if (!ids.empty()) error.label(fmt::format("the ids are {} to {}", ids.front(), ids.back()));
      if (error.hints.empty()) error.hint(base::did_you_mean(base::closest(std::to_string(index->integer), ids)));
      return std::nullopt;
    }
    const std::string& name = out_.graph.kernels[static_cast<std::size_t>(known->second)].name;
    if (!stated_name.empty() && stated_name != name) {
      found_
          .warning("O1420",
                   fmt::format("{} names `{}`, and kernel {} is called `{}`", fields.name(), stated_name,
                               index->integer, name),
                   fields.where(name_field))
          .note(fmt::format("`{}` counts", index_field));
    }
    return known->second;
  }

  void read_edge(const Entry& entry, int position) {
    const Entry* id = entry.block.find("id");
    Fields fields(entry.block, fmt::format("connection {}", id && !id->broken ? id->integer : position + 1), found_);
    fields.count("id", 0, 0);
    if (id && !id->broken) {
      const auto [known, is_new] = edge_ids_.emplace(id->integer, id);
      if (!is_new) {
        found_.warning("O1420", fmt::format("two connections have the id {}", id->integer), id->where)
            .also(known->second->where, "the first of them");
      }
    }
    const std::optional<int> from = end_of(fields, "startIdx", "startName");
    const std::optional<int> to = end_of(fields, "endIdx", "endName");
    KernelEdge edge;
    edge.communication = communication_of(fields.choice("communication_type"));
    edge.communication_bytes = fields.not_negative("communication_size");
    check_communication(fields, "communication_type", "communication_size");
    edge.second_communication = communication_of(fields.choice("communication_type_2"));
    edge.zero_out = fields.flag("zero_out");
    edge.stage_parallel = fields.choice("lane_stage_type") == 2;
    edge.buffer_depth = fields.count("buffer_depth", 0, 0);
    edge.tensor_bytes = fields.not_negative("tensor_size");
    edge.shard_tensor_bytes = fields.not_negative("shard_tensor_size");
    if (!from || !to) return;
    edge.from = *from;
    edge.to = *to;
    if (*from == *to) {
      found_
          .error("O1411",
                 fmt::format("{} leads from kernel `{}` to itself", fields.name(),
                             out_.graph.kernels[static_cast<std::size_t>(*from)].name),
                 fields.where("endIdx"))
          .also(fields.where("startIdx"), "the same kernel")
          .hint("remove the connection, or correct one of its ends");
      return;
    }
    const auto [known, is_new] = pairs_.emplace(std::pair(*from, *to), &entry);
    if (!is_new) {
      found_
          .warning("O1420",
                   fmt::format("{} joins `{}` and `{}` once more: the tensor counts twice", fields.name(),
                               out_.graph.kernels[static_cast<std::size_t>(*from)].name,
                               out_.graph.kernels[static_cast<std::size_t>(*to)].name),
                   entry.where)
          .also(known->second->where, "the first connection of the two");
    }
    out_.graph.edges.push_back(edge);
    out_.edge_positions.push_back(position);
  }

  void refuse_cycle() {
    const std::vector<int> cycle = workload::find_cycle(out_.graph);
    if (cycle.empty()) return;
    constexpr std::size_t kMost = 12;
    std::string path;
    std::vector<const Entry*> steps;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const int from = cycle[i];
      const int to = cycle[(i + 1) % cycle.size()];
      steps.push_back(pairs_.at({from, to}));
      if (i < kMost) path += fmt::format("`{}` -> ", out_.graph.kernels[static_cast<std::size_t>(from)].name);
      if (i == kMost) path += fmt::format("... ({} more) -> ", cycle.size() - kMost);
    }
    path += fmt::format("`{}`", out_.graph.kernels[static_cast<std::size_t>(cycle.front())].name);
    base::Diagnostic& error =
        found_.error("O1412", "kernels wait for each other in a circle: " + path, steps.back()->where);
    error.label("this connection closes it");
    for (std::size_t i = 0; i + 1 < steps.size() && i < kMost; ++i) {
      error.also(steps[i]->where,
                 fmt::format("`{}` -> `{}`", out_.graph.kernels[static_cast<std::size_t>(cycle[i])].name,
                             out_.graph.kernels[static_cast<std::size_t>(cycle[i + 1])].name));
    }
    error.hint("remove one of these connections: a kernel can start only when its inputs are there");
  }

  static constexpr int kMostSuggestions = 20;

  base::Count word_bytes_;
  base::Diagnostics& found_;
  int nobody_ = 0;         // connections to nobody
  bool ids_known_ = true;  // every kernel has one of its own, from 1 to the number of kernels
  base::Location where_;
  std::vector<const Entry*> kernels_, edges_;
  std::map<std::int64_t, int> index_;  // id -> index
  std::unordered_map<std::int64_t, const Entry*> edge_ids_;
  std::map<std::pair<int, int>, const Entry*> pairs_;
  ReadGraph out_;
};

}  // namespace

ReadGraph read_graph(const Block& graph, base::Count word_bytes, base::Diagnostics& found) {
  return GraphReader(graph, word_bytes, found).read();
}

}  // namespace orrery::formats::dfmodel
