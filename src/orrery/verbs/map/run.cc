// Layers are gathered, read, fused, searched and named.
#include "orrery/verbs/map/run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/grouped.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/inputs/catalogue/model_facts.h"
#include "orrery/inputs/file_kinds.h"
#include "orrery/inputs/graphs/onnx_model.h"
#include "orrery/inputs/layers/changed_tables.h"
#include "orrery/inputs/layers/read_layers.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/layers/layer_selection.h"
#include "orrery/verbs/map/layers/layer_tasks.h"
#include "orrery/verbs/map/map_fused.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using Chips = std::vector<ChipFile>;

// Layers to map and the documents they borrow.
struct Layers {
  std::deque<Documents> documents;  // a deque: tasks point into it while it grows
  std::vector<LayerTask> tasks;
  std::vector<std::string> stems;   // per task, tells layers of one name apart
  std::vector<bool> normalisation;  // per task, of a model: another chip runs it
  const AskHow* how = nullptr;      // null: as the request says
  std::string title;
  base::Count blocks = 0;
  File model;                        // null without --model
  std::vector<base::Input> ignored;  // of it: --ignore
  std::vector<base::Input> array;    // its document
  std::vector<base::Input> onnx;     // the file, and --define
  std::optional<MappedWork> work;    // of it
  ArrayAttention attention;          // of it, where an array does it
  base::Diagnostics warnings;        // of the catalogue's files
};

formats::timeloop::ReadOptions search_options(const MapRequest& request, const Layers& layers,
                                              bool normalisation = false) {
  formats::timeloop::ReadOptions how = reading(request);
  how.mapping_wanted = false;
  if (layers.how == nullptr) return how;
  how.tables_wanted = !layers.how->estimate;
  if (normalisation) how.overrides = layers.how->normalisations;
  return how;
}

std::vector<File> for_role(const Chips& chips, workload::OperatorRole role) {
  std::vector<File> out;
  for (const ChipFile& chip : chips) out.push_back(chip.for_role(role).file);
  return out;
}

std::string names_of(const Chips& chips) {
  std::string out;
  for (const ChipFile& chip : chips) out += (out.empty() ? "" : " + ") + chip.entry.name;
  return out;
}

