#include <iostream>
#include <memory>

#include "CLI/App.hpp"
#include "coz/report/text/annotate.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/suggest_names.h"

namespace coz {

void AddAnnotateCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "annotate", "print a source file with what its lines are worth in the margin");
  auto options = std::make_shared<report::AnnotateOptions>();
  command->add_option("file", options->file, "source file: a path, or the end of one")->required();
  command->add_option("profile", options->path,
                      "profile to read (default profile.pb; - is standard input)");
  command->add_option("--point", options->point, "progress point (default: the most visited)")
      ->type_name("NAME");
  command
      ->add_option("--source-path", options->source_path,
                   "folder to look for the source in, where it is not at its path; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
  SetExamples(command, {{"annotate server.cc", "by the profile in profile.pb"}});
  command->callback([options, exit_status] {
    options->suggest = SuggestNames;
    *exit_status = Report(report::Annotate(*options, std::cout));
  });
}

}  // namespace coz
