"""Puts on an etcd, each sent at its time, over one connection and by one thread: gRPC in HTTP/2 frames (RFC 9113) of our own,
because the load must take as little of the processors as possible from the server and the model beside it. 20 threads of
http.client and etcd's own translation of JSON took twice as much (21 % of a processor at 100 puts a second, and 11 %). Imported by real_servers.py, not run."""

import collections
import random
import select
import socket
import struct
import time

DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FIRST_WINDOW = 65_535
LARGEST_WINDOW = 2**31 - 1
PATIENCE = 60


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def short_text(text):
    return bytes([len(text)]) + text


def put_headers(authority):
    """The head of a call, as fields that no table remembers (RFC 7541, 6.2.2). 3 and 6 of the static table are POST and http."""
    return b"".join((
        b"\x83\x86",
        b"\x04" + short_text(b"/etcdserverpb.KV/Put"),
        b"\x01" + short_text(authority),
        b"\x0f\x10" + short_text(b"application/grpc"),
        b"\x00" + short_text(b"te") + short_text(b"trailers"),
    ))


def varint(number):
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def put_message(key, value):
    """A PutRequest with the prefix of a message of gRPC."""
    request = b"\x0a" + varint(len(key)) + key + b"\x12" + varint(len(value)) + value
    return struct.pack(">BI", 0, len(request)) + request


class PutConnection:
    """One connection to an etcd. Calls that the server's window has no room for wait here."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.headers = put_headers(b"127.0.0.1:%d" % port)
        self.next_stream, self.window, self.received = 1, FIRST_WINDOW, b""
        self.waiting, self.unanswered, self.answered = collections.deque(), set(), set()
        wide = struct.pack(">I", LARGEST_WINDOW - FIRST_WINDOW)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b"") + frame(WINDOW_UPDATE, 0, 0, wide))

    def put(self, key, value):
        self.waiting.append(put_message(key, value))
        self._send_waiting()

    def is_done(self):
        return not self.waiting and not self.unanswered

    def take_answers(self, seconds):
        """Waits at most so long for something from the server, and takes it."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return
        received = self.socket.recv(65536)
        if not received:
            raise OSError("etcd closed the connection")
        self.received += received
        while len(self.received) >= 9:
            length = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + length:
                return
            kind, flags = self.received[3:5]
            stream = int.from_bytes(self.received[5:9], "big")
            payload, self.received = self.received[9 : 9 + length], self.received[9 + length :]
            self._take(kind, flags, stream, payload)

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self.socket.sendall(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE and stream == 0:
            self.window += int.from_bytes(payload, "big")
            self._send_waiting()
        elif kind == DATA:
            self.answered.add(stream)
        elif kind == HEADERS and flags & END_STREAM:
            # A call that failed ends without a message.
            if stream not in self.answered:
                raise OSError("etcd refused a put")
            self.answered.discard(stream)
            self.unanswered.discard(stream)
        elif kind == GOAWAY:
            raise OSError("etcd ended the connection")

    def _send_waiting(self):
        while self.waiting and len(self.waiting[0]) <= self.window:
            message = self.waiting.popleft()
            head = frame(HEADERS, END_HEADERS, self.next_stream, self.headers)
            self.socket.sendall(head + frame(DATA, END_STREAM, self.next_stream, message))
            self.window -= len(message)
            self.unanswered.add(self.next_stream)
            self.next_stream += 2


def send_puts(port, rate, seconds):
    """Puts of 32 + 1024 bytes that come independently of each other, as those of the model do."""
    connection, value = PutConnection(port), b"v" * 1024
    begin = time.monotonic()
    due, number = random.expovariate(rate), 0
    while due < seconds or not connection.is_done():
        now = time.monotonic() - begin
        if now > seconds + PATIENCE:
            raise OSError("etcd does not answer")
        if due < seconds and now >= due:
            connection.put(b"%032d" % (number % 500), value)
            due, number = due + random.expovariate(rate), number + 1
        else:
            connection.take_answers(max(0, due - now) if due < seconds else 1)
    connection.socket.close()
