"""PostgreSQL with pgbench that selects single rows. Debian's server is stripped: functions are known by the 10,000 names
that it exports to its modules, and the progress point is one of them, called once for each query that has been answered.

The change is artificial: slow_send.c puts so many microseconds of CPU time into each send(), and takes them out again.
"""
import glob
import os
import shutil
import signal
import subprocess

import processes
from server import BEFORE, HERE, Server, figure, load_threads

_SLOWER_US = 40
_OPTIONS = ("listen_addresses=127.0.0.1", "autovacuum=off", "shared_buffers=64MB", "log_min_messages=fatal",
            "bgwriter_lru_maxpages=0")


def rate_of_pgbench(output):
    return figure(r"^tps = ([\d.]+)", output)


def newest_tools():
    """The newest installed version's folder."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
    if not found:
        raise processes.Failed("no PostgreSQL was found in /usr/lib/postgresql; run: apt-get install postgresql")
    return found[-1]


class Postgresql(Server):
    program = "postgresql"
    packages = ("postgresql",)
    binary = "%/bin/postgres"
    unit = "secure_write"
    line_options = ("--unit=function",)
    point = "ReadyForQuery"
    point_options = ("--progress=ReadyForQuery",)
    change = "%d us less in each send()" % _SLOWER_US
    kind = "artificial"
    stop_signal = signal.SIGINT
    refuses_root = True
    pgbench = ("-S",)
    scale = 2
    clients = 0
    by_socket = False

    @property
    def busy_cpus(self):
        return min(os.cpu_count(), self.clients)   # two CPUs are busy with its processes and pgbench

    @property
    def load(self):
        return "pgbench, %d clients, %s" % (self.clients, "socket" if self.by_socket else "TCP")

    @property
    def tools(self):
        return newest_tools()

    def build(self):
        self.build_library(HERE / "preloaded/slow_send.c")
        data = self.folder / "data"
        if (self.folder / "filled").exists():
            return
        shutil.rmtree(data, ignore_errors=True)
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        processes.run([*self.user_prefix(), self.tools + "/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], 120,
                      self.base / "postgresql-initdb.log", cwd=self.folder)

    def fsync(self, _variant):
        return "off"

    def server_options(self, variant):
        return (*_OPTIONS, "fsync=" + self.fsync(variant))

    def bare_command(self, variant):
        server = [self.tools + "/postgres", "-D", self.folder / "data", "-p", self.port, "-k", self.folder]
        for option in self.server_options(variant):
            server += ["-c", option]
        return server

    def command(self, variant):
        # Without slowness the function is in the way as well.
        return self.preloaded_before(self.folder / "slow_send.so", self.bare_command(variant),
                                     SLOW_SEND_US=_SLOWER_US if variant == BEFORE else 0)

    def is_ready(self):
        return subprocess.run([self.tools + "/pg_isready", "-q", *self._where()], check=False).returncode == 0

    def fill(self, variant):
        if (self.folder / "filled").exists():
            return
        self.run_load([self.tools + "/pgbench", *self._where(), "-i", "-q", "-s", self.scale, "-U", "postgres", "postgres"], 60)
        (self.folder / "filled").touch()

    def drive(self, variant, seconds):
        return rate_of_pgbench(self.run_load(
            [self.tools + "/pgbench", *self._where(), "-U", "postgres", *self.pgbench, "-n", "-c", self.clients, "-j",
             min(self.clients, max(2, load_threads(4))), "-T", max(1, round(seconds)), "postgres"], seconds))

    def _where(self):
        return ["-h", str(self.folder) if self.by_socket else "127.0.0.1", "-p", str(self.port)]


class PostgresqlTwoSocket(Postgresql):
    name, clients, by_socket = "postgresql-2-socket", 2, True


class PostgresqlTwoTcp(Postgresql):
    name, clients, by_socket = "postgresql-2-tcp", 2, False


class PostgresqlEightSocket(Postgresql):
    name, clients, by_socket = "postgresql-8-socket", 8, True


class PostgresqlEightTcp(Postgresql):
    name, clients, by_socket = "postgresql-8-tcp", 8, False