std::vector<File> joined(std::vector<File> files, const std::vector<File>& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

constexpr base::Count kDrafted = 4;  // tokens that a draft proposes
constexpr base::Count kMostDrafted = base::Count{1} << 40;

// What of the model is to run, and how the title says it.
workload::Phase phase_of(const MapRequest& request, const workload::Transformer& model, std::string& title) {
  workload::Phase phase;
  phase.batch = request.batch.value_or(1);
  if (request.phase.empty() || request.phase == "prefill") {
    if (request.cached || request.drafted)
      base::fail(
          "O1103",
          fmt::format("--{} sizes a phase with a cache, but none is asked for", request.cached ? "cache" : "draft"), {},
          "add `--phase decode` or `--phase verify`");
    if (request.sequence && model.decoder().fixed_tokens > 0)
      base::fail("O1103",
                 fmt::format("--seq {} with a model of images, which are {} tokens each", *request.sequence,
                             model.decoder().fixed_tokens),
                 {}, "leave it out, or give `--batch`");
    phase.tokens = request.sequence.value_or(workload::default_sequence(model));
    title = fmt::format("prefill, batch {}, sequence {}", phase.batch, phase.tokens);
    return phase;
  }
  if (request.sequence)
    base::fail("O1103", fmt::format("--seq with --phase {}", request.phase), {},
               "`--cache` says how many tokens the cache holds");
  if (request.drafted && request.phase == "decode")
    base::fail("O1103", "--draft with --phase decode", {}, "drafted tokens are verified: `--phase verify`");
  phase.tokens = request.phase == "verify" ? request.drafted.value_or(kDrafted) : 1;
  if (phase.tokens > kMostDrafted)
    base::fail("O0913", fmt::format("a draft has at most {} tokens, but this has {}", kMostDrafted, phase.tokens));
  const base::Count cache = request.cached.value_or(std::max(workload::default_sequence(model), phase.tokens + 1));
  if (cache <= phase.tokens)
    base::fail("O0913", fmt::format("a cache of {} tokens holds none besides the {} that are new", cache, phase.tokens),
               {}, fmt::format("`--cache` counts the new ones, too: at least {}", phase.tokens + 1));
  phase.cached = cache - phase.tokens;
  title = fmt::format("{} {} token{}, {} in the cache, batch {}", request.phase == "verify" ? "verifying" : "decoding",
                      phase.tokens, base::plural(phase.tokens), cache, phase.batch);
  return phase;
}

// What does not run on the chip, with its share of all products.
std::vector<MappedWork::Left> left_out(const workload::Transformer& model, const workload::ModelOperators& mapped) {
  const auto flop_of = [](const workload::Operator& op) {
    return op.role == workload::OperatorRole::kMatmul
               ? 2 * static_cast<double>(op.instances) * static_cast<double>(op.einsum.operations())
               : 0.0;
  };
  double all = 0;
  for (const workload::Operator& op : mapped.operators) all += static_cast<double>(mapped.layers) * flop_of(op);
  for (const workload::Operator& op : mapped.around) all += flop_of(op);
  std::vector<MappedWork::Left> out;
  for (const workload::Operator& op : mapped.around) out.push_back({op.name, flop_of(op), flop_of(op) / all});
  if (model.vocab > 0) out.push_back({"look-ups in tables", {}, {}});
  for (const std::string& what : mapped.left_out) out.push_back({what, {}, {}});
  if (!model.towers.empty()) out.push_back({"what the vision tower does", {}, {}});
  if (model.predicted_ahead > 0)
    out.push_back({fmt::format("{} layer{} predicting tokens beyond the next", model.predicted_ahead,
                               base::plural(model.predicted_ahead)),
                   {},
                   {}});
  return out;
}

void layers_of_model(const MapRequest& request, const Chips& chips, const std::vector<File>& files, Layers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both --model and a `problem` in `{}`", split.layers[0]->name), {},
               "name a model, or give problems, not both");
  const ModelFile model = load_model(catalogue_directory(), request.model,
                                     {request.ignored, formats::huggingface::Outside::kPassed, request.like});
  std::string phase;
  const workload::Phase asked = phase_of(request, model.transformer, phase);
  const workload::ModelOperators block = workload::model_operators(model.transformer, asked, request.logits);
  if (!block.left_out.empty())
    out.warnings
        .warning("O0924",
                 fmt::format("some of `{}` is not mapped: {}", model.entry.name, fmt::join(block.left_out, "; ")),
                 {model.file, 0, 0, 1})
        .note("no product of matrices expresses them; the figures are those of the rest");

  std::map<std::vector<const base::SourceFile*>, const Documents*> gathered;
  std::vector<workload::Operator> operators = block.operators;
  if (!request.attention_array.empty()) {
    const File document = base::read_file(request.attention_array);
    out.attention.array = read_attention_array(document);
    out.attention.rows = take_attention(model.entry.name, out.attention.array, operators);
    out.array.push_back(base::file_input(*document));
  }
  for (const workload::Operator& op : operators) {
    const std::vector<File> all = joined(for_role(chips, op.role), files);
    std::vector<const base::SourceFile*> key;
    for (const File& file : all) key.push_back(file.get());
    const bool other = std::any_of(chips.begin(), chips.end(),
                                   [&](const ChipFile& chip) { return chip.for_role(op.role).file != chip.file; });
    const Documents*& documents = gathered[key];
    if (!documents)
      documents =
          &out.documents.emplace_back(Documents::gather(all, search_options(request, out, other), parsed(chips)));
    out.normalisation.push_back(other);
    LayerTask task;
    task.name = op.name;
    task.instances = op.instances;
    task.documents = documents;
    task.einsum = op.einsum;
    out.tasks.push_back(std::move(task));
    out.stems.push_back(op.name);
  }
  out.blocks = block.layers;
  out.model = model.file;
  out.ignored = model.ignored;
  out.warnings.append(model.diagnostics);
  const std::string where = chips.empty() ? "the given chip" : names_of(chips);
  base::Count layers = 0;
  for (const workload::Stack& stack : model.transformer.stacks)
    if (request.phase.empty() || request.phase == "prefill" || &stack == &model.transformer.decoder())
      layers += static_cast<base::Count>(stack.layers.size());  // an encoder has run by then
  out.title = fmt::format("{} on {}: {} block{}{}, {}", model.entry.name, where, layers, base::plural(layers),
                          request.logits ? " and logits" : "", phase);
  const bool beyond = is_beyond_positions(model.transformer, asked.tokens + asked.cached);
  if (!out.attention.rows.empty()) out.title += ", attention on a simulated array";
  if (beyond) out.title += fmt::format(", beyond the model's {}", *model.transformer.max_positions);
  out.work = MappedWork{model.entry.name,
                        model.transformer.family,
                        request.phase.empty() ? "prefill" : request.phase,
                        asked.batch,
                        asked.tokens,
                        asked.cached,
                        model.transformer.max_positions,
                        layers,
                        left_out(model.transformer, block)};
}

