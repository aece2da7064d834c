// What is wrong with a command line, in one sentence with the command that explains it.
#ifndef COZ_TOOLS_COMPLAINT_H_
#define COZ_TOOLS_COMPLAINT_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace coz {

// Of the application that has refused its arguments with `error`.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error);

// "; did you mean run?", where one of the candidates is like the word; or nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates);

// Of all subcommands that help shows.
std::vector<std::string> SubcommandNames(const CLI::App& app);

}  // namespace coz

#endif  // COZ_TOOLS_COMPLAINT_H_
