#include "coz/testing/resident.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace coz::testing {

Resident::Resident(const std::vector<std::string>& command, const std::string& folder) {
  int in[2];
  int out[2];
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_.Reset(in[1]);
  output_ = fdopen(out[0], "r");
}

Resident::~Resident() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  if (output_ != nullptr) fclose(output_);
}

std::string Resident::Line() {
  char line[4096] = "";
  return fgets(line, sizeof(line), output_) == nullptr ? "" : line;
}

// False where nobody reads it any more. A SIGPIPE would end the test without a word.
bool Resident::Write(const std::string& line) const {
  sigset_t broken_pipe;
  sigset_t before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  const bool is_written =
      write(input_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const timespec at_once = {0, 0};
  if (!is_written) sigtimedwait(&broken_pipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_written;
}

std::string Resident::Ask(const std::string& line) {
  if (!Write(line)) {
    siginfo_t end = {};
    waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT);
    ADD_FAILURE() << "process " << pid_ << " does not read \"" << line << "\", as it has ended"
                  << (end.si_code == CLD_EXITED ? " with status " : " by signal ") << end.si_status;
  }
  return Line();
}

std::string Resident::End(int* status) {
  Write("end\n");
  std::string last = Line();
  waitpid(pid_, status, 0);
  pid_ = -1;
  return last;
}

}  // namespace coz::testing
