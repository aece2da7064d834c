// Writes a sample profile: write_sample_profile LINES FILE.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "coz/report/plot/testing/sample_profile.h"

int main(int argc, char** argv) {
  const int lines = argc == 3 ? atoi(argv[1]) : 0;
  if (lines < 1) {
    fprintf(stderr, "usage: write_sample_profile LINES FILE\n");
    return 1;
  }
  std::ofstream file(argv[2], std::ios::binary);
  if (coz::report_testing::SampleProfile(lines).SerializeToOstream(&file) && file.flush()) return 0;
  fprintf(stderr, "write_sample_profile: cannot write %s\n", argv[2]);
  return 1;
}
