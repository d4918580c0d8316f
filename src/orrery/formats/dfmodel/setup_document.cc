#include "orrery/formats/dfmodel/setup_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "orrery/formats/dfmodel/execution_reader.h"
#include "orrery/formats/dfmodel/graph_reader.h"
#include "orrery/formats/dfmodel/setup_fields.h"
#include "orrery/formats/dfmodel/setup_schema.h"
#include "orrery/formats/dfmodel/system_reader.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::dfmodel {

namespace {

namespace fs = std::filesystem;

// Whether the first word of a text that is no comment is the name of a block. What begins a YAML document is a key and
// a colon; a block of a setup needs none, but may have one.
bool begins_as_setup(const std::string& text, bool with_colon) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    const std::size_t end = line.find_first_of(" \t\r:{", first);
    const std::string word = line.substr(first, end == std::string::npos ? end : end - first);
    const std::size_t next = end == std::string::npos ? end : line.find_first_not_of(" \t\r", end);
    return schema().blocks.front().find(word) != nullptr &&
           (with_colon || next == std::string::npos || line[next] == '{');
  }
  return false;
}

// Empty when there is none.
std::string setup_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& candidate : {folder / "user_input" / "setup.txt", folder / "setup.txt"})
    if (fs::exists(candidate, error)) return candidate.string();
  return {};
}

// Broadcasts and messages between two chips are Linpack's; no other workload has chips that they go to.
void check_communications(const dataflow::Setup& setup, const SetupPlaces& places, base::Diagnostics& found) {
  using workload::Communication;
  if (std::holds_alternative<dataflow::Linpack>(setup.execution.workload)) return;
  for (std::size_t i = 0; i < setup.graph.kernels.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    for (const auto& [communication, field] : {std::pair{kernel.communication, "communication_type"},
                                               std::pair{kernel.second_communication, "communication_type_2"}}) {
      if (communication != Communication::kBroadcast && communication != Communication::kPointToPoint) continue;
      found
          .warning("O1420", fmt::format("`{}` of kernel `{}` takes no time", field, kernel.name),
                   places.kernel(static_cast<int>(i), field))
          .note("broadcasts and messages from point to point are priced in `hpl` alone")
          .note("what is stated stands for what the kernel's sharding would communicate")
          .hint("leave it out to have that priced");
    }
  }
}

// What a kernel of `outer` products makes or takes. An operand may be shared by several of them, and that of an
// elementwise kernel by rows or columns (a cache takes one token of all that it holds): then it is smaller by a
// divisor.
struct StatedSize {
  const char* field;
  double bytes;
  const char* shape;                      // as it is told
  std::vector<base::Count> words, other;  // sizes of one of the `outer`, in words; `other` would do, too
  double most_shared = 1;                 // by a divisor of so many
};

double product_of(const std::vector<base::Count>& factors) {
  double product = 1;
  for (const base::Count factor : factors) product *= static_cast<double>(factor);
  return product;
}

bool makes(const StatedSize& size, const std::vector<base::Count>& words, base::Count outer, double word) {
  constexpr double kRounding = 1e-6;  // of 32 bits
  const double all = product_of(words) * static_cast<double>(outer) * word;
  if (std::abs(size.bytes - all) <= kRounding * all) return true;
  const double sharing = std::round(all / size.bytes);
  return sharing >= 1 && std::fmod(size.most_shared, sharing) == 0 &&
         std::abs(size.bytes * sharing - all) <= kRounding * all;
}

