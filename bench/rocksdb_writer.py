#!/usr/bin/env python3
"""`rocksdb_writer.py DIRECTORY RATE`: writes to a RocksDB with sync = true, by the library's interface for C (rocksdb/c.h).
For each line of its input, a number of seconds, it makes RATE writes a second of 16 + 400 bytes for so long, which come
independently of each other, and says "ready". real_servers.py starts it."""

import ctypes
import glob
import random
import sys
import threading
import time

WRITERS = 8
KEYS = 1_000_000


def library():
    found = sorted(glob.glob("/usr/lib/*/librocksdb.so*"))
    if not found:
        sys.exit(print("librocksdb is not installed (package rocksdb-tools)"))
    rocksdb = ctypes.CDLL(found[-1])
    for makes in ("rocksdb_options_create", "rocksdb_writeoptions_create", "rocksdb_open"):
        getattr(rocksdb, makes).restype = ctypes.c_void_p
    rocksdb.rocksdb_options_set_create_if_missing.argtypes = [ctypes.c_void_p, ctypes.c_ubyte]
    rocksdb.rocksdb_writeoptions_set_sync.argtypes = [ctypes.c_void_p, ctypes.c_ubyte]
    error = ctypes.POINTER(ctypes.c_char_p)
    rocksdb.rocksdb_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, error]
    text = [ctypes.c_char_p, ctypes.c_size_t]
    rocksdb.rocksdb_put.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *text, *text, error]
    return rocksdb


class Database:
    """An open database, which is written with sync."""

    def __init__(self, directory):
        self.library = library()
        options = self.library.rocksdb_options_create()
        self.library.rocksdb_options_set_create_if_missing(options, 1)
        self.write_options = self.library.rocksdb_writeoptions_create()
        self.library.rocksdb_writeoptions_set_sync(self.write_options, 1)
        error = ctypes.c_char_p()
        self.database = self.library.rocksdb_open(options, directory.encode(), ctypes.byref(error))
        self._refuse(error)

    def put(self, key, value):
        error = ctypes.c_char_p()
        self.library.rocksdb_put(self.database, self.write_options, key, len(key), value, len(value), ctypes.byref(error))
        self._refuse(error)

    def _refuse(self, error):
        if error.value:
            sys.exit(print(f"RocksDB: {error.value.decode()}"))


def write_at_their_times(database, moments, lock, begin):
    value = b"v" * 400
    while True:
        with lock:
            due = next(moments, None)
        if due is None:
            return
        time.sleep(max(0, begin + due - time.monotonic()))
        database.put(b"%016d" % random.randrange(KEYS), value)


def moments_of(rate, seconds):
    due = random.expovariate(rate)
    while due < seconds:
        yield due
        due += random.expovariate(rate)


def load(database, rate, seconds):
    arguments = (database, moments_of(rate, seconds), threading.Lock(), time.monotonic())
    writers = [threading.Thread(target=write_at_their_times, args=arguments) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()


def main():
    database, rate = Database(sys.argv[1]), float(sys.argv[2])
    print("ready", flush=True)
    for line in sys.stdin:
        load(database, rate, float(line))
        print("ready", flush=True)


main()
