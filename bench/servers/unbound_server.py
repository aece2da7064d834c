"""unbound, a DNS server, with dnsperf, which asks by datagrams for what the server knows itself. Debian's server is stripped:
the unit and the progress point are sendto() of preloaded/slow_send.c, by which it answers.

The change is artificial: so many microseconds of CPU time in each answer, and none.
"""
import os
import shutil

from server import BEFORE, HERE, Server, figure, load_threads

_SLOWER_US = 20
_THREADS = 4  # as in unbound/fixed.conf
_CLIENTS = 8
_OUTSTANDING = 64
_NAMES = 100


def configuration(folder, port):
    """Of a server whose folder has fixed.conf."""
    lines = ["port: %d" % port, 'directory: "%s"' % folder]
    lines += ['local-data: "host-%d.test. A 192.0.2.%d"' % (number, number) for number in range(_NAMES)]
    return 'include: "%s/fixed.conf"\nserver:\n' % folder + "".join("  %s\n" % line for line in lines)


class Unbound(Server):
    name = "unbound"
    program = "unbound"
    packages = ("unbound", "dnsperf")
    binary = "%/slow_send.so"
    unit = "sendto"
    point = "slow_send.so!sendto"
    point_options = ("--progress=slow_send.so!sendto",)
    change = "%d us less in each answer" % _SLOWER_US
    kind = "artificial"
    busy_cpus = min(os.cpu_count(), _THREADS)  # two CPUs are busy with its threads and the load
    load = "dnsperf, %d clients, %d queries at a time" % (_CLIENTS, _OUTSTANDING)

    def build(self):
        self.build_library(HERE / "preloaded/slow_send.c")
        shutil.copy(HERE / "unbound/fixed.conf", self.folder)

    def command(self, variant):
        settings = self.folder / ("%d.conf" % self.port)
        settings.write_text(configuration(self.folder, self.port))
        return self.preloaded_before(self.folder / "slow_send.so", ["/usr/sbin/unbound", "-d", "-c", settings],
                                     SLOW_SEND_US=_SLOWER_US if variant == BEFORE else 0)

    def drive(self, _variant, seconds):
        queries = self.folder / "queries"
        queries.write_text("".join("host-%d.test A\n" % number for number in range(_NAMES)))
        return figure(r"Queries per second:\s+([\d.]+)", self.run_load(
            ["dnsperf", "-s", "127.0.0.1", "-p", self.port, "-d", queries, "-c", _CLIENTS, "-q", _OUTSTANDING,
             "-T", load_threads(2), "-l", max(1, round(seconds))], seconds))
