"""redis with one and with two I/O threads, asked for fields of one hash. The change is how the hash is kept: as a list that is searched from
its begin, or as a hash table."""
import signal
import socket
import subprocess
import time

import processes
from server import BEFORE, Server

_FIELDS = 10_000
_CONNECTIONS = 32


def number_of(information, field):
    """Of redis' INFO."""
    for line in information.splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value)
    raise ValueError("redis' INFO has no " + field)


class Redis(Server):
    name = "redis"
    program = "redis"
    packages = ("redis-tools",)
    binary = "%/redis-server"
    unit = "lpFind"
    counted_with = ("dictFind",)
    unit_options = ("--unit=function", "--without-inlined-copies")
    change = "hash of %d fields as hash table, not listpack" % _FIELDS
    kind = "knob"
    load = "redis-benchmark, %d connections" % _CONNECTIONS
    busy_cpus = 1                # by the thread that answers
    requests_at_once = 1         # of a connection, before it waits for the answers
    io_threads = 2               # the first is the one that answers; the others spin while they wait for it

    def command(self, variant):
        return [self.folder / "redis/src/redis-server", "--bind", "127.0.0.1", "--port", self.port, "--save", "",
                "--appendonly", "no", "--dir", self.folder, "--io-threads", self.io_threads, "--io-threads-do-reads", "yes",
                "--hash-max-listpack-entries", 2 * _FIELDS if variant == BEFORE else 0]

    def ask(self, command, wanted=1):
        """Sends one line, and reads until redis has ended so many lines."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            connection.sendall(command)
            answer = b""
            while answer.count(b"\r\n") < wanted:
                part = connection.recv(1 << 16)
                if not part:
                    break
                answer += part
        return answer.decode()

    def fill(self, variant):
        commands = b"".join(b"HSET __h %012d value\r\n" % field for field in range(_FIELDS))
        if self.ask(commands, _FIELDS).count(":1") != _FIELDS:
            raise processes.Failed("redis did not take %d fields; read %s" % (_FIELDS, self.log("server")))

    def answered(self):
        # The first line tells the length; the section has more lines than 10, of which the one that counts is the second.
        return number_of(self.ask(b"INFO stats\r\n", 10), "total_commands_processed")

    def drive(self, variant, seconds):
        """redis-benchmark ends after a number of requests, not after a time: so the server counts, and the load is ended."""
        load = processes.start(["redis-benchmark", "-p", self.port, "-c", _CONNECTIONS, "-n", 2_000_000_000, "-r", _FIELDS,
                                "-P", self.requests_at_once, "-q", "HGET", "__h", "__rand_int__"], self.log("load"))
        try:
            time.sleep(0.3)  # until all connections ask
            before, start_s = self.answered(), time.monotonic()
            try:
                load.wait(seconds)
                raise processes.Failed("redis-benchmark ended by itself; read %s" % self.log("load"))
            except subprocess.TimeoutExpired:
                return (self.answered() - before) / (time.monotonic() - start_s)
        finally:
            processes.end(load, signal.SIGTERM, 5)


class RedisOneThread(Redis):
    name = "redis-1"
    io_threads = 1


class RedisAtOnce(RedisOneThread):
    """Some hundred thousand requests a second."""
    name = "redis-at-once"
    requests_at_once = 16
    load = "redis-benchmark, %d connections with %d requests at once" % (_CONNECTIONS, requests_at_once)
