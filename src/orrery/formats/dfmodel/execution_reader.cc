#include "orrery/formats/dfmodel/execution_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/text/edit_distance.h"
#include "orrery/formats/dfmodel/setup_fields.h"

namespace orrery::formats::dfmodel {

namespace {

using base::Count;

int to_int(Fields& fields, std::string_view field, Count value, base::Diagnostics& found) {
  constexpr int kMost = std::numeric_limits<int>::max();
  if (value <= kMost) return static_cast<int>(value);
  found.error("O1405", fmt::format("`{}` of {} cannot be {}", field, fields.name(), value), fields.where(field))
      .label(fmt::format("must be at most {}", kMost));
  return kMost;
}

void check_product(Fields& fields, std::initializer_list<std::string_view> names, std::initializer_list<Count> factors,
                   base::Diagnostics& found) {
  Count product = 1;
  bool fits = true;
  std::string arithmetic;
  auto name = names.begin();
  for (const Count factor : factors) {
    fits = fits && !__builtin_mul_overflow(product, factor, &product);
    arithmetic += fmt::format("{}{} {}", arithmetic.empty() ? "" : " * ", *name++, factor);
  }
  if (fits) return;
  found
      .error("O1417", fmt::format("the size of {} cannot be counted in 64 bits", fields.name()),
             fields.where(*names.begin()))
      .note(arithmetic + " exceeds 9.2e18")
      .hint("is one of them mistyped?");
}

dataflow::LanguageModelRun read_llm(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`llm`", found);
  dataflow::LanguageModelRun model;
  model.hidden = fields.required_count("hidden_dim", 1, "the width of the model");
  model.head_width = fields.count("head_dim", 1, 0);
  model.heads = fields.count("num_head", 1, 0);
  model.sequence = fields.required_count("seq_len", 1, "the tokens of a sequence");
  model.layers = fields.required_count("num_layer", 1, "the layers of the model");
  model.global_batch = fields.required_count("global_batch_size", 1, "the sequences of a batch over all chips");
  model.micro_batch = fields.required_count("micro_batch_size", 1, "the sequences that travel the pipeline together");
  model.tile_size = fields.count("tile_size", 0, 0);
  model.layers_in_graph = std::max<Count>(fields.count("num_layer_in_graph", 0, 1), 1);
  if (model.tile_size > model.sequence) {
    found.error("O1405", fmt::format("`tile_size` of `llm` cannot be {}", model.tile_size), fields.where("tile_size"))
        .label("more than the sequence has tokens")
        .also(fields.where("seq_len"), fmt::format("{} tokens", model.sequence));
  }
  if (model.layers_in_graph > model.layers) {
    found
        .error("O1405", fmt::format("`num_layer_in_graph` of `llm` cannot be {}", model.layers_in_graph),
               fields.where("num_layer_in_graph"))
        .label("more than the model has layers")
        .also(fields.where("num_layer"), fmt::format("{} layers", model.layers));
  }
  check_product(fields, {"hidden_dim", "seq_len", "num_layer"}, {model.hidden, model.sequence, model.layers}, found);
  check_product(fields, {"global_batch_size", "num_layer", "seq_len"},
                {model.global_batch, model.layers, model.sequence}, found);
  return model;
}

dataflow::Recommendation read_dlrm(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`dlrm`", found);
  dataflow::Recommendation model;
  model.tables = fields.required_count("num_table", 1, "how many embedding tables there are");
  model.embedding = fields.required_count("emb_dim", 1, "the width of an embedding");
  model.rows = fields.required_count("row", 1, "the rows of a table");
  model.global_batch = fields.required_count("global_batch_size", 1, "the samples of a batch over all chips");
  model.copies = fields.count("num_copy", 1, 1);
  check_product(fields, {"num_table", "emb_dim", "row"}, {model.tables, model.embedding, model.rows}, found);
  return model;
}

dataflow::Linpack read_hpl(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`hpl`", found);
  dataflow::Linpack problem;
  problem.n = fields.required_count("n", 1, "the order of the matrix");
  problem.block = fields.required_count("b", 1, "the width of a block");
  problem.copies = fields.count("num_copy", 1, 1);
  if (problem.block > problem.n) {
    found.error("O1405", fmt::format("`b` of `hpl` cannot be {}", problem.block), fields.where("b"))
        .label("a block is at most as large as the matrix")
        .also(fields.where("n"), fmt::format("of order {}", problem.n));
  }
  check_product(fields, {"n", "n"}, {problem.n, problem.n}, found);
  return problem;
}

dataflow::FourierTransform read_fft(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`fft`", found);
  dataflow::FourierTransform transform;
  transform.length = fields.required_count("length", 1, "the points of the transform");
  transform.copies = fields.count("num_copy", 1, 1);
  return transform;
}

dataflow::StateSpaceModel read_state_space(const Entry& entry, base::Diagnostics& found) {
  Fields fields(entry.block, fmt::format("`{}`", entry.field->name), found);
  dataflow::StateSpaceModel model;
  model.kind = entry.field->name;
  model.hidden = fields.required_count("hidden", 1, "the width of the model");
  model.sequence = fields.required_count("seq_len", 1, "the tokens of a sequence");
  if (entry.block.type->find("tile_size")) model.tile_size = fields.count("tile_size", 0, 0);
  if (entry.block.type->find("effective_stage")) model.effective_stages = fields.count("effective_stage", 0, 0);
  if (model.tile_size > model.sequence) {
    found
        .error("O1405", fmt::format("`tile_size` of {} cannot be {}", fields.name(), model.tile_size),
               fields.where("tile_size"))
        .label("more than the sequence has tokens")
        .also(fields.where("seq_len"), fmt::format("{} tokens", model.sequence));
  }
  return model;
}

dataflow::Workload read_workload(const Entry& execution, base::Diagnostics& found) {
  const Entry* first = nullptr;
  for (const Entry& entry : execution.block.entries) {
    if (!entry.field->block) continue;
    if (!first) {
      first = &entry;
    } else if (first->field != entry.field) {
      found
          .error("O1407",
                 fmt::format("`{}` has two workloads: `{}` and `{}`", execution.field->name, first->field->name,
                             entry.field->name),
                 entry.where)
          .also(first->where, "the first")
          .hint("keep one of them");
    }
  }
  if (!first) {
    base::Diagnostic& error = found.error(
        "O1407", fmt::format("`{}` names no workload: one of {}", execution.field->name, name_list(workload_names())),
        execution.where);
    for (const base::Location& unknown : execution.block.unknown) error.also(unknown, "this is none of them");
    return {};
  }
  const std::string& name = first->field->name;
  if (name == "llm") return read_llm(first->block, found);
  if (name == "dlrm") return read_dlrm(first->block, found);
  if (name == "hpl") return read_hpl(first->block, found);
  if (name == "fft") return read_fft(first->block, found);
  return read_state_space(*first, found);
}

dataflow::Overlap read_overlap(Fields& fields, bool first_generation, base::Diagnostics& found) {
  constexpr dataflow::Overlap kOrder[] = {dataflow::Overlap::kPerfect, dataflow::Overlap::kNone,
                                          dataflow::Overlap::kComputeMemory};
  const Entry* named = fields.block().find("overlap");
  const Entry* perfect = fields.block().find("perfect_overlap");
  if (named && named->broken) return dataflow::Overlap::kPerfect;
  if (named && named->choice > 0) {
    const dataflow::Overlap overlap = kOrder[named->choice - 1];
    if (perfect && !perfect->broken && perfect->flag != (overlap == dataflow::Overlap::kPerfect)) {
      found.error("O1418", "`overlap` and `perfect_overlap` contradict each other", named->where)
          .also(perfect->where, "says otherwise")
          .hint("keep one of them; `perfect_overlap` is the name of the first generation");
    }
    return overlap;
  }
  if (perfect) return perfect->flag ? dataflow::Overlap::kPerfect : dataflow::Overlap::kNone;
  // A flag that is not given is false.
  if (!first_generation) fields.missing("overlap", "whether compute, memory and network run at the same time");
  return dataflow::Overlap::kNone;
}

}  // namespace

dataflow::Execution read_execution(const Entry& entry, base::Diagnostics& found) {
  Fields fields(entry.block, fmt::format("`{}`", entry.field->name), found);
  dataflow::Execution execution;
  execution.workload = read_workload(entry, found);
  if (auto* model = std::get_if<dataflow::LanguageModelRun>(&execution.workload))
    model->tile_size_counts_tiles = entry.field->name == "miscellany";
  const int style = fields.required_choice(
      "execution_style", "are kernels fused (`DATAFLOW`), or do they run one by one (`KERNEL_BY_KERNEL`)?");
  execution.style = style == 2 ? dataflow::Style::kKernelByKernel : dataflow::Style::kDataflow;
  constexpr Count kMostConfigurations = 10'000;
  const Count stated_configurations = fields.count("num_config", 0, 0);
  execution.configurations = static_cast<int>(std::min(stated_configurations, kMostConfigurations));
  const Entry* configurations = entry.block.find("num_config");
  if (style == 1 && configurations && !configurations->broken && configurations->integer == 0)
    found.error("O1405", fmt::format("`num_config` of {} cannot be 0", fields.name()), fields.where("num_config"))
        .label("must be at least 1")
        .hint("leave it out for one configuration a kernel");
  if (stated_configurations > kMostConfigurations)
    found
        .error("O1405", fmt::format("`num_config` of {} cannot be {}", fields.name(), stated_configurations),
               fields.where("num_config"))
        .label(fmt::format("must be at most {}", kMostConfigurations))
        .note("configurations beyond the number of kernels stay empty")
        .hint("leave it out for one configuration a kernel");
  execution.overlap = read_overlap(fields, entry.field->name == "miscellany", found);
  if (fields.has("compute_util")) {
    const double share = fields.positive("compute_util", 1);
    if (share > 1) {
      found
          .error("O1405", fmt::format("`compute_util` of {} cannot be {}", fields.name(), share),
                 fields.where("compute_util"))
          .label("must be above 0 and at most 1")
          .hint(share <= 100 ? fmt::format("{} % is `compute_util: {:.6g}`", share, share / 100) : std::string());
    }
    execution.compute_utilization = share;
  }
  execution.word_bytes = fields.required_count("word", 1, "the bytes of an element");
  execution.separate_reduce_scatter_all_gather = fields.flag("separate_rs_ag_for_ar");
  execution.effective_stages = fields.count("effective_stage", 0, 0);
  execution.skip_inter_chip = fields.flag("skip_inter_chip_optimization");
  execution.place_and_route = !fields.flag("turn_off_p_and_r");
  execution.whole_kernels = fields.flag("whole_kernels");
  execution.stream_weights = fields.flag("stream_weights");
  if (const std::string terms = fields.text("optimization"); !terms.empty()) {
    const std::vector<std::string> known = {"CMN", "CM", "CN", "C"};
    if (std::find(known.begin(), known.end(), terms) == known.end()) {
      found.error("O1418", fmt::format("`optimization` cannot be \"{}\"", terms), fields.where("optimization"))
          .label("\"CMN\", \"CM\", \"CN\" or \"C\": compute, memory, network")
          .hint(base::did_you_mean(terms, known));
    } else {
      execution.terms = terms;
    }
  }
  return execution;
}

dataflow::SolverHints read_hints(const Block& block, base::Diagnostics& found) {
  Fields fields(block, "`gurobi`", found);
  dataflow::SolverHints hints;
  hints.threads = to_int(fields, "thread", fields.count("thread", 0, 0), found);
  hints.gap = fields.not_negative("gap");
  hints.seconds = static_cast<double>(fields.count("time", 0, 0));
  return hints;
}

}  // namespace orrery::formats::dfmodel
