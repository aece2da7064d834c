// Finds the places of a binary that a PointSpec names: entries of functions, begins of visits to
// lines, probes in the source.
//
// Shape    one binary, opened once; every question reads symbols or debug information anew
// Units    ELF addresses, offsets in the file
// Errors   NOT_FOUND, each one sentence with what was sought and what there is instead: the closest
//          names, the nearest lines with code. FAILED_PRECONDITION: no symbols or no debug
//          information at all, or a function that is inlined everywhere, with its calls. Open: as
//          DebugFile, but a binary without debug information is accepted
// Threads  compatible
// Signals  not safe
// Source   DWARF 5, sections 3.3 and 6.2; elfutils/libdwfl.h
#ifndef COZ_POINTS_CODE_PLACES_H_
#define COZ_POINTS_CODE_PLACES_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/points/function_extents.h"
#include "coz/points/line_begins.h"
#include "coz/points/line_scope.h"
#include "coz/points/point_spec.h"
#include "coz/points/usdt_notes.h"

namespace coz::points {

struct CodePlace {
  uint64_t elf_address;
  uint64_t file_offset;
  // Where a probe instruction goes: behind `endbr64`, which the kernel steps slowly.
  uint64_t probe_offset;
  // File offset where a thread goes on after a probe has counted it. Samples of the counting fall
  // there. 0: not known.
  uint64_t resume_offset;
  // The function that holds the place: where its code begins in the file, how long it is, and how
  // far it is to the next function or, at most, to the next multiple of 16. 0: not known.
  uint64_t function_offset = 0;
  uint64_t function_bytes = 0;
  uint64_t function_room = 0;
  uint64_t function_behind = 0;  // bytes of code that follow on that, at most a few
  // ELF address of a word that is not 0 while somebody counts there; 0: none is needed.
  uint64_t semaphore = 0;
  std::string name;  // the function, demangled; for a line the function that it is in, or empty
};

// What becomes of the copies of a function that were inlined.
enum class InlinedCopies { kLeave, kFind };

class CodePlaces {
 public:
  static absl::StatusOr<std::unique_ptr<CodePlaces>> Open(const std::string& path);
  ~CodePlaces();
  CodePlaces(const CodePlaces&) = delete;
  CodePlaces& operator=(const CodePlaces&) = delete;

  // At least one place: every function that matches, or all begins of visits to the line
  // (line_begins.h) in each function that has code of it. kFind adds the first instruction of each
  // inlined copy of a function whose name is no glob, unless a jump of the copy leads there.
  // `note`: what a user should know (inlined copies that are not counted, begins that may be no
  // visits), or empty.
  absl::StatusOr<std::vector<CodePlace>> Find(const PointSpec& spec, InlinedCopies inlined,
                                              std::string* note) const;

  // A function with code of its own, once for each address.
  struct Function {
    uint64_t begin;  // ELF address
    uint64_t end;
    std::string linkage_name;
    std::string name;  // demangled
  };
  const std::vector<Function>& functions() const { return functions_; }
  // Probes in the source, each at all of its places.
  std::vector<UsdtPlace> Probes() const;
  // Has code that the kernel restarts from its begin when it interrupts it (rseq).
  bool has_restartable_code() const;
  // False where the bytes of the address are not in the file.
  bool PlaceOf(const Function& function, CodePlace* place) const;
  // "FILE:LINE", without folders, or empty where there is no debug information.
  std::string LineOf(const Function& function) const;

 private:
  struct InlinedCall;
  struct LineSearch;
  struct RowsOfScope;

  CodePlaces() = default;
  void ReadFunctions();
  bool Locate(uint64_t elf_address, CodePlace* place) const;
  std::string FunctionAt(uint64_t elf_address) const;
  void LocateFunction(uint64_t segment_end, CodePlace* place) const;
  // That holds the address; empty: none is known.
  FunctionExtent ExtentAround(uint64_t elf_address) const;
  const std::vector<FunctionExtent>& FrameExtents() const;
  absl::StatusOr<std::vector<CodePlace>> FindFunction(const PointSpec& spec, InlinedCopies inlined,
                                                      std::string* note) const;
  // Moves the places of copies from `calls` to `found`, and leaves the other copies.
  void FindCopies(std::vector<InlinedCall>* calls, std::vector<CodePlace>* found) const;
  bool PlaceOfCopy(const InlinedCall& call, CodePlace* place) const;
  static uint64_t EntryBehindPadding(const InlinedCall& call, const CodePlace& place,
                                     const uint8_t* file, size_t file_bytes);
  absl::StatusOr<std::vector<CodePlace>> FindProbe(const PointSpec& spec) const;
  bool IsCode(uint64_t elf_address) const;
  bool IsData(uint64_t elf_address) const;
  absl::StatusOr<std::vector<CodePlace>> FindLine(const PointSpec& spec, std::string* note) const;
  void SearchUnit(const PointSpec& spec, Dwarf_Die* unit, Dwarf_Die* skeleton,
                  LineSearch* search) const;
  using RowsByScope = std::map<std::pair<const void*, Dwarf_Off>, RowsOfScope>;
  static void AddRow(const LineRow& row, const std::optional<LineScope>& scope,
                     RowsByScope* wanted);
  // `statements`: all of the unit, ascending by address.
  void FindBegins(const RowsOfScope& wanted, const std::vector<LineRow>& statements,
                  LineSearch* search) const;
  static std::string NoteOn(const PointSpec& spec, const LineSearch& search);
  // False where the bytes are not in the file.
  bool CodeOf(uint64_t elf_address, size_t wanted_bytes, CodePart* part) const;
  std::vector<InlinedCall> InlinedCalls(const PointSpec& spec) const;
  std::string WithoutSplits() const;
  absl::Status NoSuchFunction(const PointSpec& spec) const;
  absl::Status NoSymbols(const PointSpec& spec) const;
  absl::Status InlinedEverywhere(const PointSpec& spec, InlinedCopies inlined,
                                 const std::vector<InlinedCall>& calls) const;
  absl::Status NoSuchLine(const PointSpec& spec, const LineSearch& search) const;

  std::string path_;
  Dwfl_Callbacks callbacks_ = {};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  uint64_t elf_bias_ = 0;
  uint64_t dwarf_bias_ = 0;          // ELF address = address in the debug information + dwarf_bias_
  std::vector<Function> functions_;  // by address
  mutable std::optional<std::vector<FunctionExtent>> frame_extents_;
  std::vector<uint64_t> code_starts_;  // of functions and their cold parts, ascending
};

}  // namespace coz::points

#endif  // COZ_POINTS_CODE_PLACES_H_
