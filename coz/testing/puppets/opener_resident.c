/*
 * A program that opens libwaiting_plugin.so when it is told to, for tests that attach to it before.
 * It visits "asked" for each question.
 *
 * Lines of standard input, each answered by one of output:
 *   open FILE  opens the library and starts its thread
 *   ask N      asks N questions; prints "answered" where each answer is right
 *   close      ends the thread and closes the library
 *   end        ends the program
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coz.h"

static void* library;
static int (*start)(void);
static uint64_t (*ask)(uint64_t);
static void (*stop)(void);

static const char* open_library(char* file) {
  file[strcspn(file, "\n")] = '\0';
  library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return "not found";
  if (dlerror() != NULL) return "an error that is another's";
  *(void**)&start = dlsym(library, "plugin_start");
  *(void**)&ask = dlsym(library, "plugin_ask");
  *(void**)&stop = dlsym(library, "plugin_stop");
  return start() == 0 ? "opened" : "not started";
}

static const char* ask_questions(int count) {
  for (int i = 0; i < count; ++i) {
    if (ask((uint64_t)i) != (uint64_t)i + 1) return "wrong";
    COZ_PROGRESS_NAMED("asked");
  }
  return "answered";
}

static const char* close_library(void) {
  stop();
  return dlclose(library) == 0 ? "closed" : "not closed";
}

int main(void) {
  char line[4096];
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "end\n") != 0) {
    const char* answer = "unknown";
    if (strncmp(line, "open ", 5) == 0) answer = open_library(line + 5);
    if (strncmp(line, "ask ", 4) == 0) answer = ask_questions(atoi(line + 4));
    if (strcmp(line, "close\n") == 0) answer = close_library();
    printf("%s\n", answer);
    fflush(stdout);
  }
  printf("right\n");
  return 0;
}
