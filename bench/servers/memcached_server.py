"""memcached with four threads. The change is the size of its hash table: 8,192 lists for 400,000 keys, or 524,288."""
import os
import socket

import processes
from server import BEFORE, Server, figure, load_threads

_CONNECTIONS = 32
_THREADS = 4
_VALUE = b"v" * 32


def set_commands(keys):
    """The commands that put in so many keys, unanswered but for the last."""
    for key in range(keys):
        yield b"set key-%08d 0 0 %d%s\r\n%s\r\n" % (key, len(_VALUE), b"" if key == keys - 1 else b" noreply", _VALUE)


class Memcached(Server):
    name = "memcached"
    program = "memcached"
    packages = ("libevent-dev",)
    binary = "%/memcached"
    unit = "assoc_find"
    change = "hash table of 2^19 lists instead of 2^13"
    kind = "knob"
    busy_cpus = min(os.cpu_count(), _THREADS)  # two CPUs are busy with its threads and the load
    load = "memcached/load.c, %d connections" % _CONNECTIONS
    keys = 400_000

    def command(self, variant):
        user = ["-u", "nobody"] if os.getuid() == 0 else []
        return [self.folder / "memcached/memcached", "-l", "127.0.0.1", "-p", self.port, "-U", 0, "-t", _THREADS, "-m", 256, *user,
                "-o", "no_hashexpand,hashpower=%d" % (13 if variant == BEFORE else 19)]

    def fill(self, variant):
        with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
            connection.sendall(b"".join(set_commands(self.keys)))
            if connection.recv(100) != b"STORED\r\n":
                raise processes.Failed("memcached did not take %d keys; read %s" % (self.keys, self.log("server")))

    def drive(self, variant, seconds):
        return figure(r"^([\d.]+) requests per second", self.run_load(
            [self.folder / "load", self.port, _CONNECTIONS, seconds, self.keys, load_threads(2)], seconds))
