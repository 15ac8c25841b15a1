# SPDX-License-Identifier: Apache-2.0
"""A client of the data port for scripts that are not nice to it: written after docs/formats.md, so
it also says whether that page is right."""

import hashlib
import hmac
import os
import socket
import struct

HELLO, CHALLENGE, PROOF, RECORD = 1, 2, 3, 4
WELCOME, GET, EXISTS, RESULT, PING, PONG, INSTANCE = 1, 9, 10, 13, 17, 18, 19


def derive(key, label, *parts):
    return hmac.new(key, label.encode() + b"\0" + b"".join(parts), hashlib.sha256).digest()


def header(kind, length, sequence=0, version=1):
    return b"MKV1" + struct.pack(">BBHIQ", version, kind, 0, length, sequence)


def frame(kind, members):
    return struct.pack(">B3xI", kind, len(members)) + members


def exists(number, name):
    return frame(EXISTS, struct.pack(">QB", number, len(name)) + name)


def get(number, name, room):
    """Over TCP: way, rail, generation and window are 0."""
    return frame(GET, struct.pack(">QBBIQIIB", number, 0, 0, 0, 0, 0, room, len(name)) + name)


class Peer:
    """A connection; `shake` makes it an authenticated one."""

    def __init__(self, address, timeout=30):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)
        self.sent = self.received = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the server closed")
            data += more
        return data

    def is_ended(self):
        """Waits until the server ends it; what comes before is dropped. False: it does not."""
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def message(self):
        """Header fields (kind, length, sequence) and body of what comes next."""
        head = self.exactly(20)
        _, kind, _, length, sequence = struct.unpack(">BBHIQ", head[4:])
        return kind, sequence, head, self.exactly(length)

    def hello(self, key):
        self.nonce = os.urandom(32)
        self.hint = derive(key, "memkv key hint 1", self.nonce)[:8]
        body = b"\1" + self.nonce + self.hint
        return header(HELLO, len(body)) + body

    def shake(self, key):
        self.send(self.hello(key))
        kind, _, _, body = self.message()
        transcript = b"\1\1" + self.nonce + b"\1\2" + body[1:33] + self.hint
        if kind != CHALLENGE or body[33:] != derive(key, "memkv server proof 1", transcript):
            raise ConnectionError("the server's proof is not as docs/formats.md says")
        self.send(header(PROOF, 32) + derive(key, "memkv client proof 1", transcript))
        base = derive(key, "memkv session 1", transcript)
        self.key_out = derive(base, "memkv client to server 1")
        self.key_in = derive(base, "memkv server to client 1")
        if self.record()[0] != WELCOME:
            raise ConnectionError("no WELCOME came first")
        self.send(self.seal(frame(INSTANCE, os.urandom(16) + struct.pack(">HH", 0, 0))))
        return self

    def seal(self, body, sequence=None):
        """A record; with a sequence of its own it does not count."""
        number = self.sent if sequence is None else sequence
        self.sent += sequence is None
        text = header(RECORD, len(body), number) + body
        return text + hmac.new(self.key_out, text, hashlib.sha256).digest()

    def record(self):
        """The first frame of the next record: its type and members."""
        _, sequence, head, body = self.message()
        if self.exactly(32) != hmac.new(self.key_in, head + body, hashlib.sha256).digest() or \
                sequence != self.received:
            raise ConnectionError("a record is not as docs/formats.md says")
        self.received += 1
        length = struct.unpack(">I", body[4:8])[0]
        return body[0], body[8:8 + length]

    def ask(self, number, name):
        """Whether a key is there, as a client asks."""
        self.send(self.seal(exists(number, name)))
        while True:
            kind, members = self.record()
            if kind == PING:
                self.send(self.seal(frame(PONG, b"")))
            if kind == RESULT and struct.unpack(">Q", members[:8])[0] == number:
                return members[8:11] == b"\2ok" and members[15] == 1
