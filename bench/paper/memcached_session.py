#!/usr/bin/env python3
"""One session with memcached: it is started, filled, loaded for some seconds, and ended. Prints requests per second.

Usage: memcached_session.py FOLDER SECONDS [COMMAND...]      COMMAND is put before the server's
"""
import socket
import sys

from other_benches import memcached_server, processes, server, servers, session

_END_LIMIT_S = 60


class Memcached(memcached_server.Memcached):
    """That of bench/servers, with keys that the caches of a CPU hold: less time goes into waits for memory."""
    program = ""  # its folder is the one that is given
    keys = 10_000

    def command(self, variant):
        return [*super().command(variant), "-A"]

    def drive(self, variant, seconds):
        rate = super().drive(variant, seconds)
        self._end()
        return rate

    def _end(self):
        """Has it end by itself: a signal would end the original's command instead."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(b"shutdown\r\n")
            connection.recv(1)
        processes.wait_until(lambda: not self.is_ready(), _END_LIMIT_S, "memcached's end")


def main(arguments):
    folder, seconds, *prefix = arguments
    processes.own_groups = False
    memcached = Memcached(folder, servers.free_port())
    print("requests per second: %.3f" % session.run(memcached, server.AFTER, float(seconds), prefix))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except processes.Failed as failure:
        sys.exit("memcached_session.py: %s" % failure)
