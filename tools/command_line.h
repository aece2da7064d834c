// What all subcommands share: how they were started, where the product's other files are, and how a
// command ends.
#ifndef COZ_TOOLS_COMMAND_LINE_H_
#define COZ_TOOLS_COMMAND_LINE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace coz {

// Exit statuses of coz itself (coz(1), EXIT STATUS); those of the program are passed through. 126
// and 127 are for a program that cannot be executed or found, as in a shell.
inline constexpr int kConditionHolds = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNothingMeasured = 3;
inline constexpr int kFailure = 125;

// A file of the product, by its path in the repository: beside this executable in Bazel's output
// tree, else where it was installed. NOT_FOUND: neither is there. UNAVAILABLE: nobody can look.
absl::StatusOr<std::string> FindProductFile(const std::string& path_in_repository,
                                            const std::string& path_installed);

// A product file by a path from the current folder, where the command was started by such a path:
// bazel-bin/tools/coz lies beside bazel-bin/examples. Else as it is.
std::string AsStarted(const std::string& file, const std::string& path_in_repository);

// Changes to the folder in which the user typed the command, when Bazel or bazelw has changed it,
// and remembers what to type there to start this command again (coz/base/command_name.h).
void StartAs(const std::string& argv0);

// For a command that profiles: the program's end, and its exit status, do not depend on whether
// anybody still reads what coz prints.
void OutliveReaders();

// Prints "coz: MESSAGE" on standard error. Commands to type are named as this one was started.
void Say(const std::string& message);

// "1 experiment", "2 experiments".
std::string Counted(uint64_t count, const std::string& noun);

// Says what went wrong and returns kFailure, or what a shell would return where the program did not
// start; 0 for OK.
int Report(const absl::Status& status);

// The same of what is wrong with the command line: an INVALID_ARGUMENT returns kUsage.
int ReportUsage(const absl::Status& status);

// Prints the page of a subcommand, or of all where the name is empty. Returns the exit status.
int PrintHelp(const CLI::App& app, const std::string& name);

// Each adds one subcommand to the application. `exit_status` is what the process ends with.
void AddRunCommand(CLI::App& app, int* exit_status);
void AddAttachCommand(CLI::App& app, int* exit_status);
void AddPointsCommand(CLI::App& app, int* exit_status);
void AddDemoCommand(CLI::App& app, int* exit_status);
void AddDoctorCommand(CLI::App& app, int* exit_status);
void AddSelftestCommand(CLI::App& app, int* exit_status);
void AddReportCommand(CLI::App& app, int* exit_status);
void AddAnnotateCommand(CLI::App& app, int* exit_status);
void AddPlotCommand(CLI::App& app, int* exit_status);
void AddExportCommand(CLI::App& app, int* exit_status);
void AddImportCommand(CLI::App& app, int* exit_status);
void AddMergeCommand(CLI::App& app, int* exit_status);
void AddCompareCommands(CLI::App& app, int* exit_status);  // diff, verify, history
void AddThreadsCommand(CLI::App& app, int* exit_status);
void AddWatchCommand(CLI::App& app, int* exit_status);
void AddHelpCommand(CLI::App& app, int* exit_status);
void AddDocumentationCommand(CLI::App& app, int* exit_status);  // of all that were added

}  // namespace coz

#endif  // COZ_TOOLS_COMMAND_LINE_H_
