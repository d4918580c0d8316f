#include "orrery/verbs/serve/options.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/cli/number_text.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/cli/shared_options.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/verbs/serve/json.h"
#include "orrery/verbs/serve/run.h"
#include "orrery/verbs/serve/simulated_trace.h"
#include "orrery/verbs/serve/table.h"

namespace orrery::verbs {
namespace {

void declare_number(CommandLine& line, const std::string& option, const std::string& type, std::optional<double>& value,
                    const std::string& what) {
  line.meant(option, type, what, [option, &value](const std::string& text) {
    const auto [number, rest] = decimal(text);
    if (!rest.empty() || !(number > 0) || !(number < 1e15))
      misuse("O1102", fmt::format("{}: `{}` is not a number above 0", option, text),
             fmt::format("write `{} 2.5`", option));
    value = number;
  });
}

// "tp=2,replicas=4": the degrees of a pool.
void declare_pool(CommandLine& line, const std::string& option, std::optional<serving::Deployment>& pool,
                  std::string& system, const std::string& what) {
  line.meant_each(option, "KEY=N[,KEY=N]", what, true, [option, &pool, &system](const std::string& text) {
    using D = serving::Deployment;
    static constexpr std::pair<std::string_view, base::Count D::*> kKeys[] = {
        {"replicas", &D::replicas}, {"tp", &D::tp}, {"pp", &D::pp}, {"ep", &D::ep}, {"dp", &D::dp}};
    const std::size_t equals = std::min(text.find('='), text.size());
    const auto number = base::parse_number<base::Count>(text.substr(std::min(equals + 1, text.size())), 1, 1024);
    if (!pool) pool.emplace();
    if (text.starts_with("system=") && text.size() > equals + 1)
      return static_cast<void>(system = text.substr(equals + 1));
    for (const auto& [name, field] : kKeys)
      if (number && text.substr(0, equals) == name) {
        (*pool).*field = *number;
        return;
      }
    misuse("O1102", fmt::format("{}: `{}` is no degree from 1 to 1024", option, text),
           fmt::format("write `{} tp=2,replicas=4`; keys are replicas, tp, pp, ep, dp, and system=NAME", option));
  });
}

// "16", of each system, or "dgx-h100=16,dgx-h20=32".
void declare_accelerators(CommandLine& line, ServeRequest& request) {
  line.meant_each(
      "--gpus", "N|SYSTEM=N[,SYSTEM=N]",
      "Accelerators that may be taken, of each system: what is not given below is searched among them", true,
      [&request](const std::string& text) {
        const std::size_t equals = text.rfind('=');
        const bool named = equals != std::string::npos && equals > 0;
        const auto number = base::parse_number<base::Count>(named ? text.substr(equals + 1) : text, 1, 1024);
        if (!number || (request.gpus && (!named || request.gpus_of.empty())))
          misuse("O1102", fmt::format("--gpus: `{}` is no number from 1 to 1024, or not the only one", text),
                 "write `--gpus 16`, or of each system `--gpus dgx-h100=16,dgx-h20=32`");
        request.gpus = std::max(request.gpus.value_or(0), *number);
        if (named) request.gpus_of.emplace_back(text.substr(0, equals), *number);
      });
}

void declare_load(CommandLine& line, ServeRequest& request) {
  line.group("Load");
  line.count("--isl", request.isl, "Tokens of a prompt", 1 << 30);
  line.count("--osl", request.osl, "Tokens of an answer", 1 << 30);
  declare_number(line, "--isl-deviation", "TOKENS", request.isl_deviation,
                 "Standard deviation of prompts' lengths, which are log-normal around --isl; default: all equal");
  declare_number(line, "--osl-deviation", "TOKENS", request.osl_deviation, "The same of answers, around --osl");
  declare_number(line, "--concurrency", "USERS", request.concurrency,
                 "Users that each send the next request once they have the answer");
  declare_number(line, "--rate", "REQUESTS", request.rate, "Requests a second, at random times");
  line.text("--trace", request.trace, "FILE",
            "Requests of Azure, BurstGPT, Vidur, Mooncake, Bailian, LLMServingSim or ShareGPT (counted), in the place "
            "of lengths and rate");
  line.share("--prefix-hit", request.prefix_hit, "Share of prompts' tokens that caches have");
  line.share("--host-hit", request.host_hit, "The same of copies in the host's memory, behind those");
  line.count("--requests-per-user", request.requests_per_user,
             "Requests that each user sends, all users at once first; default: without end", 1 << 30);
  declare_number(line, "--ttft-limit", "SECONDS", request.ttft_limit, "Time to the first token, mean, at most");
  line.meant("--load-limit", "SHARE",
             "Of the capacity that a rate may take; default 0.9 where a search has no --ttft-limit, else 1",
             [&request](const std::string& text) {
               const auto share = base::parse_number<double>(text, 0.01, 1);
               if (!share)
                 misuse("O1102", fmt::format("--load-limit: `{}` is not a share from 0.01 to 1", text),
                        "write `--load-limit 0.8`");
               request.load_limit = *share;
             });
  declare_number(line, "--tpot-limit", "SECONDS", request.tpot_limit, "Time between tokens, mean, at most");
}

void declare_deployment(CommandLine& line, ServeRequest& request) {
  line.group("Deployment");
  declare_accelerators(line, request);
  line.choice<serving::Engine>("--engine", request.engine,
                               {{"vllm", serving::Engine::kVllm},
                                {"trtllm", serving::Engine::kTensorRtLlm},
                                {"sglang", serving::Engine::kSglang}},
                               "vllm (default), trtllm, sglang");
  line.choice("--precision", request.precision, cluster::precisions(),
              "Of products, and of weights that nothing else is said of; default the file's, else bf16");
  line.choice<StoredAs>(
      "--weights", request.weights,
      {{"bf16", StoredAs::kBf16},
       {"fp8", StoredAs::kFp8},
       {"mxfp4", StoredAs::kMxfp4},
       {"nvfp4", StoredAs::kNvfp4},
       {"int4", StoredAs::kInt4},
       {"awq", StoredAs::kInt4},
       {"gptq", StoredAs::kInt4}},
      "How weights are stored: bf16, fp8, mxfp4, nvfp4, int4 (awq, gptq; groups of 128); default as the file has them");
  line.choice("--kv-dtype", request.cache_precision, cluster::precisions(),
              "Of keys and values; default the file's, else bf16");
  line.count("--tp", request.tp, "Tensor-parallel degree", 1024);
  line.count("--pp", request.pp, "Pipeline stages", 1024);
  line.count("--ep", request.ep, "Ways in which whole experts are spread over tp x dp", 1024);
  line.count("--dp", request.dp, "Groups of attention in a replica, of models with experts", 1024);
  line.count("--replicas", request.replicas, "Copies of the whole", 1024);
  declare_pool(line, "--prefill", request.prefill, request.prefill_system,
               "A pool of its own for prompts, in the place of the degrees above, also on a system of its own");
  declare_pool(line, "--decode", request.decode, request.decode_system, "The pool that goes on with them");
  line.toggle("--pools", request.pools, "Search pools as well, among `--gpus`: the better of both ways is the answer");
  line.count("--speculate", request.speculate, "Tokens that a step guesses of each sequence, as drafts or MTP do", 64);
  line.probability("--acceptance", request.acceptance, "Of guesses that are accepted, one after another");
  line.toggle("--sync-scheduling", request.synchronous,
              "A step is scheduled once the one before has ended, as vLLM did before 0.14; else while that runs");
  line.toggle("--evict", request.evicts, "TensorRT-LLM admits who fits now (MAX_UTILIZATION), not to the end");
  line.count("--max-sequences", request.max_sequences, "That run at once in a group; default: the engine's", 1 << 20);
  line.count("--max-batched-tokens", request.max_batched_tokens, "Of a step; default: the engine's", 1 << 26);
  line.share("--memory-share", request.memory_share, "Of memory, as the engine counts it; default: the engine's");
  line.choice<serving::Goal>(
      "--goal", request.goal,
      {{"throughput", serving::Goal::kTokensPerAccelerator},
       {"cost", serving::Goal::kUsdPerMillionTokens},
       {"accelerators", serving::Goal::kAccelerators}},
      "throughput (of an accelerator; default for users), cost, accelerators (least; default at a "
      "rate)");
}

// Files beside the answer; empty: not asked for.
struct ServeFiles {
  std::string series, perfetto;
};

// False: help was asked for, and printed.
bool read_serve(const Arguments& arguments, Console& console, ServeRequest& request, ServeFiles& files) {
  request.memory_share = -1;                                       // not given
  std::uint64_t seed = std::numeric_limits<std::uint64_t>::max();  // the same
  CommandLine line("serve", "How fast a model is served on a system: which deployment, first tokens, price, with proof",
                   "orrery serve --model llama3.1-70b --system dgx-h100 --gpus 8 --precision fp8 --isl 2048 --osl 256 "
                   "--rate 4 --tpot-limit 0.03");
  line.group("Question");
  line.text("--model", request.model, "NAME|FILE", "Model from the catalogue, or its config.json");
  declare_ignored(line, request.ignored);
  declare_like(line, request.like);
  declare_mtp(line, request.mtp);
  line.text("--system", request.system, "NAME|FILE",
            "System from the catalogue, or its file; several with commas between; this-machine: measured");
  line.text("--chip", request.chip, "NAME|PATH",
            "Chip in the place of the system's accelerator, mapped product by product");
  line.toggle("--fuse", request.fuse, "Attention as one operator of the chip, its scores never leaving it");
  line.text("--operators,--measured", request.measurements, "FILE.csv",
            "Timings of GEMMs, AIConfigurator's tables among them, used in preference to the roofline");
  declare_load(line, request);
  declare_deployment(line, request);
  line.group("Answer");
  std::optional<base::Count> top, requests;
  line.count("--top", top, "Shapes to list, the best of each; default 1", 1000);
  line.toggle("--front", request.front,
              "List what no deployment betters both for a user and for an accelerator, of any number of users");
  line.toggle("--simulate", request.simulate, "Run the engine's schedule of it step by step as well");
  line.choice<serving::Router>("--router", request.router,
                               {{"round-robin", serving::Router::kRoundRobin},
                                {"least-load", serving::Router::kLeastLoad},
                                {"prefix", serving::Router::kPrefix}},
                               "Where simulated requests go: round-robin (default), least-load, prefix");
  declare_number(line, "--offload", "GB", request.offload,
                 "Of the host's memory for each accelerator's keys and values; simulated");
  line.count("--requests", requests, "To simulate; default: 20 of each user, or 4,000", 10'000'000);
  line.seed(seed, "Of the requests that are simulated; default 1");
  line.text("--why", request.why, "CHOICE", "Force a degree, such as tp=4, and say what it costs");
  declare_search(line, request.limits, "Threads; default 1",
                 "End the search after so many seconds, with the best so far");
  line.output_file("--series", files.series, "FILE",
                   "Write the simulation's requests, blocks and tokens over time, CSV");
  line.output_file("--perfetto", files.perfetto, "FILE", "Write the simulation's steps there, for Perfetto");
  line.pictures();
  if (!line.read(arguments, console)) return false;
  request.timeline = !files.series.empty() || !files.perfetto.empty();
  if (request.memory_share == 0)
    misuse("O1102", "--memory-share: `0` leaves nothing to be filled", "write `--memory-share 0.9`");
  request.memory_share = std::max(0.0, request.memory_share);
  if (seed != std::numeric_limits<std::uint64_t>::max()) request.seed = seed;
  request.top = top.value_or(1);
  request.requests = requests.value_or(0);
  return true;
}

}  // namespace

ServeRequest serve_request(const Arguments& arguments) {
  ServeRequest request;
  QuietConsole console;
  ServeFiles files;
  if (!read_serve(arguments, console, request, files)) refuse_help();
  return request;
}

int run_serve(const Arguments& arguments, Console& console) {
  ServeRequest request;
  ServeFiles files;
  if (!read_serve(arguments, console, request, files)) return kDone;
  return run_verb<ServedAnswer>(console, {.answer =
                                              [&](Run& run) {
                                                request.limits.stop = run.stop();
                                                return serve_or_refuse(request);
                                              },
                                          .document = serve_document,
                                          .table = serve_table,
                                          .files = {{files.series, series_csv}, {files.perfetto, simulated_trace}},
                                          .outcome = [](const ServedAnswer& answer, const Run& run) -> Outcome {
                                            const int cut = run.cut_short();
                                            if (answer.best.empty())
                                              return {answer.ended_early ? cut : kNo, answer.refused.all(), true};
                                            return {answer.ended_early ? cut : kDone};
                                          }});
}

}  // namespace orrery::verbs