void layers_of_files(const MapRequest& request, const Chips& chips, const std::vector<File>& files, Layers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  const std::vector<File> shared = joined(for_role(chips, workload::OperatorRole::kMatmul), split.shared);
  std::vector<File> layers = split.layers;
  if (layers.empty()) layers.push_back(nullptr);  // the reader says that a problem is missing
  base::Diagnostics found;
  for (const File& file : layers) {
    std::vector<File> all = shared;
    if (file) all.push_back(file);
    try {
      const Documents& documents =
          out.documents.emplace_back(Documents::gather(all, search_options(request, out), parsed(chips)));
      LayerTask task;
      task.documents = &documents;
      out.tasks.push_back(std::move(task));
      out.stems.push_back(file ? stem(file->name) : "");
    } catch (const base::InputError& error) {
      found.append(error.diagnostics);
    }
  }
  found.throw_if_errors();
}

void layers_of_gemms(const MapRequest& request, const Chips& chips, const std::vector<File>& files, Layers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both --gemm and a `problem` in `{}`", split.layers[0]->name), {},
               "give matrix products with --gemm, or problems, not both");
  const Documents& documents = out.documents.emplace_back(
      Documents::gather(joined(for_role(chips, workload::OperatorRole::kMatmul), split.shared),
                        search_options(request, out), parsed(chips)));
  for (const Gemm& gemm : request.gemms) {
    LayerTask task;
    task.name = fmt::format("GEMM {}x{}x{}", gemm.m, gemm.k, gemm.n);
    task.documents = &documents;
    task.einsum = workload::matmul(task.name, gemm.m, gemm.k, gemm.n);
    out.stems.push_back(fmt::format("{}", out.tasks.size() + 1));
    out.tasks.push_back(std::move(task));
  }
}

// The files of a request: an ONNX model, and documents.
struct MapRunNamed {
  std::vector<std::string> onnx, documents;
};

MapRunNamed sorted_out(const MapRequest& request) {
  MapRunNamed out;
  for (const std::string& file : request.files) (is_onnx(file) ? out.onnx : out.documents).push_back(file);
  if (out.onnx.empty() && request.unfold)
    base::fail("O1103", "--im2col is of an ONNX model, but none is given", {},
               "give the model's file, whose name ends in `.onnx`");
  if (out.onnx.size() > 1)
    base::fail("O1103", fmt::format("two ONNX models, `{}` and `{}`", out.onnx[0], out.onnx[1]), {},
               "map one at a time");
  if (!out.onnx.empty() && !(request.gemms.empty() && request.model.empty()))
    base::fail("O1103", fmt::format("both --{} and `{}`", request.model.empty() ? "gemm" : "model", out.onnx[0]), {},
               "give one or the other");
  if (!out.onnx.empty() && out.documents.empty() && request.chips.empty())
    base::fail("O1103", fmt::format("`{}` has no chip to run on", out.onnx[0]), {},
               "name one with --chip, or give its files; `orrery catalog` lists the chips that come along");
  return out;
}

void layers_of_onnx(const MapRequest& request, const std::string& path, const Chips& chips,
                    const std::vector<File>& files, Layers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both `{}` and a `problem` in `{}`", path, split.layers[0]->name), {},
               "give an ONNX model, or problems, not both");
  OnnxModel model = load_onnx({path, {request.templates.defined, request.unfold}});
  const formats::onnx::Operators& operators = model.operators;
  if (operators.layers.empty()) {
    base::Diagnostics found;
    base::Diagnostic& error = found.error(
        "O0938", fmt::format("`{}` has no product of matrices and no convolution to map", path), {model.file, 0, 0, 1});
    // What comes nearest: the operator with the most work.
    const auto most = std::max_element(operators.all.begin(), operators.all.end(), [](const auto& a, const auto& b) {
      return a.operations.value_or(0) < b.operations.value_or(0);
    });
    if (most != operators.all.end())
      error.note(most->operations.value_or(0) > 0
                     ? fmt::format("most of its work is in `{}` ({}): {} operations, for which there is no einsum",
                                   most->name, most->type, base::grouped(*most->operations))
                     : fmt::format("its first operator is `{}` ({})", most->name, most->type));
    error.hint(fmt::format("`orrery graph {}` lists its operators", path));
    found.throw_if_errors();
  }
  const Documents& documents = out.documents.emplace_back(
      Documents::gather(joined(for_role(chips, workload::OperatorRole::kMatmul), split.shared),
                        search_options(request, out), parsed(chips)));
  base::Count products = 0;
  for (const formats::onnx::Layer& layer : operators.layers) {
    LayerTask task;
    task.name = layer.name;
    // Any of the operators that share a layer names it.
    for (const std::size_t op : layer.operators)
      if (operators.all[op].name == request.layer) task.name = request.layer;
    task.instances = layer.instances;
    task.documents = &documents;
    task.einsum = layer.einsum;
    out.stems.push_back(task.name);
    out.tasks.push_back(std::move(task));
    products += static_cast<base::Count>(layer.operators.size());
  }
  out.warnings.append(operators.warnings);
  out.onnx = std::move(model.inputs);
  out.title = fmt::format("{} on {}: {} product{} of {} shape{}", model.name,
                          chips.empty() ? "the given chip" : names_of(chips), products, base::plural(products),
                          operators.layers.size(), base::plural(operators.layers.size()));
}