std::vector<StatedSize> sizes_of(const workload::Kernel& kernel, bool transform) {
  using workload::Operands;
  const std::vector<base::Count> left{kernel.m, kernel.k}, right{kernel.k, kernel.n}, output{kernel.m, kernel.n};
  const auto outer = static_cast<double>(kernel.outer);
  const double elements = outer * product_of(output);
  const StatedSize made{"output_tensor_size", kernel.output_bytes, "M {0} * N {2}", output, output, 1};
  switch (kernel.operands) {
    case Operands::kInputAndWeight:
      // The K of a transform's step is its work, not a size.
      return {{"input_tensor_size", kernel.input_bytes, "K {1} * N {2}", right, transform ? output : right, outer},
              {"weight_tensor_size", kernel.second_bytes, "M {0} * K {1}", left, left, outer},
              made};
    case Operands::kTwoInputs:
      return {{"input_tensor_1_size", kernel.input_bytes, "M {0} * K {1}", left, right, outer},
              {"input_tensor_2_size", kernel.second_bytes, "K {1} * N {2}", right, left, outer},
              made};
    case Operands::kOneElementwise:
      return {{"input_tensor_size", kernel.input_bytes, "M {0} * N {2}", output, output, elements}, made};
    case Operands::kTwoElementwise:
      break;
  }
  return {{"input_tensor_1_size", kernel.input_bytes, "M {0} * N {2}", output, output, elements},
          {"input_tensor_2_size", kernel.second_bytes, "M {0} * N {2}", output, output, elements},
          made};
}

// Collectives count the stated bytes, buffers and times the shape: where the two differ, one of them is a slip.
void compare_sizes_with_shapes(const dataflow::Setup& setup, const SetupPlaces& places, base::Diagnostics& found) {
  const base::Count word = setup.execution.word_bytes;
  const bool transform = std::holds_alternative<dataflow::FourierTransform>(setup.execution.workload);
  for (std::size_t i = 0; i < setup.graph.kernels.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    const std::vector<StatedSize> sizes = sizes_of(kernel, transform);
    for (const StatedSize& size : sizes) {
      // Gate and up projection come side by side and are multiplied: twice the words of a result that is right.
      const bool gated = kernel.operands == workload::Operands::kOneElementwise && &size == &sizes.front() &&
                         kernel.output_bytes > 0 && size.bytes == 2 * kernel.output_bytes &&
                         makes(sizes.back(), sizes.back().words, kernel.outer, static_cast<double>(word));
      if (size.bytes <= 0 || gated || makes(size, size.words, kernel.outer, static_cast<double>(word)) ||
          makes(size, size.other, kernel.outer, static_cast<double>(word)))
        continue;
      const bool output = std::string_view(size.field) == "output_tensor_size";
      found
          .warning("O1420",
                   fmt::format("`{}` of kernel `{}` is {:.10g}, and its shape makes {:.10g} bytes", size.field,
                               kernel.name, size.bytes,
                               product_of(size.words) * static_cast<double>(kernel.outer) * static_cast<double>(word)),
                   places.kernel(static_cast<int>(i), size.field))
          .note(fmt::format("outer {} * {} * word {}", kernel.outer,
                            fmt::format(fmt::runtime(size.shape), kernel.m, kernel.k, kernel.n), word))
          .note(output ? "what is communicated counts by the size, buffers by the shape"
                       : "times and buffers count by the shape");
    }
  }
}

void check_pins(const dataflow::Setup& setup, const SetupPlaces& places, base::Diagnostics& found) {
  const bool one_by_one = setup.execution.style == dataflow::Style::kKernelByKernel;
  const int configurations = one_by_one ? static_cast<int>(setup.graph.kernels.size()) : setup.execution.configurations;
  if (one_by_one && setup.execution.configurations > 0 && setup.execution.configurations != configurations) {
    found.warning("O1420", "`num_config` is not used: kernels run one by one", places.at("execution.num_config"))
        .also(places.at("execution.execution_style"),
              fmt::format("{} kernels, as many configurations", configurations));
  }
  if (configurations < 1) return;
  for (std::size_t i = 0; i < setup.graph.kernels.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    if (kernel.configuration < configurations) continue;
    const base::Location where = places.kernel(static_cast<int>(i), "config");
    found
        .error("O1416", fmt::format("kernel `{}` is pinned to configuration {}", kernel.name, kernel.configuration),
               where)
        .label(configurations == 1 ? "the only configuration is 0"
                                   : fmt::format("configurations are 0 to {}", configurations - 1))
        .also(places.at(one_by_one ? "execution.execution_style" : "execution.num_config"),
              one_by_one ? "one for each kernel" : fmt::format("{} of them", configurations))
        .hint("`config: -1` leaves it free");
  }
}

