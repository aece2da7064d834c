"""All servers of the bench, in the order of the table."""
from leveldb_disk_server import LeveldbCold, LeveldbSlowDisk
from leveldb_server import Leveldb
from memcached_server import Memcached
from nginx_server import NginxEight, NginxTwo
from postgresql_commit_server import PostgresqlFsync, PostgresqlSlowFsync
from postgresql_server import PostgresqlEightSocket, PostgresqlEightTcp, PostgresqlTwoSocket, PostgresqlTwoTcp
from redis_server import Redis, RedisOneThread
from sqlite_server import Sqlite
from unbound_server import Unbound

SERVERS = (NginxTwo, NginxEight, PostgresqlTwoSocket, PostgresqlTwoTcp, PostgresqlEightSocket, PostgresqlEightTcp,
           Memcached, RedisOneThread, Redis, Leveldb, Sqlite, Unbound, PostgresqlFsync, PostgresqlSlowFsync, LeveldbCold,
           LeveldbSlowDisk)


def chosen(names):
    """Those whose name is one of `names` or begins with one; all where there are none. ValueError for a name of none."""
    for name in names:
        if not any(server.name.startswith(name) for server in SERVERS):
            raise ValueError("no server is called %s; there are: %s" % (name, ", ".join(s.name for s in SERVERS)))
    return [server for server in SERVERS if not names or any(server.name.startswith(name) for name in names)]