// The shape names a layer of a file; where several files use one shape, the file's name is added.
template <typename Layer>
void name_layers(const std::vector<std::string>& stems, std::vector<Layer>& layers) {
  std::map<std::string, int> uses;
  for (const Layer& layer : layers) ++uses[layer.name];
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (uses[layers[i].name] > 1) layers[i].name += fmt::format(" ({})", stems[i]);
}

[[noreturn]] void no_such_layer(const std::string& wanted, const std::vector<std::string>& known) {
  base::fail("O1106", fmt::format("there is no layer `{}`", wanted), {},
             base::did_you_mean(wanted, known, fmt::format("layers are {}", fmt::join(known, ", "))));
}

// The name of a task's layer: its own, or that of its shape.
std::string name_of(const LayerTask& task) {
  if (!task.name.empty() || task.einsum) return task.name.empty() ? task.einsum->name : task.name;
  const formats::yaml::Node* node = task.documents->find("problem");
  for (const char* key : {"shape", "name"})
    if (node != nullptr) node = node->is_map() ? node->find(key) : nullptr;
  return node == nullptr ? "" : node->scalar;
}

// As people say it: "KTQ" is the file KTQ_layer.yaml, and the shape KTQ_matmul_encoder.
bool goes_by(const std::string& wanted, const std::string& name, const std::string& stem) {
  const auto begins = [&](const std::string& with) { return with == wanted || with.starts_with(wanted + "_"); };
  return begins(name) || begins(stem);
}

// Keeps the tasks that go by one of these names.
void keep_layers(const std::vector<std::string>& wanted, Layers& out) {
  if (wanted.empty()) return;
  Layers kept;
  std::vector<std::string> names;
  std::vector<bool> met(wanted.size());
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    names.push_back(name_of(out.tasks[i]));
    bool keeps = false;
    for (std::size_t w = 0; w < wanted.size(); ++w)
      if (goes_by(wanted[w], names.back(), out.stems[i])) keeps = met[w] = true;
    if (!keeps) continue;
    kept.tasks.push_back(out.tasks[i]);
    kept.stems.push_back(out.stems[i]);
    if (i < out.normalisation.size()) kept.normalisation.push_back(out.normalisation[i]);
  }
  for (std::size_t w = 0; w < wanted.size(); ++w)
    if (!met[w]) no_such_layer(wanted[w], names);
  out.tasks = std::move(kept.tasks);
  out.stems = std::move(kept.stems);
  out.normalisation = std::move(kept.normalisation);
}

bool goes_by_any(std::initializer_list<const char*> wanted, const std::string& name, const std::string& stem) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const char* each) { return goes_by(each, name, stem); });
}

// Layers of files that run once a head, so many times.
void count_heads(Layers& out) {
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    LayerTask& task = out.tasks[i];
    const formats::yaml::Node* const variables = task.documents->find("variables");
    if (task.einsum || variables == nullptr || !variables->is_map()) continue;
    if (!goes_by_any({"KTQ", "VScores", "softmax", "SM"}, name_of(task), out.stems[i])) continue;
    formats::timeloop::Scope scope;
    scope.define_all(*variables);
    base::Diagnostics found;
    const auto heads = scope.lookup("HEADS", found);
    if (!heads) continue;
    if (const base::Count* count = std::get_if<base::Count>(&*heads); count != nullptr && *count > 0)
      task.instances = *count;
  }
}

