#include "orrery/verbs/accelerator/bench/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/text.h"
#include "orrery/present/answer.h"
#include "orrery/present/schemas.h"

namespace orrery::verbs {
namespace {

const char* dtype(const SparseBench& answer) {
  return answer.type == kernels::Type::kBf16 ? "bf16" : "fp32";
}

Record<SparseBenchDocument> answer_record() {
  using D = SparseBenchDocument;
  const Record<BenchedBlock> block = {{"model", "Whose block.", &BenchedBlock::model},
                                      {"batch", "Sequences.", &BenchedBlock::batch},
                                      {"tokens", "Of each.", &BenchedBlock::tokens},
                                      {"width", "Features.", &BenchedBlock::width},
                                      {"heads", "Of attention.", &BenchedBlock::heads},
                                      {"groups_ms", "Means of ten runs each.", &BenchedBlock::groups},
                                      {"mean_ms", "Of the groups.", &BenchedBlock::mean},
                                      {"std_ms", "Of the groups.", &BenchedBlock::deviation}};
  const Record<PublishedFigure> figure = {{"what", "Of which machines.", &PublishedFigure::what},
                                          {"value", "As published.", &PublishedFigure::value},
                                          {"source", "Where.", &PublishedFigure::source}};
  const Record<SparseBench> result = {
      {"blocks", "Measured here.", &SparseBench::blocks, block},
      {"dtype", "Of activations.", [](const SparseBench& s) { return dtype(s); }},
      {"isa", "Instruction set.", &SparseBench::isa},
      {"threads", "That ran.", &SparseBench::threads},
      {"complete", "False: a limit or an interrupt ended it early.",
       [](const SparseBench& s) { return !s.ended_early; }},
      {"published", "Of other machines; nothing of it is measured here.", &SparseBench::published, figure}};
  const auto envelope = [](const D& d) { return Envelope{d.version, {}, nullptr, nullptr, d.seconds}; };
  return document<D>("sparse_bench", kTiming, envelope,
                     {{"result", "Of the block.", [](const D& d) -> const SparseBench& { return *d.answer; }, result}});
}

}  // namespace

std::string sparse_bench_json(const SparseBenchDocument& document) {
  return text(answer_record().json(document));
}

Json sparse_bench_schema() {
  return answer_record().schema();
}

std::string sparse_bench_text(const SparseBench& answer) {
  std::string out;
  for (const BenchedBlock& block : answer.blocks)
    out += fmt::format("Benchmark result ({}, CPU, {}, {})\n[{:.4f}]\nmean: {:.4f}, std: {:.4f}\n", block.model,
                       dtype(answer), block.tokens, fmt::join(block.groups, ", "), block.mean, block.deviation);
  out += fmt::format("\nms, measured: {}, {} thread{}\n", answer.isa, answer.threads, base::plural(answer.threads));
  for (const PublishedFigure& figure : answer.published)
    out += fmt::format("published: {}: {:g} times faster ({})\n", figure.what, figure.value, figure.source);
  return out;
}

}  // namespace orrery::verbs
