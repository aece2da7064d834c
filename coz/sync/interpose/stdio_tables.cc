// Process: target. Context: the program's threads, in libc's stdio, with the stream locked.
#include "coz/sync/interpose/stdio_tables.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/file_lock.h"
#include "coz/sync/interpose/io_wait.h"

namespace coz::interpose {
namespace {

constexpr uint64_t kPageBytes = 4096;

using Read = ssize_t (*)(FILE*, void*, ssize_t);
using Write = ssize_t (*)(FILE*, const void*, ssize_t);
using Close = int (*)(FILE*);

// struct _IO_jump_t. Its first two words are not used.
struct Table {
  void* others_before[14];
  Read read;
  Write write;
  void* seek;
  Close close;
};
static_assert(offsetof(Table, read) == 14 * sizeof(void*));

// struct _IO_FILE_plus, and what popen adds to it.
struct Stream {
  FILE file;
  Table* table;
  pid_t child;  // of popen's streams
};
static_assert(offsetof(Stream, table) == 216);

// libc's own functions.
Read g_read = nullptr;
Write g_write = nullptr;
Close g_close = nullptr;
Close g_close_of_child = nullptr;

// The tables that are changed.
constexpr int kMostTables = 3;
std::atomic<Table*> g_tables[kMostTables];

// Whether a thread may wait at the other end of `fd`, so that the caller is to pay, and whether it
// matters now. A pause amid the output into a file would only make others wait for the stream.
bool LeadsToThreads(int fd, IoSide side) {
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return false;
  if (!WaitsAreUnits() &&
      sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed) == 0 &&
      !delay::Accrues(*caller)) {
    return false;
  }
  return FindIoKeys(fd, side).wakes[0] != 0;
}

template <typename Call>
ssize_t CallStream(FILE* stream, IoSide side, Call call) {
  const int fd = fileno_unlocked(stream);
  if (LeadsToThreads(fd, side)) return CallIo(fd, side, call);
  return CallOutside(call, [fd, side] { return WaitKindOf(fd, side); });
}

ssize_t ReadStream(FILE* stream, void* buffer, ssize_t count) {
  return CallStream(stream, IoSide::kInput, [=] { return g_read(stream, buffer, count); });
}

ssize_t WriteStream(FILE* stream, const void* buffer, ssize_t count) {
  return CallStream(stream, IoSide::kOutput, [=] { return g_write(stream, buffer, count); });
}

void PayBeforeClose(FILE* stream) {
  const int fd = fileno_unlocked(stream);
  for (const IoSide side : {IoSide::kOutput, IoSide::kInput}) {
    if (LeadsToThreads(fd, side)) PayBeforeIo(fd, side);
  }
  PayBeforeLocksGoWith(fd);
  NoteNewMeaning(fd);
}

int CloseStream(FILE* stream) {
  PayBeforeClose(stream);
  return g_close(stream);
}

// Closes, and waits for the child process.
int CloseStreamOfChild(FILE* stream) {
  PayBeforeClose(stream);
  const pid_t child = reinterpret_cast<const Stream*>(stream)->child;
  return WaitForIo([=] { return g_close_of_child(stream); },
                   [=](int status) { return status != -1 ? WakerBy(ProcessExitKey(child)) : 0; },
                   [=](int status, uint64_t) {
                     return status != -1 && !IsWokenByTree(ProcessExitKey(child))
                                ? delay::WaitKind::kChild
                                : delay::WaitKind::kNone;
                   });
}

template <typename Pointer>
bool Find(const char* name, Pointer* pointer) {
  void* const found = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
  if (found == nullptr) return false;
  static_assert(sizeof(found) == sizeof(Pointer));
  memcpy(pointer, &found, sizeof(found));
  return true;
}

bool FindFunctions() {
  return Find("_IO_file_read", &g_read) && Find("_IO_file_write", &g_write) &&
         Find("_IO_file_close", &g_close) && Find("_IO_proc_close", &g_close_of_child);
}

// Whether the loader has made the table read-only.
bool IsReadOnly(const Table* table) {
  struct Search {
    uint64_t address;
    bool is_found;
  } search = {reinterpret_cast<uint64_t>(table), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* opaque) {
        auto& wanted = *static_cast<Search*>(opaque);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_GNU_RELRO) continue;
          const uint64_t begin = info->dlpi_addr + header.p_vaddr;
          if (wanted.address >= begin && wanted.address < begin + header.p_memsz) {
            wanted.is_found = true;
          }
        }
        return wanted.is_found ? 1 : 0;
      },
      &search);
  return search.is_found;
}

bool Protect(const Table* table, int protection) {
  const uint64_t begin = reinterpret_cast<uint64_t>(table) & ~(kPageBytes - 1);
  const uint64_t end = reinterpret_cast<uint64_t>(table + 1);
  return RawSyscall(SYS_mprotect, begin, end - begin, protection) == 0;
}

struct Functions {
  Read read;
  Write write;
  Close close;
};

bool Holds(const Table& table, const Functions& functions) {
  return table.read == functions.read && table.write == functions.write &&
         table.close == functions.close;
}

template <typename Pointer>
void StorePointer(Pointer* place, Pointer value) {
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

bool Change(Table* table, const Functions& from, const Functions& to) {
  if (!Holds(*table, from)) return false;
  const bool is_read_only = IsReadOnly(table);
  if (is_read_only && !Protect(table, PROT_READ | PROT_WRITE)) return false;
  StorePointer(&table->read, to.read);
  StorePointer(&table->write, to.write);
  StorePointer(&table->close, to.close);
  if (is_read_only) Protect(table, PROT_READ);
  return true;
}

Functions OfLibc(bool of_child) { return {g_read, g_write, of_child ? g_close_of_child : g_close}; }
Functions OfOurs(bool of_child) {
  return {ReadStream, WriteStream, of_child ? CloseStreamOfChild : CloseStream};
}

enum Place { kNarrow, kWide, kOfChild };

// A thread changes tables. Another that would protect the same pages meanwhile goes without.
std::atomic<bool> g_is_changing{false};

void WrapTable(Place place, Table* table) {
  if (g_tables[place].load(std::memory_order_relaxed) != nullptr) return;
  if (g_is_changing.exchange(true, std::memory_order_acquire)) return;
  const bool of_child = place == kOfChild;
  if (Change(table, OfLibc(of_child), OfOurs(of_child))) {
    g_tables[place].store(table, std::memory_order_relaxed);
  }
  g_is_changing.store(false, std::memory_order_release);
}

}  // namespace

void WrapStdio() {
  if (!FindFunctions()) return;
  Table* table = nullptr;
  if (Find("_IO_file_jumps", &table)) WrapTable(kNarrow, table);
  if (Find("_IO_wfile_jumps", &table)) WrapTable(kWide, table);
}

void WrapStreamOfChild(FILE* stream) {
  if (g_tables[kNarrow].load(std::memory_order_relaxed) == nullptr) return;
  WrapTable(kOfChild, reinterpret_cast<Stream*>(stream)->table);
}

void UnwrapStdio() {
  for (const Place place : {kNarrow, kWide, kOfChild}) {
    Table* const table = g_tables[place].exchange(nullptr, std::memory_order_relaxed);
    if (table == nullptr) continue;
    Change(table, OfOurs(place == kOfChild), OfLibc(place == kOfChild));
  }
}

}  // namespace coz::interpose
