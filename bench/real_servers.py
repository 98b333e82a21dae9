"""Servers of our own, each with a steady load of commits. Imported by bench/services and scripts/services-verdicts, not run."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from delayed_disks import Missing, needs, succeeds
from etcd_puts import send_puts

COMMITS_A_SECOND = 100


def ended(process, how=signal.SIGTERM):
    process.send_signal(how)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def opened_file(process, descriptor):
    """The path behind a descriptor of a process; none where it is closed already."""
    try:
        return os.readlink(f"/proc/{process.pid}/fd/{descriptor}")
    except OSError:
        return ""


def as_nobody(program, *arguments):
    """These servers do not run as root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", str(program), *arguments]


class Etcd:
    """An etcd whose files are in a directory. Its database has free pages, as one has that is in use for long."""

    name, model, stream = "etcd", "etcd", "wal-sync"

    def __init__(self, directory):
        needs("etcd", "etcd-server")
        ports = []
        for _ in range(2):
            with socket.create_server(("127.0.0.1", 0)) as free:
                ports.append(free.getsockname()[1])
        self.port = ports[0]
        clients, peers = (f"http://127.0.0.1:{port}" for port in ports)
        arguments = {
            "data-dir": os.path.join(directory, "etcd"), "listen-client-urls": clients, "advertise-client-urls": clients,
            "listen-peer-urls": peers, "initial-advertise-peer-urls": peers, "initial-cluster": f"default={peers}",
        }
        command = ["etcd", *(word for key, value in arguments.items() for word in (f"--{key}", value))]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait()
            self._age()
        except BaseException:
            self.end()
            raise

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._put(self._connection(), "first", 1)
            time.sleep(0.1)
        raise Missing("etcd does not answer")

    def _age(self):
        connection = self._connection()
        for _ in range(24):
            self._put(connection, "filling", 1_000_000)
        self._post(connection, "/v3/kv/compaction", {"revision": "24", "physical": True})
        self._put(connection, "filling", 1)

    def _connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def _put(self, connection, key, size):
        encoded = {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(b"v" * size).decode()}
        self._post(connection, "/v3/kv/put", encoded)

    def _post(self, connection, path, body):
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise OSError(f"etcd: {said[:200]}")

    def load(self, seconds):
        send_puts(self.port, COMMITS_A_SECOND, seconds)

    def processes(self):
        return [self.process.pid]

    def is_log(self, descriptor):
        return opened_file(self.process, descriptor).endswith(".wal")

    def histogram(self):
        """Its own count of syncs of the log of at most so many seconds."""
        connection = self._connection()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        buckets = re.findall(r'etcd_disk_wal_fsync_duration_seconds_bucket\{le="([^"]+)"\} (\d+)', text)
        return {float(bound): int(count) for bound, count in buckets}

    def end(self):
        ended(self.process)


class Postgres:
    """A PostgreSQL with pgbench's tables, whose files are in a directory. It does not run as root."""

    name, model, stream = "PostgreSQL", "postgres-wal", "wal-sync"
    scale = 8

    def __init__(self, directory):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda path: int(path.parts[-3]))
        if not found:
            raise Missing("PostgreSQL is not installed (package postgresql)")
        self.programs, self.place = found[-1].parent, os.path.join(directory, "postgres")
        os.mkdir(self.place)
        shutil.chown(self.place, "nobody", "nogroup")
        data = os.path.join(self.place, "data")
        initdb = as_nobody(self.programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "--no-sync")
        succeeds(*initdb, cwd=self.place)
        settings = ["-c", "listen_addresses=", "-c", "shared_buffers=256MB", "-c", "checkpoint_timeout=1h"]
        server = as_nobody(self.programs / "postgres", "-D", data, "-k", self.place, *settings)
        self.process = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.place)
        try:
            self._wait()
            self._client("pgbench", "-i", "-q", "-s", str(self.scale))
            self._client("psql", "-c", "CHECKPOINT")
        except BaseException:
            self.end()
            raise

    def _client(self, program, *arguments):
        database = ("-d", "postgres") if program == "psql" else ("postgres",)
        return succeeds(self.programs / program, "-h", self.place, "-U", "postgres", *arguments, *database)

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(Missing):
                return self._client("psql", "-c", "SELECT 1")
            time.sleep(0.1)
        raise Missing("PostgreSQL does not answer")

    def load(self, seconds):
        self._client("pgbench", "-n", "-c", "8", "-R", str(COMMITS_A_SECOND), "-T", str(seconds))

    def processes(self):
        first = self.process.pid
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def is_log(self, _descriptor):
        """Nothing else is synchronised by fdatasync while no checkpoint is made."""
        return True

    def end(self):
        ended(self.process, signal.SIGINT)