// With `skip_inter_chip_optimization` shardings are taken as they are.
void check_splits(const dataflow::Setup& setup, const SetupPlaces& places, base::Diagnostics& found) {
  if (setup.execution.skip_inter_chip) return;
  for (std::size_t i = 0; i < setup.graph.kernels.size(); ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    if (kernel.sharding != kernel.tiling || kernel.tiling == workload::KernelDimension::kNone) continue;
    found
        .error("O1419", fmt::format("kernel `{}` splits one dimension over chips and over time", kernel.name),
               places.kernel(static_cast<int>(i), "sharding"))
        .also(places.kernel(static_cast<int>(i), "tiling"), "the same dimension")
        .hint("shard another dimension, or leave `sharding` out");
  }
}

// Rates of single kernels, and kernels that are cut by what computes them: they contradict cores that are dealt out and
// tiles that are chosen here.
void check_rates(const dataflow::Setup& setup, const SetupPlaces& places, base::Diagnostics& found) {
  const dataflow::Execution& execution = setup.execution;
  for (std::size_t i = 0; i < setup.graph.kernels.size() && !execution.compute_utilization; ++i) {
    const workload::Kernel& kernel = setup.graph.kernels[i];
    if (!kernel.compute_utilization) continue;
    found
        .error("O1418", fmt::format("kernel `{}` has a `compute_util`, and the execution has none", kernel.name),
               places.kernel(static_cast<int>(i), "compute_util"))
        .note("without the execution's, cores are dealt out to kernels, and that makes their rates")
        .hint("give `compute_util` in `execution`, or leave that of kernels out");
    break;
  }
  if (!execution.whole_kernels) return;
  const base::Location where = places.at("execution.whole_kernels");
  if (execution.style != dataflow::Style::kKernelByKernel)
    found.error("O1418", "`whole_kernels` and `execution_style: DATAFLOW` contradict each other", where)
        .also(places.at("execution.execution_style"), "fused kernels pass tiles on to each other")
        .hint("leave `whole_kernels` out, and say in `sram_cap` what tiles must fit");
  const auto* model = std::get_if<dataflow::LanguageModelRun>(&execution.workload);
  if (model != nullptr && model->tile_size > 0 &&
      model->tile_size != (model->tile_size_counts_tiles ? 1 : model->sequence))
    found.error("O1418", "`whole_kernels` and `tile_size` contradict each other", where)
        .also(places.at("execution.workload.tile_size"),
              fmt::format("{} of {} tokens", model->tile_size, model->sequence))
        .hint("keep one of them");
}

// As in DFModel: without `num_config` every kernel runs alone.
void settle_configurations(const SetupPlaces& places, dataflow::Setup& setup, base::Diagnostics& found) {
  dataflow::Execution& execution = setup.execution;
  if (execution.configurations > 0 || execution.style == dataflow::Style::kKernelByKernel) return;
  execution.configurations = static_cast<int>(setup.graph.kernels.size());
  const bool never_fused = std::holds_alternative<dataflow::Linpack>(execution.workload) ||
                           std::holds_alternative<dataflow::FourierTransform>(execution.workload);
  if (never_fused || !places.has("execution") || places.has("execution.num_config")) return;
  found.warning("O1420", "the execution has no `num_config`: every kernel runs alone", places.at("execution"))
      .hint("say into how many configurations the chip may be set, one after another, for kernels to be fused");
}

void settle_stages(const std::vector<int>& staged, const SetupPlaces& places, dataflow::Setup& setup,
                   base::Diagnostics& found) {
  base::Count stages = setup.execution.effective_stages;
  if (const auto* model = std::get_if<dataflow::StateSpaceModel>(&setup.execution.workload); model && stages == 0)
    stages = model->effective_stages;
  if (!staged.empty() && stages == 0) {
    found
        .error("O1404",
               fmt::format("kernel `{}` uses effective stages, and nothing says how many there are",
                           setup.graph.kernels[static_cast<std::size_t>(staged.front())].name),
               places.kernel(staged.front(), "use_effective_stage"))
        .hint("give `effective_stage` in `execution`");
  }
  for (const int kernel : staged) setup.graph.kernels[static_cast<std::size_t>(kernel)].effective_stages = stages;
}

