// Makes LevelDB read its tables with pread() instead of mapping them into memory: coz sees no page
// faults. The limit of maps is LevelDB's own, for its tests.
#include "util/env_posix_test_helper.h"

namespace leveldb {

class EnvPosixTest {
 public:
  EnvPosixTest() { EnvPosixTestHelper::SetReadOnlyMMapLimit(0); }
};

static EnvPosixTest g_no_maps;

}  // namespace leveldb