class MariaDb:
    """A MariaDB with sysbench's table, whose files are in a directory. It has no binary log, so that a commit waits for the redo
    log alone."""

    name, model, stream = "MariaDB", "mariadb-redo", "redo-sync"
    rows = 100_000

    def __init__(self, directory):
        for program, package in (("mariadbd", "mariadb-server"), ("sysbench", "sysbench")):
            needs(program, package)
        self.place = os.path.join(directory, "mariadb")
        self.socket = os.path.join(self.place, "socket")
        os.mkdir(self.place)
        shutil.chown(self.place, "nobody", "nogroup")
        places = ["--no-defaults", f"--datadir={self.place}/data", f"--tmpdir={self.place}"]
        kind = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        succeeds(*as_nobody("mariadb-install-db", *places, *kind), cwd=self.place)
        self._age()
        options = [f"--socket={self.socket}", f"--pid-file={self.place}/pid", "--skip-networking", "--innodb-buffer-pool-size=256M"]
        server = as_nobody(shutil.which("mariadbd"), *places, *options)
        self.process = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.place)
        try:
            self._wait()
            self._sysbench("prepare")
        except BaseException:
            self.end()
            raise

    def _age(self):
        """Writes all blocks of the ring, as a server in use has done: the first syncs of a block of fallocate wait for the
        journal too."""
        ring = os.path.join(self.place, "data", "ib_logfile0")
        with open(ring, "r+b") as file:
            content = file.read()
            file.seek(0)
            file.write(content)

    def _wait(self):
        create = ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-e", "CREATE DATABASE IF NOT EXISTS sbtest"]
        for _ in range(300):
            with contextlib.suppress(Missing):
                return succeeds(*create)
            time.sleep(0.1)
        raise Missing("MariaDB does not answer")

    def _sysbench(self, step, *options):
        where = [f"--mysql-socket={self.socket}", "--mysql-user=root", f"--table-size={self.rows}", "--threads=8"]
        return succeeds("sysbench", "oltp_update_non_index", *where, *options, step)

    def load(self, seconds):
        self._sysbench("run", f"--rate={COMMITS_A_SECOND}", f"--time={seconds}", "--events=0")

    def processes(self):
        return [self.process.pid]

    def is_log(self, descriptor):
        return os.path.basename(opened_file(self.process, descriptor)) == "ib_logfile0"

    def end(self):
        ended(self.process)


class RocksDb:
    """A program that holds a RocksDB open (rocksdb_writer.py). Not db_bench: the limiter behind its write rate lets the writes
    of 100 ms through at once, ten syncs one after the other."""

    name, model, stream = "RocksDB", "rocksdb-sync", "log-sync"

    def __init__(self, directory):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rocksdb_writer.py")
        command = [sys.executable, program, os.path.join(directory, "rocksdb"), str(COMMITS_A_SECOND)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self._answer()
        except BaseException:
            self.end()
            raise

    def _answer(self):
        said = self.process.stdout.readline().strip()
        if said != "ready":
            raise Missing(said or "RocksDB ended")

    def load(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self._answer()

    def processes(self):
        return [self.process.pid]

    def is_log(self, descriptor):
        return opened_file(self.process, descriptor).endswith(".log")

    def end(self):
        self.process.stdin.close()
        ended(self.process)
