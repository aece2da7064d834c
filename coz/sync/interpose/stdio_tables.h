// Waits of stdio on pipes and sockets. All of stdio (fread, getline, printf, std::cin, …) reads,
// writes and closes by three functions that libc finds in a table of the stream. WrapStdio puts
// others into libc's tables. So no name is wrapped, and a call that only uses the stream's buffer
// costs what it did.
//
// Shape    the tables _IO_file_jumps and _IO_wfile_jumps, and that of popen's streams once there is
//          one. A table is changed only where it holds the functions that libc exports by name
// Units    none
// Errors   where a table is of another form or cannot be made writable, it stays as it is; stdio's
//          waits then count as waits for the outside
// Threads  WrapStdio and UnwrapStdio: one call at a time. Other threads may use stdio meanwhile
// Signals  not async-signal-safe: WrapStdio takes the loader's locks
// Source   glibc libio/libioP.h (struct _IO_jump_t, struct _IO_FILE_plus), vtables.c: what is
//          validated is where a table lies, and not what it holds
#ifndef COZ_SYNC_INTERPOSE_STDIO_TABLES_H_
#define COZ_SYNC_INTERPOSE_STDIO_TABLES_H_

#include <stdio.h>

namespace coz::interpose {

void WrapStdio();
void UnwrapStdio();

// Wraps the table of `stream`, which popen has returned.
void WrapStreamOfChild(FILE* stream);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_STDIO_TABLES_H_
