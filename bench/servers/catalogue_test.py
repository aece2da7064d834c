#!/usr/bin/env python3
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import catalogue
import leveldb_disk_server
import leveldb_server
import memcached_server
import nginx_server
import postgresql_commit_server
import postgresql_server
import processes
import redis_server
from server import AFTER, BEFORE, HERE, Server


class CatalogueTest(unittest.TestCase):
    def test_a_beginning_chooses_all_servers_that_have_it(self):
        self.assertEqual([server.name for server in catalogue.chosen(["nginx", "redis"])], 
                         ["nginx-2", "nginx-8", "redis-1", "redis"])

    def test_no_name_chooses_all(self):
        self.assertEqual(catalogue.chosen([]), list(catalogue.SERVERS))

    def test_unknown_name_is_refused_with_those_that_are(self):
        with self.assertRaisesRegex(ValueError, "no server is called apache; there are: nginx-2, "):
            catalogue.chosen(["redis", "apache"])

    def test_descriptions_are_whole_and_names_differ(self):
        for server in catalogue.SERVERS:
            described = server("/nowhere", 1)
            for field in ("name", "program", "binary", "unit", "point", "change", "load"):
                self.assertTrue(getattr(described, field), (server, field))
            self.assertIn(described.kind, ("knob", "code", "artificial"))
            self.assertTrue((HERE / described.program).is_dir())
        self.assertEqual(len({server.name for server in catalogue.SERVERS}), len(catalogue.SERVERS))

    def test_servers_listen_to_this_machine_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "nginx/run/conf").mkdir(parents=True)
            for kind in (nginx_server.NginxTwo, memcached_server.Memcached, redis_server.Redis):
                server = kind(folder, 12345)
                words = " ".join(map(str, server.command(BEFORE)))
                if kind is nginx_server.NginxTwo:
                    words = (pathlib.Path(folder) / "nginx/run/conf/nginx.conf").read_text()
                self.assertRegex(words, r"127\.0\.0\.1")
                self.assertNotRegex(words, r"0\.0\.0\.0|\*:")

    def test_both_variants_differ_in_one_word(self):
        for kind in (memcached_server.Memcached, redis_server.Redis):
            before, after = (kind("/nowhere", 1).command(variant) for variant in (BEFORE, AFTER))
            self.assertEqual(sum(one != other for one, other in zip(before, after)), 1)

    def test_variants_that_wait_for_the_disk_differ_in_what_they_wait_for(self):
        with mock.patch("postgresql_server.newest_tools", lambda: "/bin"):
            for kind, before_alone, after_alone in (
                    (postgresql_commit_server.PostgresqlFsync, {"fsync=on"}, {"fsync=off"}),
                    (postgresql_commit_server.PostgresqlSlowFsync, {"SLOW_SYNC_US=2000"}, {"SLOW_SYNC_US=500"})):
                before, after = (set(kind("/nowhere", 1).command(variant)) for variant in (BEFORE, AFTER))
                self.assertEqual((before - after, after - before), (before_alone, after_alone))
                self.assertIn("fsync=on", before)
        self.assertEqual(leveldb_disk_server.LeveldbCold("/nowhere", 1).environment(AFTER), {"DISK_READS": 0})

    def test_what_stands_for_a_disk_is_preloaded_behind_coz(self):
        command = Server.preloaded_behind("/slow.so", ["sh", "-c", 'echo "$LD_PRELOAD $SLOW"'], SLOW=7)
        for before, after in (("", "/slow.so 7"), ("/coz.so", "/coz.so:/slow.so 7")):
            done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": before}, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=True)  # the linker finds neither
            self.assertEqual(done.stdout, after + "\n")


class ParsingTest(unittest.TestCase):
    def test_rate_of_wrk(self):
        self.assertEqual(nginx_server.rate_of_wrk("  100 requests in 2.00s\nRequests/sec:   2407.33\n"), 2407.33)

    def test_output_without_a_rate_is_a_failure(self):
        with self.assertRaisesRegex(processes.Failed, "unable to connect"):
            nginx_server.rate_of_wrk("unable to connect to 127.0.0.1:1 Connection refused\n")
        with self.assertRaisesRegex(processes.Failed, "IO error: lock"):
            leveldb_server.rate_of_db_bench("open error: IO error: lock\n")

    def test_rate_of_pgbench(self):
        output = "number of failed transactions: 0\ninitial connection time = 2.1 ms\ntps = 9014.2 (without initial ...)\n"
        self.assertEqual(postgresql_server.rate_of_pgbench(output), 9014.2)

    def test_rate_of_db_bench_is_of_all_threads_and_databases(self):
        output = "\rfillbatch    :       4.000 micros/op;  2.5 MB/s\nfillbatch    :       6.000 micros/op;  2.5 MB/s\n"
        self.assertAlmostEqual(leveldb_server.rate_of_db_bench(output), 4e6 / 5)
        self.assertAlmostEqual(leveldb_server.rate_of_db_bench("readrandom   :   8.000 micros/op; (9 of 9 found)"), 4e6 / 8)

    def test_number_of_redis_information(self):
        information = "$90\r\n# Stats\r\ntotal_connections_received:2\r\ntotal_commands_processed:41\r\n"
        self.assertEqual(redis_server.number_of(information, "total_commands_processed"), 41)
        with self.assertRaisesRegex(ValueError, "no absent"):
            redis_server.number_of(information, "absent")

    def test_memcached_answers_the_last_key_alone(self):
        commands = list(memcached_server.set_commands(3))
        self.assertEqual([b"noreply" in command for command in commands], [True, True, False])
        self.assertTrue(commands[2].startswith(b"set key-00000002 0 0 32\r\n"))


if __name__ == "__main__":
    unittest.main()
