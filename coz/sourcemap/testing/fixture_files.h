// Where the fixture programs of testdata/ lie, and small helpers to damage copies of them.
//
// Shape    paths relative to the folder that tests run in
// Units    none
// Errors   helpers return empty values; tests fail on those
// Threads  safe
// Signals  not safe
// Source   none
#ifndef COZ_SOURCEMAP_TESTING_FIXTURE_FILES_H_
#define COZ_SOURCEMAP_TESTING_FIXTURE_FILES_H_

#include <cstdint>
#include <string>

namespace coz::sourcemap {

// The fixture program of that name, see testdata/BUILD.bazel.
std::string FixturePath(const std::string& name);

// The line of "MARK:`mark`" in a source of the fixture ("fixture.cc"); 0 if there is none.
uint32_t MarkedLine(const std::string& source, const std::string& mark);

std::string AbsolutePath(const std::string& path);
std::string ReadFileBytes(const std::string& path);
void WriteFileBytes(const std::string& path, const std::string& bytes);

// A new, empty folder that is the test's own.
std::string NewTestFolder();

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_TESTING_FIXTURE_FILES_H_
