#include "orrery/scenario/pytorch_attention.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/diagnostic.h"
#include "orrery/formats/cacti/child_process.h"

namespace orrery::scenario {
namespace {

// Prints "version V", then "ms M" for each length.
constexpr const char* kScript = R"(
import statistics, sys, time
import torch
batch, heads, size, threads = (int(x) for x in sys.argv[1:5])
dtype = getattr(torch, sys.argv[5])
torch.set_num_threads(threads)
print('version', torch.__version__, flush=True)
with torch.inference_mode():
    for tokens in (int(x) for x in sys.argv[6:]):
        q, k, v = (torch.randn(batch, heads, tokens, size).to(dtype) for _ in range(3))
        run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)
        run()
        times, begin = [], time.perf_counter()
        while len(times) < 5 or (len(times) < 50 and time.perf_counter() - begin < 0.5):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        print('ms', statistics.median(times) * 1e3, flush=True)
)";

[[noreturn]] void fail(const PyTorchQuestion& question, const std::string& what, const std::string& printed) {
  base::Diagnostics found;
  auto& problem = found.error("O1861", fmt::format("PyTorch cannot be measured with `{}`", question.python)).note(what);
  if (!printed.empty()) problem.note(fmt::format("it printed last: {}", printed));
  problem.hint("give `--pytorch` the Python of an environment in which `import torch` works, or leave it out");
  throw base::InputError(found.all());
}

}  // namespace

PyTorchTimes time_pytorch(const PyTorchQuestion& question) {
  namespace cacti = formats::cacti;
  const cacti::ScratchDirectory scratch;
  if (!scratch.path()) fail(question, "there is no folder for temporary files", "");
  std::vector<std::string> command = {question.python,
                                      "-c",
                                      kScript,
                                      std::to_string(question.batch),
                                      std::to_string(question.heads),
                                      std::to_string(question.size),
                                      std::to_string(question.threads),
                                      question.type == kernels::Type::kBf16 ? "bfloat16" : "float32"};
  for (const base::Count tokens : question.lengths) command.push_back(std::to_string(tokens));
  // The program's name is looked up from here; the process runs in the scratch folder.
  std::error_code ignored;
  if (question.python.find('/') != std::string::npos)
    command.front() = std::filesystem::absolute(question.python, ignored).string();
  const std::filesystem::path log = *scratch.path() / "log";
  const std::chrono::milliseconds limit(static_cast<std::int64_t>(std::min(question.seconds, 3600.0) * 1e3) + 1);
  const cacti::Ended ended = cacti::run(command, *scratch.path(), log, limit);
  PyTorchTimes times;
  std::string last;
  {
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) last = line;
      std::istringstream words(line);
      std::string key;
      double ms = 0;
      if (!(words >> key)) continue;
      if (key == "version") words >> times.version;
      if (key == "ms" && words >> ms) times.ms.push_back(ms);
    }
  }
  if (ended.how != cacti::Ended::How::kExited || ended.code != 0) fail(question, "it " + text(ended, limit), last);
  if (times.ms.size() != question.lengths.size())
    fail(question, fmt::format("it told {} of {} times", times.ms.size(), question.lengths.size()), last);
  return times;
}

}  // namespace orrery::scenario
