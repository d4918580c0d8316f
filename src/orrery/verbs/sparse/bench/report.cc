#include "orrery/verbs/sparse/bench/report.h"

#include "orrery/base/text/text.h"

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

const char* dtype(const SparseBench& answer) {
  return answer.type == kernels::Type::kBf16 ? "bf16" : "fp32";
}

}  // namespace

Document<SparseBench> sparse_bench_document() {
  const Record<BenchedBlock> block = {
      {"model", "Model whose attention block was run.", &BenchedBlock::model},
      {"batch", "Sequences of a batch.", &BenchedBlock::batch},
      {"tokens", "Tokens of each sequence.", &BenchedBlock::tokens},
      {"width", "Features of a token.", &BenchedBlock::width},
      {"heads", "Attention heads.", &BenchedBlock::heads},
      {"groups_ms", "Milliseconds a run: the mean of ten runs, for each group of ten.", &BenchedBlock::groups},
      {"mean_ms", "Mean of the groups, in milliseconds.", &BenchedBlock::mean},
      {"std_ms", "Standard deviation of the groups, in milliseconds.", &BenchedBlock::deviation}};
  const Record<PublishedFigure> figure = {
      {"what", "The machines that were compared.", &PublishedFigure::what},
      {"value", "How many times faster one of them was, as published.", &PublishedFigure::value},
      {"source", "Publication that the figure is from.", &PublishedFigure::source}};
  const Record<SparseBench> result = {
      {"blocks", "Attention blocks, measured on this machine.", &SparseBench::blocks, block},
      {"dtype", "Number format of activations: fp32 or bf16.", [](const SparseBench& s) { return dtype(s); }},
      {"isa", "Instruction set that the kernels used.", &SparseBench::isa},
      {"threads", "Threads that computed.", &SparseBench::threads},
      {"complete", "False: a limit or an interrupt ended it early.",
       [](const SparseBench& s) { return !s.ended_early; }},
      {"published", "Published figures of other machines; nothing of them is measured here.", &SparseBench::published,
       figure}};
  return {"sparse_bench", "Times of dense attention blocks, measured on this machine.", result};
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
