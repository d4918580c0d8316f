#include "orrery/verbs/train/table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/present/bar.h"
#include "orrery/present/fused_attention_record.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/train/plan_search_text.h"
#include "orrery/verbs/train/run_operators_text.h"

namespace orrery::verbs {
namespace {

std::string gb(double bytes) {
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

// "175 B", "1.31 B", "355 M".
std::string count(double value) {
  static constexpr const char* kUnits[] = {"", " k", " M", " B", " T"};
  int unit = 0;
  for (; value >= 999.5 && unit < 4; ++unit) value /= 1000;
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

// "1.31 M" of 1310 kWh, for a unit of watt-hours.
std::string watt_hours(double kilowatt_hours) {
  static constexpr const char* kUnits[] = {" k", " M", " G", " T"};
  int unit = 0;
  for (; kilowatt_hours >= 999.5 && unit < 3; ++unit) kilowatt_hours /= 1000;
  return fmt::format("{:.{}f}{}", kilowatt_hours, kilowatt_hours < 10 ? 2 : kilowatt_hours < 100 ? 1 : 0, kUnits[unit]);
}

std::string title(const TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  std::string size = count(trained.parameters) + " parameters";
  if (trained.active_parameters < trained.parameters)
    size += fmt::format(", {} active", count(trained.active_parameters));
  return fmt::format(
      "{} ({}) on {} x {}: batch {}, sequence {}\n", trained.model.name, size, plan.gpus,
      trained.chip.empty() ? trained.system.name : fmt::format("{} in {}", trained.chip, trained.system.name),
      plan.global_batch, trained.model.seq);
}

base::Count degree_of(const cluster::Plan& plan, const std::string& name) {
  if (name == "gpus") return plan.gpus;
  if (name == "tp") return plan.tp;
  if (name == "pp") return plan.pp;
  if (name == "dp") return plan.dp;
  if (name == "ep") return plan.ep;
  return name == "cp" ? plan.cp : plan.interleave;
}

// What counts where nothing is said, and what else could be said.
std::string assumed(const TrainedModel& trained) {
  std::vector<std::string> all;
  for (const std::string& name : trained.assumed) {
    if (name == "micro_batch") {
      all.push_back(fmt::format("microbatch {}", trained.plan.micro_batch));
      continue;
    }
    const bool flash = trained.model.attention == cluster::Attention::kFlash;
    const std::string usual =
        flash && trained.description.sizes.learned_positions
            ? fmt::format("as {} has it", cluster::name_of(trained.plan.stack.name, cluster::stacks()))
            : fmt::format("usual {} learned positions", flash ? "without" : "with");
    all.push_back(fmt::format("attention {} ({}; else `--attention {}`)", flash ? "flash" : "materialised", usual,
                              flash ? "materialised" : "flash"));
  }
  return all.empty() ? "" : fmt::format("not given, the default: {}\n", base::joined(all, ", "));
}

// A larger microbatch gives the host's operators more to do; where there are several to join.
std::string host_hint(const TrainedModel& trained) {
  constexpr double kWorthSaying = 0.05;
  if (trained.host_share < kWorthSaying) return "";
  std::string out = fmt::format("host: {:.0f} % of it, since operators are too short for the time to issue them",
                                100 * trained.host_share);
  if (trained.plan.micro_batch == 1 && cluster::microbatches(trained.plan) % 2 == 0)
    out += "; try `--micro-batch 2`, or more";
  return out + "\n";
}

// "software: pytorch-fsdp (the system's): flash2, dp overlaps".
std::string software(const TrainedModel& trained) {
  const cluster::Stack& stack = trained.plan.stack;
  const cluster::Overlap& overlap = trained.plan.overlap;
  std::string out = fmt::format("software: {}{}", cluster::name_of(stack.name, cluster::stacks()),
                                trained.stack_given ? "" : " (not given, the default)");
  if (trained.model.attention == cluster::Attention::kFlash)
    out += fmt::format(", attention by {}", cluster::name_of(stack.kernel, cluster::attention_kernels()));
  std::string beside;
  for (const auto& [name, share] :
       {std::pair{"dp", overlap.dp}, std::pair{"tp", overlap.tp}, std::pair{"pp", overlap.pp},
        std::pair{"ep", overlap.ep}, std::pair{"cp", overlap.cp}})
    if (share > 0) beside += fmt::format("{}{}", beside.empty() ? "" : ", ", name);
  return out + fmt::format("; communication beside work: {}\n", beside.empty() ? "none" : beside);
}

std::string degrees(const TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  std::string out = fmt::format("tp {}, pp {}, dp {}", plan.tp, plan.pp, plan.dp);
  if (plan.cp > 1) out += fmt::format(", cp {}", plan.cp);
  if (trained.model.mixes()) out += fmt::format(", ep {}", plan.ep);
  out += fmt::format("; microbatch {}, {} of them", plan.micro_batch, cluster::microbatches(plan));
  if (plan.pp > 1) out += fmt::format(", {}", cluster::name_of(cluster::schedule_of(plan), cluster::schedules()));
  if (plan.interleave > 1) out += fmt::format(" {}", plan.interleave);
  out += fmt::format("; {}", cluster::name_of(plan.precision, cluster::precisions()));
  out += recomputation(plan);
  if (plan.sequence_parallel) out += ", sequence parallelism";
  if (plan.zero > 0) out += fmt::format(", ZeRO {}", plan.zero);
  out += further_choices(trained.model, plan);
  out += "\n" + software(trained);
  if (trained.search) {
    if (!trained.defaulted.empty())
      out += fmt::format("not given, searched: {}\n", base::joined(trained.defaulted, ", "));
    return out + assumed(trained);
  }
  if (trained.defaulted.empty()) return out + assumed(trained);
  const char* how = trained.choices <= 1     ? "not given, set by the others"
                    : trained.iteration.fits ? "not given, the smallest that fit"
                                             : "not given, what lacks the least memory";
  std::vector<std::string> chosen;
  for (const std::string& degree : trained.defaulted)
    chosen.push_back(
        fmt::format("{} {}{}", degree, degree_of(plan, degree),
                    degree == "interleave" && trained.operators == "roofline" ? " (the fastest that fits)" : ""));
  out += fmt::format("{}: {}\n", how, base::joined(chosen, ", "));
  return out + assumed(trained);
}

std::string time_chart(const cluster::Iteration& iteration) {
  const cluster::Breakdown& b = iteration.breakdown;
  std::vector<ChartRow> rows = {{"forward", b.forward, ""},       {"backward", b.backward, ""},
                                {"recompute", b.recompute, ""},   {"optimizer", b.optimizer, ""},
                                {"tp exposed", b.tp_exposed, ""}, {"pp exposed", b.pp_exposed, ""},
                                {"dp exposed", b.dp_exposed, ""}, {"ep exposed", b.ep_exposed, ""},
                                {"cp exposed", b.cp_exposed, ""}, {"bubble", b.bubble, ""}};
  for (ChartRow& row : rows) row.shown = shown_seconds(row.size);
  std::string out = "time of an iteration\n";
  out += bar_chart(rows, iteration.iteration_s, shown_seconds(iteration.iteration_s));
  const cluster::HiddenCommunication& hidden = iteration.hidden;
  std::string beside;
  for (const auto& [name, seconds] :
       {std::pair{"tp", hidden.tp}, std::pair{"pp", hidden.pp}, std::pair{"dp", hidden.dp}, std::pair{"ep", hidden.ep},
        std::pair{"cp", hidden.cp}})
    if (seconds > 0) beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", name, shown_seconds(seconds));
  if (!beside.empty()) out += fmt::format("hidden behind work: {}\n", beside);
  return out;
}

std::string memory_chart(const cluster::Iteration& iteration) {
  const cluster::Memory& m = iteration.memory;
  std::string out = "memory of the fullest accelerator\n";
  out += bar_chart({{"weights", m.weights, gb(m.weights)},
                    {"gradients", m.gradients, gb(m.gradients)},
                    {"optimizer", m.optimizer, gb(m.optimizer)},
                    {"activations", m.activations, gb(m.activations)},
                    {"buffers", m.buffers, gb(m.buffers)},
                    {"reserve", m.reserve, gb(m.reserve)}},
                   m.total(),
                   iteration.fits        ? fmt::format("{} of {}", gb(m.total()), gb(iteration.capacity_bytes))
                   : iteration.uncertain ? fmt::format("{} of {}", gb(m.total()), gb(iteration.capacity_bytes))
                                         : fmt::format("{} of {}: {} too much", gb(m.total()),
                                                       gb(iteration.capacity_bytes), gb(iteration.excess_bytes)));
  if (iteration.uncertain)
    out += fmt::format("whether it fits is uncertain: {} in use, +-{:.0f} %, of {}\n", gb(m.in_use()),
                       100 * iteration.memory_error, gb(iteration.capacity_bytes));
  return out;
}

// What lies in the hosts' memories.
std::string offloaded(const cluster::Model& model, const cluster::Plan& plan, const cluster::System& system) {
  const double away = cluster::host_bytes(model, plan);
  if (away <= 0) return "";
  const double room = system.accelerator.host_memory_bytes;
  return fmt::format("offloaded     {} by each{}\n", gb(away),
                     room > 0 ? fmt::format(", of the {} of the host's memory that are its", gb(room))
                              : "; the system does not say what its hosts hold");
}

// A processor's does not fill the unit of an accelerator.
std::string rate(double tera) {
  return tera < 0.1 ? fmt::format("{:.3g} G", 1e3 * tera) : fmt::format("{:.1f} T", tera);
}

// The rate behind all dollars, where there are any.
std::string price(const TrainedModel& trained) {
  const bool asked = trained.tokens > 0 || (trained.search && std::count(trained.search->objective.metrics.begin(),
                                                                         trained.search->objective.metrics.end(),
                                                                         cluster::Metric::kCost) > 0);
  if (trained.system.price_per_gpu_hour <= 0 || !asked) return "";
  return fmt::format("price         {:g} dollars an accelerator-hour: {}\n", trained.system.price_per_gpu_hour,
                     price_source(trained.system));
}

// What somebody measured of the same question, beside what is predicted of it.
std::string published_line(const TrainedModel& trained) {
  if (!trained.published) return "";
  const PublishedPlan& known = *trained.published;
  std::string out =
      fmt::format("published     {} measured, {} predicted: {} ({})\n", shown_seconds(known.measured_s),
                  shown_seconds(known.predicted_s), plan_line(trained.model, known.run.plan), known.title);
  if (!trained.is_published)
    out +=
        fmt::format("              {} is predicted at x{:.2f} of that measured speed\n",
                    trained.search ? "the plan found" : "this plan", known.measured_s / trained.iteration.iteration_s);
  if (trained.search && known.predicted_s < trained.iteration.iteration_s) {
    const cluster::Plan& ran = known.run.plan;
    out += "              the published plan is predicted to be faster: none like it was searched";
    if (ran.schedule != trained.plan.schedule)
      out += fmt::format(" (`--schedule {}`)", cluster::name_of(cluster::schedule_of(ran), cluster::schedules()));
    out += "\n";
  }
  return out;
}

std::string figures_of_train_table(const TrainedModel& trained) {
  const cluster::Iteration& iteration = trained.iteration;
  const cluster::Utilisation& done = iteration.done;
  const cluster::Utilisation& published = iteration.published;
  std::string out = "time          " + shown_seconds(iteration.iteration_s);
  if (trained.expected_error)
    out += fmt::format(", +-{:.0f} % (as on {} runs like this one: {})\n", trained.expected_error->percent,
                       trained.expected_error->runs, trained.expected_error->of);
  else if (trained.optimum_error)
    out += fmt::format(
        "; searched: expected x{:.2f} to x{:.2f} of the speed that a tuned recipe measures (as beside two of three "
        "of {})\n",
        trained.optimum_error->least, trained.optimum_error->most, trained.optimum_error->recipes);
  else
    out += fmt::format("; how far off is not known: {}\n", trained.expected_error_of);
  out += published_line(trained);
  out += fmt::format("MFU           {:.1f} %\n", 100 * done.mfu);
  out += fmt::format("HFU           {:.1f} %\n", 100 * done.hfu);
  out += fmt::format("model FLOP/s  {} an accelerator\n", rate(done.tflops_per_gpu));
  // Where the two counts part, papers' figures are to be compared with theirs.
  const auto counted = [](const cluster::Utilisation& u) {
    return fmt::format("MFU {:.1f} %, HFU {:.1f} %, {}", 100 * u.mfu, 100 * u.hfu, rate(u.tflops_per_gpu));
  };
  const std::vector<std::string> undone = verbs::counted_undone(trained);
  if (counted(published) != counted(done) && !undone.empty())
    out += fmt::format("as published  {}: papers count {} too, which {} not done{}\n", counted(published),
                       base::joined(undone, ", "), base::plural(undone.size(), "is", "are"),
                       published.mfu > 1 || published.hfu > 1 ? "; no share of the peak" : "");
  out += fmt::format("tokens/s      {:.0f}\n", iteration.tokens_per_s);
  if (trained.tokens > 0) {
    const TrainingCost cost = verbs::training_cost(trained, trained.training_s);
    out += fmt::format("{} tokens  {}\n", count(trained.tokens), shown_seconds(trained.training_s));
    out += fmt::format("they take     {} accelerator-hours", count(cost.accelerator_hours));
    if (cost.kilowatt_hours)
      out += fmt::format(", {}Wh at rated power{}", watt_hours(*cost.kilowatt_hours),
                         trained.system.pue > 1 ? fmt::format(" and a PUE of {:g}", trained.system.pue) : "");
    if (cost.dollars) out += fmt::format(", {} dollars", count(*cost.dollars));
    out += "\n";
  }
  return out + price(trained);
}

// What is one operator of the chip, and what that saves.
std::string fused_view(const TrainedModel& trained) {
  if (!trained.fused) return "";
  const FusedAttention& f = *trained.fused;
  const double all = trained.iteration.iteration_s;
  std::string out =
      fmt::format("fused: attention forwards {} in place of {}, an iteration {} in place of {} ({:+.1f} %)\n",
                  shown_seconds(f.forward_s), shown_seconds(f.forward_apart_s), shown_seconds(all),
                  shown_seconds(f.apart_s), 100 * (all / f.apart_s - 1));
  return out + fused_attention_text(f.asked, "by its products") +
         "  backward passes are not fused; what they need is kept as without\n\n";
}

std::string remark(const TrainedModel& trained) {
  if (trained.operators == "measurements") return "matrix products as measured where they were; all else is modelled\n";
  if (trained.operators == "machine") return "operators as measured on this machine; all else is modelled\n";
  return "figures are modelled\n";
}

}  // namespace

std::string train_table(const TrainedModel& trained) {
  return title(trained) + degrees(trained) + "\n" + search_view(trained) + time_chart(trained.iteration) +
         host_hint(trained) + "\n" + memory_chart(trained.iteration) +
         offloaded(trained.model, trained.plan, trained.system) + "\n" + run_operators_table(trained) +
         fused_view(trained) + figures_of_train_table(trained) + remark(trained);
}

}  // namespace orrery::verbs
