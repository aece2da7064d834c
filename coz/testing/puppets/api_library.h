/* Functions that other objects call, of libapi.so. */
#ifndef COZ_TESTING_PUPPETS_API_LIBRARY_H_
#define COZ_TESTING_PUPPETS_API_LIBRARY_H_

#include <setjmp.h>

#include <cstdint>

extern "C" {

uint64_t ApiPlain(uint64_t x);
uint64_t ApiTail(uint64_t x);                  // ends by a jump to ApiPlain
uint64_t ApiInside(uint64_t x);                // calls ApiPlain twice
uint64_t ApiThrows(uint64_t x);                // a uint64_t where x is a multiple of 10
uint64_t ApiJumps(uint64_t x, jmp_buf* back);  // to `back` where x is a multiple of 10
uint64_t ApiCalls(uint64_t (*function)(uint64_t), uint64_t x);
void ApiWaits();  // for ever, where a thread may be cancelled
// The sum of all: arguments in every kind of register, and on the stack.
double ApiMany(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, double g,
               double h, double i, double j, double k, double l, double m, double n, uint64_t o,
               double p);

uint64_t MiddlePlain(uint64_t x);  // of libmiddle.so: calls ApiPlain

}  // extern "C"

#endif  // COZ_TESTING_PUPPETS_API_LIBRARY_H_