// Whether a layer hands its result to a normalisation, or is one: those that Timeloop-Experiments fuses.
bool is_followed(const std::string& name, const std::string& stem) {
  return goes_by_any({"KTQ", "Out", "softmax", "SM", "layernorm", "LN"}, name, stem);
}

// Keeps the one task that --layer names: by operator, by file stem, or by shape name.
void keep_layer(const std::string& wanted, Layers& out) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    std::string name = out.tasks[i].name;
    if (name.empty()) {
      const formats::timeloop::Specification specification = out.tasks[i].documents->read();
      if (specification.problem) name = specification.problem->einsum.name;
    }
    if (wanted == name || wanted == out.stems[i] || wanted == fmt::format("{} ({})", name, out.stems[i])) {
      const LayerTask task = out.tasks[i];
      const std::string kept_stem = out.stems[i];
      out.tasks = {task};
      out.stems = {kept_stem};
      if (i < out.normalisation.size()) out.normalisation = {out.normalisation[i]};
      return;
    }
    names.push_back(name);
  }
  no_such_layer(wanted, names);
}

// Throws InputError O2010 where an array is given, but not a whole prefill of a model.
void demand_attention(const MapRequest& request) {
  if (request.attention_array.empty()) return;
  base::Diagnostics found;
  const auto refuse = [&](const std::string& what, const char* hint) {
    found.error("O2010", fmt::format("--attention-array does the attention of a model's prefill, but {}", what))
        .hint(hint);
  };
  if (request.model.empty()) refuse("no --model is given", "name a model, or leave the array out");
  if (!request.phase.empty() && request.phase != "prefill")
    refuse(fmt::format("the phase is `{}`", request.phase),
           "leave `--phase` out: no mask of a query that reads a cache was simulated");
  if (!request.layer.empty())
    refuse(fmt::format("only the layer `{}` is asked for", request.layer),
           "leave `--layer` out: the array changes no layer that the chip keeps");
  found.throw_if_errors();
}

// Throws InputError O1103 for options that make no question together.
void demand_question(const MapRequest& request) {
  if (!request.gemms.empty() && !request.model.empty())
    base::fail("O1103", fmt::format("both --gemm and --model {}", request.model), {},
               "give matrix products, or a model, not both");
  if (request.files.empty() && request.chips.empty() && !request.gemms.empty())
    base::fail("O1103", "--gemm has no chip to run on", {},
               "name one with --chip, or give its files; `orrery catalog` lists the chips that come along");
  if (request.files.empty() && request.chips.empty() && !request.model.empty())
    base::fail("O1103", fmt::format("`{}` has no chip to run on", request.model), {},
               "name one with --chip, or give its files; `orrery catalog` lists the chips that come along");
  if (request.files.empty() && request.chips.empty())
    base::fail("O1103", "there is nothing to map", {},
               "give Timeloop documents, or --chip and --model; see `orrery map --help`");
  const bool sized = request.sequence || request.batch.value_or(1) != 1 || request.cached || request.drafted;
  if (request.model.empty() && (sized || request.logits || !request.phase.empty()))
    base::fail("O1103", "--seq, --batch, --phase and --logits are of a model, but no --model is given", {},
               "name a model; a problem's bounds are set with --set");
  demand_attention(request);
}

// Chips whose constraints name the dimensions of a matrix product do not know those of a convolution.
ReadLayers read_all(const Layers& layers, const MapRequest& request, Estimators& estimators) {
  try {
    return read_layers(layers.tasks, estimators);
  } catch (base::InputError& error) {
    if (!layers.onnx.empty() && !request.unfold)
      for (base::Diagnostic& diagnostic : error.diagnostics)
        if (diagnostic.code == "O0505")
          diagnostic.hint("`--im2col` takes convolutions as products of matrices, in `D`, `E` and `L`");
    throw;
  }
}

