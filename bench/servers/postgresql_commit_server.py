"""PostgreSQL with pgbench that updates rows: each commit waits until the disk has it, by itself or for one that does so for
several. The wait is coz's unit, by its kind, since Debian's server has no debug information.

Commits wait for the folder's own disk or, where that is not steady enough to tell, for slow_sync.c, which stands for one.
"""

from postgresql_server import Postgresql
from server import BEFORE, HERE

_BEFORE_US, _AFTER_US = 2000, 500
# Whole pages in the log, and a log that grows, would make a server slower in its first seconds than later.
_OPTIONS = ("full_page_writes=off", "min_wal_size=512MB", "checkpoint_timeout=1h")


class PostgresqlCommit(Postgresql):
    unit = "disk sync"
    unit_options = line_options = ("--unit=wait",)
    pgbench = ("-N",)
    scale = 10
    clients = 4
    by_socket = True

    def __init__(self, folder, port):
        super().__init__(folder, port)
        self.folder = self.base / "postgresql-commit"  # other tables than those that are only read

    @property
    def load(self):
        return "pgbench that updates, %d clients, socket" % self.clients

    def server_options(self, variant):
        return (*super().server_options(variant), *_OPTIONS)

    def fsync(self, _variant):
        return "on"


class PostgresqlFsync(PostgresqlCommit):
    name = "postgresql-fsync"
    change = "fsync=off"
    kind = "knob"

    def fsync(self, variant):
        return "on" if variant == BEFORE else "off"

    def command(self, variant):
        return self.bare_command(variant)


class PostgresqlSlowFsync(PostgresqlCommit):
    name = "postgresql-slow-fsync"
    change = "each fdatasync() takes %d us for %d" % (_AFTER_US, _BEFORE_US)
    kind = "artificial"

    def build(self):
        super().build()
        self.build_library(HERE / "postgresql/slow_sync.c")

    def command(self, variant):
        return self.preloaded_behind(self.folder / "slow_sync.so", self.bare_command(variant),
                                     SLOW_SYNC_US=_BEFORE_US if variant == BEFORE else _AFTER_US)
