#include "orrery/verbs/map/layers/layer_tasks.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/inputs/catalogue/precisions.h"
#include "orrery/inputs/file_kinds.h"
#include "orrery/inputs/graphs/onnx_model.h"
#include "orrery/inputs/layers/changed_tables.h"
#include "orrery/verbs/map/layers/layer_selection.h"
#include "orrery/verbs/map/layers/model_layers.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;

void layers_of_files(const MapRequest& request, const Chips& chips, const std::vector<File>& files, bool normalisation,
                     GatheredLayers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  const std::vector<File> shared = joined(for_role(chips, workload::OperatorRole::kMatmul), split.shared);
  std::vector<File> layers = split.layers;
  if (layers.empty()) layers.push_back(nullptr);  // the reader says that a problem is missing
  base::Diagnostics found;
  for (const File& file : layers) {
    std::vector<File> all = shared;
    if (file) all.push_back(file);
    try {
      const Documents& documents = out.documents.emplace_back(
          Documents::gather(all, search_options(request, out, normalisation), parsed(chips)));
      LayerTask task;
      task.documents = &documents;
      out.tasks.push_back(std::move(task));
      out.stems.push_back(file ? stem(file->name) : "");
      out.normalisation.push_back(normalisation);
    } catch (const base::InputError& error) {
      found.append(error.diagnostics);
    }
  }
  found.throw_if_errors();
}

void layers_of_gemms(const MapRequest& request, const Chips& chips, const std::vector<File>& files,
                     GatheredLayers& out) {
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
                    const std::vector<File>& files, GatheredLayers& out) {
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
                          chips.empty() ? "the given chip" : names_of(chips), products, products == 1 ? "" : "s",
                          operators.layers.size(), operators.layers.size() == 1 ? "" : "s");
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
  if (request.model.empty() && (sized || request.logits || request.mtp || !request.phase.empty()))
    base::fail("O1103", "--seq, --batch, --phase, --logits and --mtp are of a model, but no --model is given", {},
               "name a model; a problem's bounds are set with --set");
  demand_attention(request);
}

}  // namespace

formats::timeloop::ReadOptions search_options(const MapRequest& request, const GatheredLayers& layers,
                                              bool normalisation) {
  formats::timeloop::ReadOptions how = reading(request);
  how.mapping_wanted = false;
  how.remainders = request.search.factors == nest::Factors::kImperfect;
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

void gather_layers(const MapRequest& request, GatheredLayers& layers) {
  demand_question(request);
  const bool some = layers.how != nullptr && layers.how->as_scripts;
  if (!request.fuse.level.empty() && !request.model.empty() && request.layer.empty() && !some)
    base::fail("O1103", "--fuse-at is of one layer of a model, but none is named", {},
               "name the product or the normalisation: `--layer Out`");
  if (request.fuse.level.empty() && (request.fuse.reduction_free || request.fuse.whole || request.fuse.product_writes))
    base::fail("O1103", "nothing says at which storage to fuse", {}, "name it: `--fuse-at LEVEL`");
  const MapRunNamed named = sorted_out(request);
  const std::vector<File> files = read_files(named.documents);
  if (named.onnx.empty()) demand_templates(request, files);
  const std::shared_ptr<const Chips> given = layers.how == nullptr ? nullptr : layers.how->chips;
  const Chips read = given ? Chips() : load_chips(request.chips, !request.model.empty());
  const Chips& chips = given ? *given : read;
  if (!named.onnx.empty()) {
    layers_of_onnx(request, named.onnx[0], chips, files, layers);
  } else if (!request.gemms.empty()) {
    layers_of_gemms(request, chips, files, layers);
  } else if (request.model.empty()) {
    layers_of_files(request, chips, files, false, layers);
    if (!request.normalisations.empty())
      layers_of_files(request, chips, read_files(request.normalisations), true, layers);
  } else {
    layers_of_model(request, chips, files, layers);
  }
  for (const ChipFile& chip : chips) layers.warnings.append(chip.diagnostics);
  keep_layer(request.layer, layers);
  if (layers.how == nullptr && !request.overrides.empty()) {
    Estimators estimators(request.estimators);
    formats::timeloop::ReadOptions how = reading(request);
    how.overrides = without_precision(how.overrides);
    if (!how.overrides.empty())
      warn_of_changed_tables(
          joined(for_role(chips, workload::OperatorRole::kMatmul), split_by_problem(files, request.templates).shared),
          how, estimators, layers.warnings);
  }
  if (layers.how != nullptr) keep_layers(layers.how->only, layers);
  if (request.counts_heads || some) count_heads(layers);
}

// Chips whose constraints name the dimensions of a matrix product do not know those of a convolution.
ReadLayers read_all(const GatheredLayers& layers, const MapRequest& request, Estimators& estimators) {
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

std::vector<base::Input> inputs_of(const GatheredLayers& layers, std::vector<base::Input> read) {
  if (layers.model) read.push_back(base::file_input(*layers.model));
  for (const std::vector<base::Input>* more : {&layers.ignored, &layers.array, &layers.onnx})
    read.insert(read.end(), more->begin(), more->end());
  std::sort(read.begin(), read.end());
  return read;
}

}  // namespace orrery::verbs
