#include "orrery/verbs/map/layers/model_layers.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/inputs/catalogue/model_facts.h"
#include "orrery/verbs/map/layers/model_memory.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;

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
  if (request.sequence && request.cached && *request.sequence != *request.cached)
    base::fail(
        "O1103",
        fmt::format("--seq {} and --cache {} with --phase {}", *request.sequence, *request.cached, request.phase), {},
        "`--cache` says how many tokens the cache holds, and `--seq` means the same there: give one");
  if (request.drafted && request.phase == "decode")
    base::fail("O1103", "--draft with --phase decode", {}, "drafted tokens are verified: `--phase verify`");
  phase.tokens = request.phase == "verify" ? request.drafted.value_or(kDrafted) : 1;
  if (phase.tokens > kMostDrafted)
    base::fail("O0913", fmt::format("a draft has at most {} tokens, but this has {}", kMostDrafted, phase.tokens));
  const base::Count cache =
      request.cached.value_or(request.sequence.value_or(std::max(workload::default_sequence(model), phase.tokens + 1)));
  if (cache <= phase.tokens)
    base::fail("O0913", fmt::format("a cache of {} tokens holds none besides the {} that are new", cache, phase.tokens),
               {}, fmt::format("`--cache` counts the new ones, too: at least {}", phase.tokens + 1));
  phase.cached = cache - phase.tokens;
  title = fmt::format("{} {} token{}, {} in the cache, batch {}", request.phase == "verify" ? "verifying" : "decoding",
                      phase.tokens, phase.tokens == 1 ? "" : "s", cache, phase.batch);
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
                               model.predicted_ahead == 1 ? "" : "s"),
                   {},
                   {}});
  return out;
}

// What the seed's names of layers mean, of those that the model has.
std::vector<std::string> legend(const workload::Transformer& model, const workload::Phase& phase,
                                const std::vector<workload::Operator>& operators) {
  bool gated = false;
  base::Count sharing = 1;
  for (const workload::Stack& stack : model.stacks)
    for (const workload::Block& block : stack.kinds) {
      if (const auto* f = std::get_if<workload::FeedForward>(&block.feed_forward)) gated = gated || f->gated;
      if (const auto* e = std::get_if<workload::Experts>(&block.feed_forward)) gated = gated || e->expert.gated;
      if (const auto* a = std::get_if<workload::Attention>(&block.mixer); a != nullptr && a->kv_heads > 0)
        sharing = std::max(sharing, a->latent && phase.cached > 0 ? a->heads : a->heads / a->kv_heads);
    }
  if (phase.heads_apart && phase.cached == 0) sharing = 1;
  const std::string heads = sharing == 1 ? "a head" : fmt::format("the {} heads that share keys", sharing);
  const std::pair<const char*, std::string> meanings[] = {{"KQV", "queries, keys and values"},
                                                          {"KTQ", "scores of " + heads},
                                                          {"VScores", "their weighted values"},
                                                          {"Out", "output of attention"},
                                                          {"FF1", gated ? "gate and up projections" : "up projection"},
                                                          {"FF2", "down projection"}};
  std::vector<std::string> out;
  for (const auto& [name, meaning] : meanings)
    if (std::any_of(operators.begin(), operators.end(), [&, known = name](const auto& op) { return op.name == known; }))
      out.push_back(fmt::format("{}: {}", name, meaning));
  return out;
}

}  // namespace

void layers_of_model(const MapRequest& request, const Chips& chips, const std::vector<File>& files,
                     GatheredLayers& out) {
  const SplitFiles split = split_by_problem(files, request.templates);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both --model and a `problem` in `{}`", split.layers[0]->name), {},
               "name a model, or give problems, not both");
  const ModelFile model =
      load_model(catalogue_directory(), request.model,
                 {request.ignored, formats::huggingface::Outside::kPassed, request.like, request.mtp});
  std::string phase;
  workload::Phase asked = phase_of(request, model.transformer, phase);
  // Timeloop-Experiments has each head by itself; the array's rows are of one head each.
  const std::vector<std::string>& as = request.compat.names;
  asked.heads_apart = std::find(as.begin(), as.end(), "timeloop") != as.end() || !request.attention_array.empty();
  const workload::ModelOperators block = workload::model_operators(model.transformer, asked, request.logits);
  if (!block.left_out.empty())
    out.warnings
        .warning("O0924",
                 fmt::format("some of `{}` is not mapped: {}", model.entry.name, base::joined(block.left_out, "; ")),
                 {model.file, 0, 0, 1})
        .note("no product of matrices expresses them; the figures are those of the rest");

  std::map<std::vector<const base::SourceFile*>, const Documents*> gathered;
  const std::vector<File> others = read_files(request.normalisations);
  std::vector<workload::Operator> operators = block.operators;
  if (!request.attention_array.empty()) {
    const File document = base::read_file(request.attention_array);
    out.attention.array = read_attention_array(document);
    out.attention.rows = take_attention(model.entry.name, out.attention.array, operators);
    out.array.push_back(base::file_input(*document));
  }
  for (const workload::Operator& op : operators) {
    const bool elsewhere = !others.empty() && op.role != workload::OperatorRole::kMatmul;
    const std::vector<File> all = joined(for_role(chips, op.role), elsewhere ? others : files);
    std::vector<const base::SourceFile*> key;
    for (const File& file : all) key.push_back(file.get());
    const bool other = elsewhere || std::any_of(chips.begin(), chips.end(), [&](const ChipFile& chip) {
                         return chip.for_role(op.role).file != chip.file;
                       });
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
  const base::Count ahead = model.transformer.counted_ahead;
  out.title = fmt::format(
      "{} on {}: {} block{}{}{}, {}", model.entry.name, where, layers, layers == 1 ? "" : "s",
      ahead > 0 ? fmt::format(", those of {} that predict{} ahead among them", ahead, base::plural(ahead, "s", ""))
                : "",
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
                        left_out(model.transformer, block),
                        legend(model.transformer, asked, operators)};
  try {
    out.work->memory = model_memory(model.transformer, asked, block.operators);
  } catch (const base::OverflowError&) {
    base::fail("O0914", fmt::format("weights and caches of `{}` cannot be counted in 64 bits", model.entry.name),
               {model.file, 0, 0, 1});
  }
}

}  // namespace orrery::verbs
