// A command of the program, run in this process: in a thread of its own, while this one listens for Ctrl-C.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "orrery/base/limits/stop_signal.h"
#include "orrery/cli/console.h"
#include "orrery/cli/end_on_signals.h"
#include "orrery/inputs/catalogue/program_file.h"
#include "orrery/program/command.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;
using Clock = std::chrono::steady_clock;
constexpr auto kListenEvery = std::chrono::milliseconds(50);

// What the program prints to standard error; the last line of progress can be read meanwhile.
class Remarks : public std::streambuf {
 public:
  std::string all() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  // What is new since the last call.
  std::string news() {
    const std::lock_guard lock(mutex_);
    std::string out = text_.substr(told_);
    told_ = text_.size();
    return out;
  }

 private:
  int_type overflow(int_type byte) override {
    if (!traits_type::eq_int_type(byte, traits_type::eof())) {
      const char c = traits_type::to_char_type(byte);
      xsputn(&c, 1);
    }
    return traits_type::not_eof(byte);
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    text_.append(bytes, static_cast<std::size_t>(count));
    return count;
  }

  std::mutex mutex_;
  std::string text_;
  std::size_t told_ = 0;
};

// One command at a time: how tables look and the wish to stop are the process's.
std::timed_mutex one_at_a_time;

struct Ending {
  bool timed_out = false;
  std::optional<nb::python_error> raised;  // by a signal's handler, or by `progress`
};

// With the GIL. True: something was raised.
bool listen(Ending& ending) {
  if (PyErr_CheckSignals() == 0) return false;
  if (!ending.raised)
    ending.raised.emplace();
  else
    PyErr_Clear();
  return true;
}

// Without the GIL, which it takes to look for signals.
template <typename Condition>
void wait_for(const Condition& done, std::optional<Clock::time_point> until, Remarks& remarks,
              const nb::object& progress, Ending& ending) {
  while (!done()) {
    if (until && Clock::now() >= *until) ending.timed_out = true;
    {
      const nb::gil_scoped_acquire held;
      listen(ending);
      try {
        std::string news;
        if (!progress.is_none()) news = remarks.news();
        if (!news.empty()) progress(nb::bytes(news.data(), news.size()));
      } catch (nb::python_error& error) {
        if (!ending.raised) ending.raised.emplace(std::move(error));
      }
    }
    if (ending.timed_out || ending.raised) base::stop_requested = true;
  }
}

nb::tuple call(const std::vector<nb::bytes>& words, std::optional<double> time_limit, const nb::object& progress) {
  std::vector<std::string> arguments;
  for (const nb::bytes& word : words) arguments.emplace_back(word.c_str(), word.size());
  Remarks remarks;
  std::ostringstream out;
  int code = verbs::kInternal;
  Ending ending;
  std::optional<Clock::time_point> until;
  if (time_limit)
    until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*time_limit));
  bool refused = false;
  {
    const nb::gil_scoped_release released;
    std::unique_lock<std::timed_mutex> turn(one_at_a_time, std::defer_lock);
    while (!turn.try_lock_for(kListenEvery)) {
      const nb::gil_scoped_acquire held;
      if (listen(ending)) break;
    }
    refused = ending.raised.has_value();
    if (!refused) {
      base::stop_requested = false;
      std::mutex mutex;
      std::condition_variable ended;
      bool done = false;
      std::thread worker([&] {
        std::ostream err(&remarks);
        const int result = verbs::run(arguments, out, err, !progress.is_none());
        const std::lock_guard lock(mutex);
        code = result;
        done = true;
        ended.notify_one();
      });
      wait_for(
          [&] {
            std::unique_lock lock(mutex);
            return ended.wait_for(lock, kListenEvery, [&] { return done; });
          },
          until, remarks, progress, ending);
      worker.join();
      base::stop_requested = false;
    }
  }
  const bool interrupted = ending.raised && ending.raised->matches(PyExc_KeyboardInterrupt);
  if (ending.raised && (refused || !interrupted)) throw std::move(*ending.raised);
  if (interrupted && code != verbs::kInternal) code = verbs::kInterrupted;
  if (ending.timed_out && code == verbs::kInterrupted) code = verbs::kLimit;
  const std::string text = out.str(), said = remarks.all();
  return nb::make_tuple(code, nb::bytes(text.data(), text.size()), nb::bytes(said.data(), said.size()),
                        ending.timed_out);
}

}  // namespace

void define_call(nb::module_& m) {
  verbs::leave_signals_alone();
  m.def(
      "set_program_file", [](const std::string& path) { verbs::set_program_file(path); }, nb::arg("path"),
      "Where the program lies; its catalogue stands beside it.");
  m.def("call", &call, nb::arg("arguments"), nb::arg("time_limit").none() = nb::none(),
        nb::arg("progress").none() = nb::none(),
        "Runs a command line; (exit code, standard output, standard error, whether the time limit ended it).");
}

}  // namespace orrery::python