// Throws InputError O2043 where level and flags are to be chosen, and something is asked for that is of one choice.
void demand_no_choice(const MapRequest& request) {
  const MapOptions& search = request.search;
  const FuseSides& fuse = request.fuse;
  const char* beside = !fuse.level.empty()                         ? "--fuse-at"
                       : fuse.reduction_free                       ? "--no-e-fusion"
                       : fuse.whole                                ? "--l-fusion"
                       : fuse.product_writes                       ? "--pay-writeback-in-matmul"
                       : !request.layer.empty()                    ? "--layer"
                       : !request.attention_array.empty()          ? "--attention-array"
                       : search.front                              ? "--pareto"
                       : search.certify                            ? "--certify"
                       : !search.why.empty()                       ? "--why"
                       : search.factors != nest::Factors::kPerfect ? "--factors"
                       : !search.pads.empty()                      ? "--pad"
                                                                   : nullptr;
  if (!beside) return;
  base::fail(
      "O2043", fmt::format("`--fuse auto` and `{}` exclude each other", beside), {},
      "let it choose first, then ask about one side alone: `--layer NAME --fuse-at LEVEL` and the options it shows");
}

}  // namespace

AskedLayers ask_layers(const MapRequest& request, const AskHow& how, Estimators& estimators) {
  GatheredLayers layers;
  layers.how = &how;
  gather_layers(request, layers);
  ReadLayers read = read_all(layers, request, estimators);
  // A storage that no chip has is refused, although no layer here may be fused at it.
  const auto has_level = [&](const LayerQuestion& question) {
    return question.chip->storage_index(request.fuse.level) >= 0;
  };
  if (how.as_scripts && !request.fuse.level.empty() && !read.questions.empty() &&
      std::none_of(read.questions.begin(), read.questions.end(), has_level))
    fuse_side(request.fuse, read.questions.front());
  for (std::size_t i = 0; i < read.questions.size(); ++i)
    if (!how.as_scripts || is_followed(read.questions[i].name, layers.stems[i]))
      fuse_side(request.fuse, read.questions[i]);
  AskedLayers asked;
  asked.title = layers.title;
  asked.blocks = layers.blocks;
  asked.questions = std::move(read.questions);
  name_layers(layers.stems, asked.questions);
  asked.normalisation = layers.normalisation;
  asked.normalisation.resize(asked.questions.size());
  asked.inputs = inputs_of(layers, std::move(read.inputs));
  asked.warnings = std::move(read.warnings);
  asked.warnings.append(layers.warnings);
  return asked;
}

namespace {

// `fused`: level and flags of each pair are chosen, and told there; null: as the request says.
MapAnswer answer_of(const MapRequest& request, std::vector<FusedPair>* fused) {
  GatheredLayers layers;
  gather_layers(request, layers);

  MapOptions search = request.search;
  if (request.interruptible) search.limits.stop = request.interruptible();
  Estimators estimators(request.estimators);
  ReadLayers read = read_all(layers, request, estimators);
  for (LayerQuestion& question : read.questions) fuse_side(request.fuse, question);
  if (search.limits.threads <= 0) search.limits.threads = std::min(std::max(1, read.threads), base::thread_count(0));
  MapAnswer answer;
  if (!layers.attention.rows.empty()) {
    layers.attention.cycle_seconds = common_cycle_seconds(read.questions);
    price(layers.attention);
    warn_of_array(layers.attention, layers.warnings);
  }
  if (fused) {
    name_layers(layers.stems, read.questions);
    FusedLayers chosen = map_fused(read.questions, search);
    answer.mapped = std::move(chosen.mapped);
    *fused = std::move(chosen.pairs);
  } else {
    answer.mapped = map_layers(read.questions, search);
  }
  answer.mapped.attention = std::move(layers.attention);
  for (const MappedLayer& layer : answer.mapped.layers)
    if (layer.certified && layer.certified->finished && !layer.certified->agrees)
      throw base::InternalError(fmt::format("`{}` is not certified: {}", layer.name, layer.certified->complaint));

  answer.mapped.inputs = inputs_of(layers, std::move(read.inputs));
  read.warnings.append(answer.mapped.warnings);
  read.warnings.append(layers.warnings);
  answer.mapped.warnings = std::move(read.warnings);
  if (!fused) name_layers(layers.stems, answer.mapped.layers);
  answer.title = layers.title;
  answer.blocks = layers.blocks;
  answer.work = layers.work;
  if (!layers.title.empty() && !request.layer.empty()) {
    const std::string& selected = answer.mapped.layers.front().name;
    answer.title += fmt::format(", layer {} only", selected);
    if (layers.blocks > 0) answer.selected = selected;
  }
  return answer;
}

}  // namespace

MapAnswer map(const MapRequest& request) {
  return answer_of(request, nullptr);
}

FusedAnswer map_with_chosen_fusion(const MapRequest& request) {
  demand_no_choice(request);
  FusedAnswer answer;
  answer.map = answer_of(request, &answer.fused);
  return answer;
}

}  // namespace orrery::verbs
