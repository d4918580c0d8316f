// The rules of a plan, as a table: each rule has a code, a predicate for searches and a message for users.
//
// The rules of the first block guard the arithmetic of the second: if one of them is broken, the second block is not
// evaluated. Cost of `possible`: some twenty integer tests.
//
// Interleaved stages send groups of microbatches through one chunk after the other. Megatron-LM of 2021 and MaxText: as
// many as there are stages. Megatron-Core: any number from there on that leaves none over, or as many as there are
// stages (`microbatch_group_size_per_vp_stage`); the smallest is taken, which holds least. PyTorch: as many equal
// rounds as there are stages in the microbatches, one if there are fewer (`ScheduleInterleaved1F1B`).
#include "orrery/engines/cluster/model/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace orrery::cluster {
namespace {

using base::Count;

struct Question {
  const Model& model;
  const System& system;
  const Plan& plan;

  // As a double: the product of arbitrary degrees can exceed 64 bits.
  double ranks() const { return 1.0 * plan.tp * plan.pp * plan.cp * plan.dp; }
};

struct Rule {
  const char* code;
  bool (*broken)(const Question&);
  void (*say)(const Question&, base::Diagnostics&, const char* code);
};

// The largest divisor of `number` that is at most `limit`, for hints.
Count divisor_below(Count number, Count limit) {
  for (Count d = std::min(number, limit); d > 1; --d) {
    if (number % d == 0) return d;
  }
  return 1;
}

// Layers of the longest stages of the pipeline.
Count longest_stage(const Question& q) {
  return base::ceil_divide(q.model.layers, q.plan.pp);
}

// Larger numbers are mistakes, and their products would not fit 64 bits.
constexpr Count kLargest = Count{1} << 24;

using Named = std::pair<const char*, Count>;

template <class Sizes>
std::string out_of_range(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) {
    if (value < 1 || value > kLargest) text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

template <class Sizes>
bool any_out_of_range(const Sizes& sizes) {
  for (const auto& [name, value] : sizes) {
    if (value < 1 || value > kLargest) return true;
  }
  return false;
}

std::array<Named, 9> degrees(const Plan& p) {
  return {{{"gpus", p.gpus},
           {"global batch", p.global_batch},
           {"microbatch", p.micro_batch},
           {"tp", p.tp},
           {"pp", p.pp},
           {"dp", p.dp},
           {"ep", p.ep},
           {"cp", p.cp},
           {"interleave", p.interleave}}};
}

bool latent_fits(const LayerKind& kind) {
  const auto within = [](Count width, Count least) { return width >= least && width <= kLargest; };
  if (!kind.latent) return true;
  const workload::Latent& l = *kind.latent;
  return within(l.kv_rank, 1) && within(l.q_rank, 0) && within(l.rope_width, 0) && within(l.nope_width, 1) &&
         within(kind.cores[0].value_width, 1);
}

bool heads_fit(const Core& core) {
  return core.kv_heads >= 1 && core.heads % core.kv_heads == 0;
}

bool mixture_fits(const Mixture& e) {
  return e.count == 0 || (e.count >= 1 && e.count <= kLargest && e.top_k >= 1 && e.top_k <= e.count && e.nodes >= 0 &&
                          e.inner >= 1 && e.inner <= kLargest);
}

// The first kind of layer, or the first core, that breaks a rule; null where none does.
template <typename Breaks>
const LayerKind* kind_that(const Question& q, const Breaks& breaks) {
  for (const LayerKind& kind : q.model.kinds)
    if (breaks(kind)) return &kind;
  return nullptr;
}

template <typename Breaks>
const Core* core_that(const Question& q, const Breaks& breaks) {
  for (const LayerKind& kind : q.model.kinds)
    for (const Core& core : kind.cores)
      if (breaks(core)) return &core;
  return nullptr;
}

const Core* core_not_split(const Question& q) {
  return core_that(q, [&](const Core& core) {
    return core.heads % q.plan.tp != 0 || (core.kv_heads % q.plan.tp != 0 && q.plan.tp % core.kv_heads != 0);
  });
}

const LayerKind* width_not_split(const Question& q) {
  return kind_that(q, [&](const LayerKind& kind) {
    return kind.inner % q.plan.tp != 0 || kind.mixture.inner % expert_tp(q.plan) != 0 ||
           kind.scan.heads % q.plan.tp != 0;
  });
}

// Tokens of a stack that the plan's parts do not divide; 0 where there is none.
Count tokens_not_split(const Question& q) {
  const Count parts = q.plan.cp * (q.plan.sequence_parallel ? q.plan.tp : 1);
  const LayerKind* kind = kind_that(q, [&](const LayerKind& k) { return k.seq % parts != 0; });
  return kind != nullptr ? kind->seq : 0;
}

const LayerKind* experts_not_spread(const Question& q) {
  return kind_that(q, [&](const LayerKind& k) { return k.mixture.count > 0 && k.mixture.count % q.plan.ep != 0; });
}

bool experts_not_shared(const Question& q) {
  return q.plan.tp * q.plan.dp * q.plan.cp % (q.plan.ep * expert_tp(q.plan)) != 0;
}

// Tiles of a product are counted in 64 bits, and a tile has at least 2^12 results.
constexpr double kMostInMicrobatch = 0x1p70;

// The most results that one operator of a microbatch has.
double microbatch_size(const Question& q) {
  const double micro = 1.0 * q.plan.micro_batch;
  // The number of visits must fit, too.
  const double visits = micro * q.model.longest * q.model.most_visits;
  return std::max({micro * q.model.most_scores, visits * q.model.widest, visits * 0x1p8});
}

// Accelerators that the networks reach together; infinite where one joins as many as there are.
double joined(const collective::Fabric& fabric) {
  double product = 1;
  for (int level = 0; level < fabric.count; ++level)
    product *= fabric.levels[level].size > 0 ? fabric.levels[level].size : std::numeric_limits<double>::infinity();
  return product;
}

// Turns of interleaved stages, as the plan's software has them.
std::string turns_of(const Plan& p) {
  switch (kin(p.stack.name)) {
    case StackName::kMegatronCore:
      return "Megatron-Core needs at least as many microbatches as stages";
    case StackName::kPytorchFsdp:
      return fmt::format("PyTorch deals microbatches in equal rounds, as many as pp divides whole: {} here",
                         std::max<Count>(1, microbatches(p) / p.pp));
    default:
      break;
  }
  return "its software needs a number of microbatches that pp divides";
}

bool overlap_out_of_range(const Plan& p) {
  for (const double share : {p.overlap.tp, p.overlap.pp, p.overlap.dp, p.overlap.ep, p.overlap.cp}) {
    if (!(share >= 0 && share <= 1)) return true;
  }
  return false;
}

constexpr std::array kSizes = {
    Rule{"O1300", [](const Question& q) { return !q.model.possible_sizes; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found.error(code, fmt::format("the model has impossible sizes: {}", out_of_range(q.model.sizes)));
         }},
    Rule{"O1301", [](const Question& q) { return any_out_of_range(degrees(q.plan)); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found.error(code, fmt::format("the plan has impossible numbers: {}", out_of_range(degrees(q.plan))))
               .note("1 to 16777216 each");
         }},
    Rule{"O1302",
         [](const Question& q) {
           return kind_that(q, [](const LayerKind& k) { return !latent_fits(k); }) != nullptr ||
                  core_that(q, [](const Core& core) { return !heads_fit(core); }) != nullptr;
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           if (const LayerKind* kind = kind_that(q, [](const LayerKind& k) { return !latent_fits(k); })) {
             const workload::Latent& l = *kind->latent;
             found
                 .error(code, fmt::format("latent attention of rank {} has impossible widths: q_rank {}, rope_width "
                                          "{}, nope_width {}, value_width {}",
                                          l.kv_rank, l.q_rank, l.rope_width, l.nope_width, kind->cores[0].value_width))
                 .note("nope_width and value_width must be positive; q_rank and rope_width may be 0");
           }
           if (const Core* core = core_that(q, [](const Core& c) { return !heads_fit(c); }))
             found
                 .error(code, fmt::format("{} query heads of width {} cannot share {} key/value heads", core->heads,
                                          core->width, core->kv_heads))
                 .note("every key/value head must serve the same number of query heads");
         }},
    Rule{"O1303",
         [](const Question& q) {
           return kind_that(q, [](const LayerKind& k) { return !mixture_fits(k.mixture); }) != nullptr;
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Mixture& e = kind_that(q, [](const LayerKind& k) { return !mixture_fits(k.mixture); })->mixture;
           found
               .error(code, fmt::format("a mixture of {} experts of width {}, {} for each token, is impossible",
                                        e.count, e.inner, e.top_k))
               .note("1 <= top_k <= experts is required, and the width must be positive");
         }},
    Rule{"O1304",
         [](const Question& q) {
           const machine::Accelerator& a = q.system.accelerator;
           return !(a.memory_bytes_per_s > 0 && a.memory_efficiency > 0 && a.matrix_efficiency > 0 && a.units >= 1 &&
                    q.system.fabric.count >= 1 && q.system.fabric.count <= collective::kMaxLevels);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const machine::Accelerator& a = q.system.accelerator;
           found
               .error(code, fmt::format("system `{}` lacks figures: memory {} bytes/s at {}, matrix efficiency {}, "
                                        "{} units, {} networks",
                                        q.system.name, a.memory_bytes_per_s, a.memory_efficiency, a.matrix_efficiency,
                                        a.units, q.system.fabric.count))
               .note("all of them must be positive");
         }},
    Rule{"O1319", [](const Question& q) { return microbatch_size(q) > kMostInMicrobatch; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found
               .error(code, fmt::format("a microbatch of {} sequences of {} tokens is too large to count",
                                        q.plan.micro_batch, q.model.seq))
               .note(fmt::format("its largest operator has {:.3g} results; at most {:.3g} are supported",
                                 microbatch_size(q), kMostInMicrobatch));
         }},
};

constexpr std::array kPlan = {
    Rule{"O1305", [](const Question& q) { return q.ranks() != static_cast<double>(q.plan.gpus); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           const double others = q.ranks() / static_cast<double>(p.dp);
           auto& d =
               found.error(code, fmt::format("the degrees multiply to {} accelerators, not {}", q.ranks(), p.gpus))
                   .note(fmt::format("tp {} x pp {} x cp {} x dp {} = {}", p.tp, p.pp, p.cp, p.dp, q.ranks()));
           const double fitting = static_cast<double>(p.gpus) / others;
           if (fitting >= 1 && fitting == std::floor(fitting)) d.hint(fmt::format("use dp = {}", fitting));
         }},
    Rule{"O1306", [](const Question& q) { return q.system.max_gpus > 0 && q.plan.gpus > q.system.max_gpus; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found.error(code, fmt::format("system `{}` has {} accelerators, the plan takes {}", q.system.name,
                                         q.system.max_gpus, q.plan.gpus));
         }},
    Rule{"O1306",
         [](const Question& q) {
           const bool said = q.system.max_gpus > 0 && q.plan.gpus > q.system.max_gpus;
           return !said && static_cast<double>(q.plan.gpus) > joined(q.system.fabric);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const collective::Fabric& fabric = q.system.fabric;
           std::string sizes;
           for (int level = 0; level < fabric.count; ++level)
             sizes += fmt::format("{}{}", level > 0 ? " x " : "", fabric.levels[level].size);
           found
               .error(code, fmt::format("no network of system `{}` joins {} accelerators: its networks join {}",
                                        q.system.name, q.plan.gpus, joined(fabric)))
               .note(fmt::format("sizes of its networks, innermost first: {}", sizes))
               .hint("give it a network around these; one without `size` joins as many as there are");
         }},
    Rule{"O1307",
         [](const Question& q) {
           const Plan& p = q.plan;
           return p.global_batch % p.dp != 0 || p.micro_batch > p.global_batch / p.dp;
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           const Count each = p.dp * p.micro_batch;
           found
               .error(code,
                      p.global_batch % p.dp != 0
                          ? fmt::format("a batch of {} sequences is not the same on every replica", p.global_batch)
                          : fmt::format("a microbatch of {} sequences is larger than the {} that a replica has",
                                        p.micro_batch, p.global_batch / p.dp))
               .note(fmt::format("{} / (dp {} x microbatch {}) = {:.3f}", p.global_batch, p.dp, p.micro_batch,
                                 static_cast<double>(p.global_batch) / each))
               .hint(fmt::format("the next possible batch is {}", base::ceil_divide(p.global_batch, each) * each));
         }},
    Rule{"O1308", [](const Question& q) { return core_not_split(q) != nullptr; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Core& core = *core_not_split(q);
           const Count t = q.plan.tp;
           found
               .error(code, fmt::format("{} heads with {} key/value heads cannot be split over tp {}", core.heads,
                                        core.kv_heads, t))
               .note(fmt::format("{} mod {} = {}, {} mod {} = {}", core.heads, t, core.heads % t, core.kv_heads, t,
                                 core.kv_heads % t))
               .hint(fmt::format("tp {} divides the heads", divisor_below(core.heads, t)));
         }},
    Rule{"O1309", [](const Question& q) { return width_not_split(q) != nullptr; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const LayerKind& kind = *width_not_split(q);
           const Count t = q.plan.tp;
           if (kind.scan.heads % t != 0) {
             found.error(code, fmt::format("{} heads of a recurrence cannot be split over tp {}", kind.scan.heads, t))
                 .note(fmt::format("{} mod {} = {}", kind.scan.heads, t, kind.scan.heads % t))
                 .hint(fmt::format("tp {} divides them", divisor_below(kind.scan.heads, t)));
             return;
           }
           std::string widths = kind.inner > 0 ? std::to_string(kind.inner) : "";
           if (kind.mixture.count > 0) widths += fmt::format("{}{}", widths.empty() ? "" : " and ", kind.mixture.inner);
           found.error(code, fmt::format("feed-forward widths {} cannot be split over tp {}", widths, t));
         }},
    Rule{"O1310",
         [](const Question& q) {
           // The longest stages have equal chunks; Llama 3's first and last have one layer less, so that two of its
           // 128 chunks, of 126 layers, hold the embedding and the head alone. No other chunk is empty.
           const Count wanted = q.plan.pp * chunks(q.plan);
           const Count empty = chunks(q.plan) > 1 ? wanted - q.model.layers : 0;
           return q.plan.pp > q.model.layers || longest_stage(q) < chunks(q.plan) ||
                  empty > (folded(q.plan.schedule) ? 0 : 2) || (q.model.shares_weights && q.plan.pp > 1);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           if (q.model.shares_weights && q.plan.pp > 1) {
             found
                 .error(code, fmt::format("the {} layers share their weights, so they stand on one stage, not on {}",
                                          q.model.layers, q.plan.pp))
                 .hint("use pp = 1");
             return;
           }
           const Count longest = longest_stage(q);
           {
             found
                 .error(code, fmt::format("{} layers do not fill pp {} x {} = {} chunks", q.model.layers, q.plan.pp,
                                          folded(q.plan.schedule) ? std::string("2 of a V")
                                                                  : fmt::format("interleave {}", q.plan.interleave),
                                          q.plan.pp * chunks(q.plan)))
                 .note(fmt::format("the longest stage has {} layers", longest));
             return;
           }
         }},
    Rule{"O1311",
         [](const Question& q) {
           const Plan& p = q.plan;
           return p.interleave > 1 && (p.pp == 1 || p.schedule != Schedule::kOneFOneB || microbatch_group(p) == 0);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           found
               .error(code,
                      p.pp > 1 && p.schedule == Schedule::kOneFOneB
                          ? fmt::format("interleave {} does not go with {} microbatches over pp {}", p.interleave,
                                        microbatches(p), p.pp)
                          : fmt::format("interleave {} needs the 1F1B schedule and more than one stage", p.interleave))
               .note(turns_of(p))
               .note(fmt::format("pp {}, {} microbatches: {} / ({} x {}), {} mod {} = {}", p.pp, microbatches(p),
                                 p.global_batch, p.dp, p.micro_batch, microbatches(p), p.pp, microbatches(p) % p.pp));
         }},
    Rule{"O1312",
         [](const Question& q) {
           return q.plan.schedule == Schedule::kZeroBubble && q.plan.pp > 1 && microbatches(q.plan) < q.plan.pp;
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found.error(code, fmt::format("the zero-bubble schedule needs as many microbatches as stages: {} for pp {}",
                                         microbatches(q.plan), q.plan.pp));
         }},
    Rule{"O1981",
         [](const Question& q) {
           const Plan& p = q.plan;
           return p.schedule == Schedule::kDualPipe &&
                  (p.pp % 2 != 0 || p.pp > q.model.layers || microbatches(p) % 2 != 0 || microbatches(p) < 2 * p.pp);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           const Count least = std::max(2 * p.pp, microbatches(p) + microbatches(p) % 2);
           auto& d = found.error(
               code, p.pp % 2 != 0
                         ? fmt::format("DualPipe folds its stages in pairs, and pp is {}", p.pp)
                         : fmt::format("DualPipe does not go with {} microbatches over pp {}", microbatches(p), p.pp));
           d.note("half of the microbatches enters at either end: an even number, and at least two for each stage");
           if (p.pp % 2 == 0)
             d.hint(fmt::format("the next possible batch is {}", least * p.dp * p.micro_batch));
           else
             d.hint("take an even pp, or another schedule");
         }},
    Rule{"O1313", [](const Question& q) { return tokens_not_split(q) != 0; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Count t = q.plan.sequence_parallel ? q.plan.tp : 1;
           const Count seq = tokens_not_split(q);
           found.error(code, fmt::format("a sequence of {} tokens cannot be split in {} parts", seq, q.plan.cp * t))
               .note(fmt::format("cp {} x tp {} (with sequence parallelism), {} mod {} = {}", q.plan.cp, t, seq,
                                 q.plan.cp * t, seq % (q.plan.cp * t)));
         }},
    Rule{"O1314",
         [](const Question& q) {
           return q.plan.ep > 1 && (!q.model.mixes() || experts_not_spread(q) != nullptr || experts_not_shared(q));
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           if (!q.model.mixes()) {
             found.error(code, fmt::format("the model is dense: it has no experts to spread over ep {}", p.ep))
                 .hint("leave ep out");
             return;
           }
           const Count ranks = p.tp * p.dp * p.cp;
           const LayerKind* kind = experts_not_spread(q);
           found
               .error(code, fmt::format("{} experts cannot be spread over ep {} of {} ranks",
                                        kind != nullptr ? kind->mixture.count : q.model.experts(), q.plan.ep, ranks))
               .note(fmt::format("ep divides the experts and tp {} x dp {} x cp {} = {}, over the {} tensor ranks that "
                                 "share an expert",
                                 p.tp, p.dp, p.cp, ranks, expert_tp(p)));
         }},
    Rule{"O1913",
         [](const Question& q) {
           const Plan& p = q.plan;
           return p.shard > 0 && (p.zero == 0 || p.dp * p.cp % p.shard != 0);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           found
               .error(code, p.zero == 0
                                ? fmt::format("shards over {} ranks, but nothing is sharded", p.shard)
                                : fmt::format("{} replicas are not groups of {} that shard", p.dp * p.cp, p.shard))
               .note(fmt::format("dp {} x cp {} = {}, ZeRO {}", p.dp, p.cp, p.dp * p.cp, p.zero))
               .hint(p.zero == 0 ? "give `--zero 1`, 2 or 3 as well"
                                 : fmt::format("{} divides them", divisor_below(p.dp * p.cp, p.shard)));
         }},
    Rule{"O1914",
         [](const Question& q) {
           const Plan& p = q.plan;
           return (p.offload_activations > 0 || p.offload_optimizer > 0) &&
                  !(q.system.accelerator.host_bytes_per_s > 0);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found
               .error(code,
                      fmt::format("the plan offloads to a second tier of memory, and `{}` has none", q.system.name))
               .note("`accelerator.host_bandwidth` is not stated: the link to the host's memory")
               .hint("state it, as `--set system.accelerator.host_bandwidth=64GB/s`, or keep all on the accelerator");
         }},
    Rule{"O1917",
         [](const Question& q) {
           const double bits = q.plan.frozen_bits;
           return bits != 0 && ((bits != 4 && bits != 8 && bits != 16) || q.plan.lora_rank == 0);
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           if (p.lora_rank == 0)
             found.error(code, fmt::format("frozen weights have {} bits, and none is frozen", p.frozen_bits))
                 .hint("give adapters as well: `--set plan.lora_rank=16`");
           else
             found.error(code, fmt::format("frozen weights of {} bits are not known", p.frozen_bits))
                 .hint("4 (NF4 with quantised scales, as QLoRA has them), 8 and 16 are");
         }},
    Rule{"O1983",
         [](const Question& q) { return q.plan.step_in_backward && (q.plan.pp > 1 || microbatches(q.plan) > 1); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Plan& p = q.plan;
           found
               .error(code, fmt::format("the optimiser steps inside the backward pass of one microbatch; there are {}, "
                                        "over {} stages",
                                        microbatches(p), p.pp))
               .note(fmt::format("{} / (dp {} x microbatch {}) = {}", p.global_batch, p.dp, p.micro_batch,
                                 microbatches(p)))
               .hint("one microbatch has nothing to add up: give a larger one, or leave out `plan.step_in_backward`");
         }},
    Rule{"O1984", [](const Question& q) { return q.plan.capacity_factor > 0 && !q.model.mixes(); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found
               .error(code, fmt::format("experts have a capacity of {} times their mean, and the model is dense",
                                        q.plan.capacity_factor))
               .hint("leave `plan.capacity_factor` out");
         }},
    Rule{"O1985", [](const Question& q) { return q.plan.recompute_layers > 0 && q.plan.recompute == Recompute::kNone; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found
               .error(code, fmt::format("{} layers of a stage are to be computed again, and nothing is",
                                        q.plan.recompute_layers))
               .hint("give `--recompute full` or `selective` as well");
         }},
    Rule{"O1915", [](const Question& q) { return q.plan.expert_tp > 1 && q.plan.expert_tp != q.plan.tp; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found
               .error(code, fmt::format("experts are cut over {} tensor ranks, of which there are {}", q.plan.expert_tp,
                                        q.plan.tp))
               .hint("expert_tp is 1, or tp");
         }},
    Rule{"O1315", [](const Question& q) { return q.plan.zero < 0 || q.plan.zero > 3; },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           found.error(code, fmt::format("ZeRO stage {} does not exist; the stages are 0 to 3", q.plan.zero));
         }},
    Rule{"O1316", [](const Question& q) { return !(q.system.accelerator.peak(q.plan.precision) > 0); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           std::string has;
           for (int p = 0; p < machine::kPrecisions; ++p) {
             const auto precision = static_cast<machine::Precision>(p);
             if (precision == machine::Precision::kInt8) continue;  // no plan asks for it
             if (q.system.accelerator.peak(precision) > 0) {
               has += fmt::format("{}{}", has.empty() ? "" : ", ", machine::name(precision));
             }
           }
           found
               .error(code, fmt::format("`{}` does not compute in {}", q.system.accelerator.name,
                                        machine::name(q.plan.precision)))
               .note(fmt::format("supported: {}", has.empty() ? "nothing" : has));
         }},
    Rule{"O1317", [](const Question& q) { return overlap_out_of_range(q.plan); },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           const Overlap& o = q.plan.overlap;
           found.error(code, "a share of overlap is not between 0 and 1")
               .note(fmt::format("tp {}, pp {}, dp {}, ep {}, cp {}", o.tp, o.pp, o.dp, o.ep, o.cp));
         }},
    Rule{"O1318",
         [](const Question& q) {
           // Every network that may connect two ranks must have a positive rate.
           for (int level = 0; level < q.system.fabric.count; ++level) {
             if (!(q.system.fabric.levels[level].rate() > 0)) return q.plan.gpus > 1;
           }
           return false;
         },
         [](const Question& q, base::Diagnostics& found, const char* code) {
           for (int level = 0; level < q.system.fabric.count; ++level) {
             const double rate = q.system.fabric.levels[level].rate();
             if (rate > 0) continue;
             found.error(code, fmt::format("network {} of system `{}` carries {} bytes/s", level, q.system.name, rate));
           }
         }},
};

