// A file that a result is written to: whole, or not at all.
//
//   call      when                        the file has
//   -------   -------------------------   ------------------------------------------------
//   open()    before the run              what it had
//   empty()   when all files are open     nothing
//   fill()    after the run               the result; nothing, where that failed
//
// So a name that cannot be written is known before ten minutes are spent, and costs no other file
// what it has. A pipe or a device has nothing to lose, and keeps what it got.
#pragma once

#include <signal.h>

#include <fstream>
#include <functional>
#include <ostream>
#include <string>

namespace wireload {

class result_file {
public:
    // `path` empty or "-": there is no file, and all calls succeed.
    result_file(const char* flag, const std::string& path) : flag_(flag), path_(path) {}

    // Each returns what is wrong, or an empty text.
    std::string open();
    std::string empty();
    // Whether all that `write` wrote is in the file.
    bool fill(const std::function<void(std::ostream&)>& write);

private:
    const char* const flag_;
    const std::string path_;
    std::ofstream file_;
};

// SIGINT and SIGTERM around a run of which results are to be written. One for the process, on the
// main thread.
//
//   from          they
//   -----------   ---------------------------------------------------------------------------
//   constructor   wait, or are the run's, which reads them (engine/control.hpp)
//   run_ended()   let what is being written be finished; a further one, later than a fifth of a
//                 second, ends the process at once, and the file that is being written is empty
//   destructor    do what they did before the constructor
//
// timeout(1) sends its signal twice, to the process and to its group, which is not meant as more.
class result_signals {
public:
    result_signals();
    ~result_signals();
    result_signals(const result_signals&) = delete;
    result_signals& operator=(const result_signals&) = delete;

    void run_ended();

private:
    sigset_t mask_before_{};
    struct sigaction interrupt_before_{};
    struct sigaction terminate_before_{};
};

}  // namespace wireload
