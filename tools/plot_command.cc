#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "coz/base/version.h"
#include "coz/report/plot/plot_page.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/output_file.h"
#include "tools/plot_server.h"

namespace coz {
namespace {

struct Arguments {
  report::PlotOptions plot;
  std::string output = "report.html";
  std::string serve;  // a port, "0" for any
  bool open = false;
};

int Port(const Arguments& arguments) {
  int port = -1;
  return absl::SimpleAtoi(arguments.serve, &port) ? port : -1;
}

// `writes_to` is what -o says; empty: nothing.
absl::Status CheckOutput(const Arguments& arguments, const std::string& writes_to) {
  if (!arguments.serve.empty() && !writes_to.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--serve shows the report and writes no file, and -o %s asks for one; "
                        "leave one of them out",
                        writes_to));
  }
  if (arguments.open && arguments.serve.empty() && writes_to == "-") {
    return absl::InvalidArgumentError(
        "--open shows a file, and -o - writes none; leave out -o, or show the report with: coz "
        "plot "
        "--serve --open");
  }
  return arguments.serve.empty() ? CheckInputIsKept(arguments.plot.path, arguments.output)
                                 : absl::OkStatus();
}

absl::Status CheckPort(const Arguments& arguments) {
  const int port = Port(arguments);
  if (arguments.serve.empty() || (port >= 0 && port <= 65535)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "--serve=%s is not a port from 0 to 65535; write --serve for a free one, or --serve=8080",
      arguments.serve));
}

absl::Status Serve(const Arguments& arguments, const std::string& page) {
  const uint16_t port = static_cast<uint16_t>(Port(arguments));
  absl::StatusOr<PlotServer> server = PlotServer::Listen(port, page);
  if (!server.ok()) return server.status();
  const std::string address = absl::StrFormat("http://127.0.0.1:%d/", server->port());
  absl::PrintF("The report is at %s (this machine only). Ctrl-C ends it.\n", address);
  fflush(stdout);
  if (arguments.open) OpenInBrowser(address);
  return server->Run();
}

absl::Status Plot(const Arguments& arguments) {
  const absl::StatusOr<std::string> page = report::MakePlotPage(arguments.plot);
  if (!page.ok()) return page.status();
  if (!arguments.serve.empty()) return Serve(arguments, *page);
  absl::Status written = report::WritePlotFile(arguments.output, *page);
  if (!written.ok()) return written;
  if (arguments.output == "-") return absl::OkStatus();
  absl::FPrintF(stderr, "The report is in %s.\n", arguments.output);
  if (arguments.open) {
    std::error_code error;
    OpenInBrowser(std::filesystem::absolute(arguments.output, error).string());
  }
  return absl::OkStatus();
}

}  // namespace

void AddPlotCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "plot",
      "write a profile as one HTML file with a plot for each line, to look at in a browser");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("profile", arguments->plot.path,
                      "profile to read (default profile.pb; - is standard input)");
  command
      ->add_option("-o,--output", arguments->output,
                   "file to write (default report.html; - is standard output)")
      ->type_name("FILE");
  command
      ->add_option("--source-path,--source", arguments->plot.data.source_folders,
                   "folder to look for sources in that are not at their path; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
  command
      ->add_option("--serve", arguments->serve,
                   "show the report at an address of this machine alone instead of writing a file; "
                   "PORT is free to choose (default any)")
      ->expected(0, 1)
      ->default_str("0")
      ->type_name("PORT");
  command->add_flag("--open", arguments->open, "open the report in the browser");
  command
      ->add_option("--min-speedups", arguments->plot.analysis.min_speedups,
                   "set a line aside that was tried with fewer speedups (default 3)")
      ->check(CLI::Range(1, 20));
  SetExamples(command, {{"plot --open", "write report.html and show it"},
                        {"plot --serve a.pb", "show it at an address of this machine alone"}});
  command->callback([command, arguments, exit_status] {
    if (command->count("--serve") != 0 && arguments->serve.empty()) arguments->serve = "0";
    // In `coz plot --serve profile.pb` the word after --serve is meant as the profile.
    if (command->count("profile") == 0 && access(arguments->serve.c_str(), R_OK) == 0) {
      arguments->plot.path = std::exchange(arguments->serve, "0");
    }
    arguments->plot.data.coz_version = kCozVersion;
    absl::Status status = CheckPort(*arguments);
    status.Update(CheckOutput(*arguments, command->count("-o") == 0 ? "" : arguments->output));
    *exit_status = status.ok() ? Report(Plot(*arguments)) : ReportUsage(status);
  });
}

}  // namespace coz
