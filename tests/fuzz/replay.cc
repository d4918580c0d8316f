// Stands in for libFuzzer's main in the ordinary build: feeds a fuzzer every file below the folders given,
// so that what a fuzzer once found stays found under any compiler.
//
// With ORRERY_FUZZ_SECONDS=S it then feeds changed files, too, for S seconds of a processor: bytes flipped, parts left
// out, repeated, moved, taken from another file. No coverage guides it, as it does libFuzzer; the order is always the
// same. An input that ends the program, or takes longer than ten seconds, is left in `fuzz_<process>.input`.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of a changed file
constexpr unsigned kMostSeconds = 10;        // of one input

std::string current;  // what a handler saves

void save(int signal) {
  char name[64];
  std::snprintf(name, sizeof name, "fuzz_%d.input", static_cast<int>(getpid()));
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data(), current.size()) == static_cast<ssize_t>(current.size())) close(file);
  const char said[] = "the input that did it is in fuzz_<process>.input\n";
  if (write(2, said, sizeof said - 1) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void feed(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

class Changes {
 public:
  explicit Changes(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string bytes = any();
    for (std::size_t times = 1 + below(4); times > 0; --times) change(bytes);
    if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }
  const std::string& any() { return seeds_[below(seeds_.size())]; }
  std::string part(const std::string& bytes) {
    return bytes.substr(below(bytes.size()), 1 + below(std::size_t{1} << below(8)));
  }
  void change(std::string& bytes) {
    static constexpr char kMarks[] = "{}[]()%#:;,=|*&!<>-_'\"\\\n\t 0129.eE";
    const std::size_t at = below(bytes.size() + 1);
    switch (below(7)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes.insert(at, 1, kMarks[below(sizeof kMarks - 1)]);
        break;
      case 2:
        if (at < bytes.size()) bytes.erase(at, 1 + below(std::size_t{1} << below(8)));
        break;
      case 3:
        bytes.insert(at, bytes.empty() ? "" : part(bytes));
        break;
      case 4: {
        const std::string& other = any();
        if (!other.empty()) bytes.insert(at, part(other));
        break;
      }
      case 5:
        if (at < bytes.size()) bytes[at] = kMarks[below(sizeof kMarks - 1)];
        break;
      default: {
        static const char* const kNumbers[] = {"-1",     "0",   "9223372036854775807", "1e308",
                                               "1e-320", "nan", "4294967296"};
        bytes.insert(at, kNumbers[below(std::size(kNumbers))]);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{1};
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  const char* const asked = std::getenv("ORRERY_FUZZ_SECONDS");
  for (const auto& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    feed(bytes);
    if (asked != nullptr && bytes.size() <= kMostBytes) seeds.push_back(bytes);
  }
  if (files.empty()) {
    std::fprintf(stderr, "no file to feed\n");
    return 1;
  }
  if (asked == nullptr || seeds.empty()) return 0;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGALRM}) std::signal(signal, save);
  Changes changes(seeds);
  const double seconds = std::atof(asked);
  const std::clock_t begin = std::clock();
  long inputs = 0;
  while (static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < seconds) {
    current = changes.next();
    alarm(kMostSeconds);
    feed(current);
    ++inputs;
  }
  alarm(0);
  std::fprintf(stderr, "%ld changed files in %g s\n", inputs, seconds);
}
