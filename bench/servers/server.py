"""What the bench has to know of a server: a subclass for each, in a file of its own.

A server runs in one of two variants, BEFORE and AFTER a change that makes one function cheaper.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess

import processes

HERE = pathlib.Path(__file__).resolve().parent
BEFORE, AFTER = "before", "after"


def figure(pattern, output):
    """The number that a load generator printed, by the first group of `pattern`."""
    found = re.search(pattern, output, re.M)
    if not found:
        raise processes.Failed("no rate (%s) was found in: %s" % (pattern, output.strip()[-300:] or "nothing"))
    return float(found.group(1))


def load_threads(of_cpus):
    """How many threads a load generator has: one for so many CPUs, so that it does not limit the server where there are many."""
    return max(1, os.cpu_count() // of_cpus)


def _preloaded(libraries, library, command, environment):
    words = ["%s=%s" % pair for pair in environment.items()]
    return ["sh", "-c", 'LD_PRELOAD="%s" exec env "$@"' % libraries, library, *words, *command]


class Server:
    name = ""                    # in the table, and for --only
    program = ""                 # its folder, shared by servers of the same program
    packages = ()                # Debian packages that it needs
    binary = ""                  # coz's binary scope
    unit = ""                    # what the change makes cheaper, as coz names it
    counted_with = ()            # functions that do its work after the change, or a part of it
    unit_options = ("--unit=function",)
    line_options = ()            # instead of these, where all units are tried
    point = "requests"           # its progress point
    point_options = ()           # none where the source is marked
    change = ""                  # the change in a few words
    kind = ""                    # "knob", "code" or "artificial": what sort of change it is
    load = ""                    # who asks, and by how many connections
    stop_signal = signal.SIGTERM
    refuses_root = False
    asks_itself = False          # server and load are one program
    busy_cpus = None             # how many are always busy with what limits the rate; None: not known

    def __init__(self, folder, port):
        self.base = pathlib.Path(folder)
        self.folder = self.base / self.program
        self.port = port

    def build(self):
        """Makes what it needs below its folder."""
        processes.run([HERE / self.program / "build.sh", self.folder], 1200, self.base / ("%s-build.log" % self.program))

    def command(self, variant):
        """Starts the server, listening on 127.0.0.1 or a socket in its folder alone."""
        raise NotImplementedError

    def is_ready(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def fill(self, _variant):
        """Puts in what the load asks for."""

    def drive(self, variant, seconds):
        """Loads the server for so long; requests per second."""
        raise NotImplementedError

    def clean(self):
        """Removes what runs that were cut short have left outside of its folder."""

    def run_load(self, command, seconds):
        """Runs a load generator that ends by itself; its output."""
        return processes.run(command, seconds + 60, self.log("load"))

    def log(self, what):
        # A session below coz may be of another user than the bench outside.
        return self.folder / ("%s-%s-%d.log" % (self.name, what, os.getuid()))

    @staticmethod
    def preloaded_behind(library, command, **environment):
        """The command with `library` behind coz's in LD_PRELOAD, where there is one: so coz sees calls before it does."""
        return _preloaded("${LD_PRELOAD:+$LD_PRELOAD:}$0", library, command, environment)

    @staticmethod
    def preloaded_before(library, command, **environment):
        """The same with `library` before coz's: what it does before it calls on is the program's own work."""
        return _preloaded("$0${LD_PRELOAD:+:$LD_PRELOAD}", library, command, environment)

    def build_library(self, source):
        """Compiles a library to preload into its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", (self.folder / source.name).with_suffix(".so"), source], check=True)

    def user_prefix(self):
        """Makes a command an ordinary user's, where the bench is root's and the server refuses that."""
        if not self.refuses_root or os.getuid() != 0:
            return []
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=%s" % self.folder]
