// HDF5's archive reads `stderr` and `stdout` as a program does, by their distance, which a shared library cannot. The
// linker is told (--wrap, CMakeLists.txt) that they are these.
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;
extern FILE* __real_stdout;
extern FILE* __wrap_stderr __attribute__((visibility("hidden")));
extern FILE* __wrap_stdout __attribute__((visibility("hidden")));
FILE* __wrap_stderr = __real_stderr;
FILE* __wrap_stdout = __real_stdout;
}