bool any_broken(const auto& rules, const Question& question) {
  for (const Rule& rule : rules) {
    if (rule.broken(question)) return true;
  }
  return false;
}

}  // namespace

void check(const Model& model, const System& system, const Plan& plan, base::Diagnostics& found) {
  const Question question{model, system, plan};
  const auto say_all = [&](const auto& rules) {
    for (const Rule& rule : rules) {
      if (rule.broken(question)) rule.say(question, found, rule.code);
    }
  };
  say_all(kSizes);
  if (!any_broken(kSizes, question)) say_all(kPlan);
}

void check_spread(const System& system, const Plan& plan, base::Diagnostics& found) {
  constexpr std::array<std::string_view, 5> kAsked = {"O1301", "O1305", "O1306", "O1307", "O1316"};
  const Model none;  // which these rules do not look at
  const Question question{none, system, plan};
  const auto say_asked = [&](const auto& rules) {
    for (const Rule& rule : rules)
      if (std::find(kAsked.begin(), kAsked.end(), rule.code) != kAsked.end() && rule.broken(question))
        rule.say(question, found, rule.code);
  };
  say_asked(kSizes);
  if (!found.has_errors()) say_asked(kPlan);
}

Count microbatch_group(const Plan& plan) {
  const Count m = microbatches(plan), p = plan.pp;
  if (kin(plan.stack.name) == StackName::kPytorchFsdp) {
    const Count rounds = std::max<Count>(1, m / p);
    return m % rounds == 0 ? m / rounds : 0;
  }
  if (kin(plan.stack.name) != StackName::kMegatronCore) return m % p == 0 ? p : 0;
  for (Count group = p; group <= m; ++group)
    if (const Count last = m % group; last == 0 || last >= p) return group;
  return 0;
}

bool possible(const Model& model, const System& system, const Plan& plan) {
  const Question question{model, system, plan};
  return !any_broken(kSizes, question) && !any_broken(kPlan, question);
}

}  // namespace orrery::cluster
