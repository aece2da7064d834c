/* For a program with the original's header: the same pair with ours, whose visits have times. */
#include "backlog_timed.h"

#include "coz.h"

void arrive_timed(void) { COZ_BEGIN("timed"); }
void depart_timed(void) { COZ_END("timed"); }
