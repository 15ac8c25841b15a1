#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""MemKV from Python, without a compiler: memkv_plugin.so through ctypes (memkv/plugin.h).

    store = open_store("memkv://127.0.0.1:9900/model-7?auth_key_file=auth.key")
    store.put(b"block", data)
    assert store.get(b"block", len(data)) == data

usage: memkv_plugin.py URI FILE      puts FILE, gets it back, compares, deletes it"""

import ctypes
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_int, c_size_t,
                    c_uint, c_uint64, c_void_p)

ABI = 1
PUT, GET, EXISTS, DELETE = 1, 2, 3, 4


class Error(Structure):
    _fields_ = [("code", c_int), ("name", c_char_p), ("radius", c_int), ("retriable", c_bool),
                ("fatal", c_bool), ("text", c_char * 400)]


class Request(Structure):
    _fields_ = [("operation", c_int), ("key", c_char_p), ("key_length", c_size_t),
                ("data", c_void_p), ("length", c_size_t), ("memory", c_void_p),
                ("timeout", c_uint64), ("cookie", c_uint64), ("reserved", c_uint64 * 4)]


class Completion(Structure):
    _fields_ = [("cookie", c_uint64), ("id", c_uint64), ("operation", c_int), ("transport", c_int),
                ("found", c_bool), ("length", c_size_t), ("server", c_char_p), ("error", Error),
                ("reserved", c_uint64 * 4)]


def _call(*arguments):
    return CFUNCTYPE(c_int, *arguments, POINTER(Error))


_FOUND = _call(c_void_p, c_char_p, c_size_t, POINTER(c_bool))


class Table(Structure):
    _fields_ = [("size", c_size_t), ("abi", c_uint), ("version", c_char_p),
                ("open", _call(c_char_p, POINTER(c_void_p))),
                ("close", CFUNCTYPE(None, c_void_p)),
                ("put", _call(c_void_p, c_char_p, c_size_t, c_char_p, c_size_t)),
                ("get", _call(c_void_p, c_char_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t))),
                ("exists", _FOUND),
                ("remove", _FOUND),
                ("batch", _call(c_void_p, POINTER(Request), c_size_t, POINTER(Completion)))]


class MemkvError(Exception):
    """`name` is what logs and `memkv explain` call it."""

    def __init__(self, error):
        self.name, self.retriable = error.name.decode(), error.retriable
        super().__init__(f"{self.name}: {error.text.decode()}")


def load(path="memkv_plugin.so"):
    entry = ctypes.CDLL(path).memkv_plugin
    entry.argtypes, entry.restype = [c_uint], POINTER(Table)
    table = entry(ABI)
    if not table or table.contents.size < ctypes.sizeof(Table):
        raise OSError(f"{path} does not speak ABI {ABI}")
    return table.contents


class Store:
    """Any number of threads may use one: the calls run without the interpreter's lock."""

    def __init__(self, table, uri):
        self._table, self._client = table, c_void_p()
        self._check(table.open, uri.encode(), byref(self._client))

    @staticmethod
    def _check(call, *arguments):
        error = Error()
        if call(*arguments, byref(error)):
            raise MemkvError(error)

    def put(self, key, data):
        self._check(self._table.put, self._client, key, len(key), data, len(data))

    def get(self, key, capacity=16 << 20):
        room, length = ctypes.create_string_buffer(capacity), c_size_t()
        self._check(self._table.get, self._client, key, len(key), room, capacity, byref(length))
        return room.raw[:length.value]

    def exists(self, key):
        found = c_bool()
        self._check(self._table.exists, self._client, key, len(key), byref(found))
        return found.value

    def delete(self, key):
        found = c_bool()
        self._check(self._table.remove, self._client, key, len(key), byref(found))
        return found.value

    def batch(self, requests):
        """[(operation, key, bytes to put, or None, or room to get into)] -> [Completion]"""
        made, done = (Request * len(requests))(), (Completion * len(requests))()
        for request, (operation, key, data) in zip(made, requests):
            request.operation, request.key, request.key_length = operation, key, len(key)
            if data is not None:
                request.length = len(data)
                request.data = (ctypes.cast(data, c_void_p) if isinstance(data, bytes)
                                else ctypes.addressof(data))
        error = Error()
        self._table.batch(self._client, made, len(requests), done, byref(error))
        if error.code and not done[0].operation:
            raise MemkvError(error)
        return list(done)

    def close(self):
        self._table.close(self._client)
        self._client = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def open_store(uri, path="memkv_plugin.so"):
    return Store(load(path), uri)


def main(uri, name):
    with open(name, "rb") as file:
        data = file.read()
    with open_store(uri) as store:
        key = b"examples/" + name.encode()[-200:]
        store.put(key, data)
        equal = store.get(key, len(data)) == data
        store.delete(key)
    print(f"{len(data)} bytes came back {'equal' if equal else 'DIFFERENT'}")
    return 0 if equal else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except (MemkvError, OSError) as error:
        sys.exit(f"memkv_plugin.py: {error}")
