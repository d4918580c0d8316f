#include "orrery/verbs/accelerator/bench/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::verbs {
namespace {

const char* dtype(const SparseBench& answer) {
  return answer.type == kernels::Type::kBf16 ? "bf16" : "fp32";
}

}  // namespace

Document<SparseBench> sparse_bench_document() {
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
  return {"sparse_bench", "Of the block.", result};
}

std::string sparse_bench_text(const SparseBench& answer) {
  std::string out;
  for (const BenchedBlock& block : answer.blocks)
    out += fmt::format("Benchmark result ({}, CPU, {}, {})\n[{:.4f}]\nmean: {:.4f}, std: {:.4f}\n", block.model,
                       dtype(answer), block.tokens, fmt::join(block.groups, ", "), block.mean, block.deviation);
  out += fmt::format("\nms, measured: {}, {} thread{}\n", answer.isa, answer.threads, answer.threads == 1 ? "" : "s");
  for (const PublishedFigure& figure : answer.published)
    out += fmt::format("published: {}: {:g} times faster ({})\n", figure.what, figure.value, figure.source);
  return out;
}

}  // namespace orrery::verbs
