#ifndef COZ_TESTING_PUPPETS_BACKLOG_TIMED_H_
#define COZ_TESTING_PUPPETS_BACKLOG_TIMED_H_

void arrive_timed(void);
void depart_timed(void);

#endif  // COZ_TESTING_PUPPETS_BACKLOG_TIMED_H_
