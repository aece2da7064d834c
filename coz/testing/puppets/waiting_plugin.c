/*
 * What opener_resident opens: a thread of its own answers questions. Nothing but this library calls
 * pthread functions for that.
 */
#include <pthread.h>
#include <stdint.h>

uint64_t plugin_ask(uint64_t x);
int plugin_start(void);
void plugin_stop(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int has_question;
static int has_answer;
static int is_over;
static uint64_t number;

static void* answer(void* unused) {
  pthread_mutex_lock(&mutex);
  while (1) {
    while (!has_question && !is_over) pthread_cond_wait(&changed, &mutex);
    if (is_over) break;
    has_question = 0;
    ++number;
    has_answer = 1;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

int plugin_start(void) {
  is_over = 0;
  return pthread_create(&thread, NULL, answer, NULL);
}

uint64_t plugin_ask(uint64_t x) {
  pthread_mutex_lock(&mutex);
  number = x;
  has_question = 1;
  pthread_cond_broadcast(&changed);
  while (!has_answer) pthread_cond_wait(&changed, &mutex);
  has_answer = 0;
  x = number;
  pthread_mutex_unlock(&mutex);
  return x;
}

void plugin_stop(void) {
  pthread_mutex_lock(&mutex);
  is_over = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
}
