#!/usr/bin/env python3
"""One session with a server: it is started, filled, loaded for some seconds, and ended. Prints requests per second.

Usage: session.py SERVER VARIANT SECONDS PORT FOLDER      below `coz run`: the load generator is followed, too
"""
import sys

import catalogue
import processes

_START_LIMIT_S = 60


def run(server, variant, seconds, prefix=()):
    """Requests per second. `prefix` is put before the server's command, such as `coz run`; the load runs beside."""
    if server.asks_itself:
        return server.drive(variant, seconds)
    process = processes.start([*server.user_prefix(), *prefix, *server.command(variant)], server.log("server"),
                              cwd=server.folder)
    try:
        processes.wait_until(lambda: process.poll() is not None or server.is_ready(), _START_LIMIT_S,
                             "%s's first answer" % server.name)
        if process.poll() is not None:
            raise processes.Failed("%s ended with status %d instead of serving; read %s" %
                                   (server.name, process.returncode, server.log("server")))
        server.fill(variant)
        return server.drive(variant, seconds)
    finally:
        processes.end(process, server.stop_signal, 20)


def main(arguments):
    name, variant, seconds, port, folder = arguments
    processes.own_groups = False
    server = next(kind for kind in catalogue.SERVERS if kind.name == name)(folder, int(port))
    print("requests per second: %.3f" % run(server, variant, float(seconds)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except processes.Failed as failure:
        sys.exit("session.py: %s" % failure)