// `orrery graph` writes a graph alone: what it is run on, and how, is for the user to add.
std::string way_out(std::string_view block) {
  return fmt::format("add `{} {{ ... }}` behind the graph: `examples/dataflow/hyena.txt` is a whole setup", block);
}

}  // namespace

SetupDocument read_setup(const std::shared_ptr<const base::SourceFile>& file, const base::Overrides& overrides) {
  base::Diagnostics found;
  ParsedText parsed = parse_text(file, found);
  if (!parsed.complete && !begins_as_setup(file->text, true) &&
      file->text.find_first_not_of(" \t\r\n") != std::string::npos) {
    base::fail("O1400", fmt::format("`{}` is not a setup of DFModel", file->name), found.all().back().primary.where,
               "a setup begins with a block such as `dataflow_graph {`: is this the right file?");
  }
  if (!parsed.complete) found.throw_if_errors();
  apply_overrides(overrides, parsed.root, found);
  SetupDocument document;
  document.file = file;
  dataflow::Setup& setup = document.setup;
  const auto root = std::make_shared<const Block>(std::move(parsed.root));
  Fields fields(*root, "the setup", found);

  const Entry* execution = root->find("execution");
  const Entry* miscellany = root->find("miscellany");
  if (execution && miscellany) {
    found.error("O1418", "the setup has both `execution` and `miscellany`", miscellany->where)
        .also(execution->where, "the other one")
        .hint("keep one of them: they are two names of the same block");
  }
  if (!execution) execution = miscellany;
  if (execution) {
    setup.execution = read_execution(*execution, found);
  } else {
    // Of the schema of 2023.
    const bool first = std::any_of(found.all().begin(), found.all().end(),
                                   [](const auto& one) { return one.message.starts_with("`training` is not known"); });
    fields.missing("execution", "what is computed, and how",
                   first ? "`training { ... }` is of DFModel's schema of 2023: write `execution { ... }` with "
                           "`execution_style` in place of `optimization`, and `memory { ... }` with the accelerator's "
                           "`dram_bw` and `dram_cap`"
                         : way_out("execution"));
  }
  ReadGraph read;
  if (const Block* graph = fields.required_inner("dataflow_graph", "the kernels and their connections"))
    read = read_graph(*graph, setup.execution.word_bytes, found);
  setup.graph = std::move(read.graph);
  if (const Block* system = fields.required_inner("system", "the accelerators and their network", way_out("system")))
    setup.system = read_system(*system, setup.execution.whole_kernels, found);
  if (const Block* cost = fields.inner("cost")) {
    setup.prices = read_prices(*cost, found);
  } else {
    found.warning("O1420", "the setup has no `cost`: money and power are not known", root->where);
  }
  if (const Block* gurobi = fields.inner("gurobi")) setup.solver = read_hints(*gurobi, found);

  document.places = SetupPlaces(root, read.kernel_positions, read.edge_positions);
  settle_configurations(document.places, setup, found);
  check_pins(setup, document.places, found);
  check_communications(setup, document.places, found);
  check_splits(setup, document.places, found);
  check_rates(setup, document.places, found);
  settle_stages(read.staged, document.places, setup, found);
  found.throw_if_errors();
  compare_sizes_with_shapes(setup, document.places, found);
  document.warnings = std::move(found);
  return document;
}

bool is_setup(const std::string& path) {
  std::error_code error;
  const std::string file = fs::is_directory(path, error) ? setup_in(path) : path;
  if (file.empty() || !fs::is_regular_file(file, error)) return false;
  constexpr std::size_t kEnough = std::size_t{1} << 16;
  return begins_as_setup(base::first_bytes(file, kEnough).value_or(""), false);
}

SetupDocument load_setup(const std::string& path, const base::Overrides& overrides) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return read_setup(yaml::read_file(path), overrides);
  if (const std::string file = setup_in(path); !file.empty()) return read_setup(yaml::read_file(file), overrides);
  auto place = std::make_shared<base::SourceFile>();
  place->name = path;
  base::fail("O0100", fmt::format("the folder `{}` holds no setup", path), {place, 0, 0, 1},
             "it is looked for in `user_input/setup.txt` and `setup.txt`");
}

}  // namespace orrery::formats::dfmodel
