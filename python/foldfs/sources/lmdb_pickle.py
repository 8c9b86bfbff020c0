"""What Python's pickle module wrote (protocols 0 to 5), and nothing is executed: what a pickle
would call becomes a value that says so. The opcodes are those that writers of datasets emit, the
names those in numpy and torch that they call; any other is refused by its name. Of bytes, and of
long text, only the place is told. A list may be an item of itself: who goes down bounds how
deep."""

from scan import damaged, to_text, unsupported

MOST = 1 << 23  # values, of which 64 bytes of text are one more
TEXT_MOST, BYTES_MOST, DIGITS = 4096, 64, 64

KNOWN = frozenset((
    (b"numpy", b"ndarray"), (b"numpy", b"dtype"),
    (b"numpy.core.multiarray", b"_reconstruct"), (b"numpy._core.multiarray", b"_reconstruct"),
    (b"numpy.core.multiarray", b"scalar"), (b"numpy._core.multiarray", b"scalar"),
    (b"numpy.core.numeric", b"_frombuffer"), (b"numpy._core.numeric", b"_frombuffer"),
    (b"_codecs", b"encode"), (b"builtins", b"bytearray"), (b"builtins", b"bytes"),
    (b"__builtin__", b"bytearray"), (b"__builtin__", b"bytes"), (b"collections", b"OrderedDict"),
    (b"torch", b"Size"), (b"torch._utils", b"_rebuild_tensor_v2"),
    (b"torch.storage", b"_load_from_bytes")))


class Bytes:
    """data: None where they are long."""
    __slots__ = ("data", "offset", "size")
    most = BYTES_MOST


class Text(Bytes):
    __slots__ = ()
    most = TEXT_MOST


class Dict(list):
    """key, value, key, value, ..."""


class Float:
    pass


class Global:
    def __init__(self, name):
        self.name = name


class Call:
    state = None

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments


class Machine:
    """`value`: of lmdb_records.py, or what has its get() and size."""

    def __init__(self, value):
        self.value, self.at, self.end = value, 0, value.size
        self.stack, self.below, self.memo, self.made = [], [], [], 0
        self.opcode = ""

    def damaged(self, what):
        return damaged(f"a pickle whose opcode {self.opcode} {what}")

    def make(self, count):
        self.made += count
        if self.made > MOST:
            raise unsupported(f"a pickle of more than {MOST} values")

    def take(self, size):
        at = self.at
        if size > self.end - at:
            raise damaged("a pickle that is cut off")
        self.at = at + size
        return self.value.get(at, size) if size else b""

    def number(self, width):
        return int.from_bytes(self.take(width), "little")

    def line(self):
        for most in (128, TEXT_MOST):
            found = self.value.get(self.at, min(most, self.end - self.at))
            size = found.find(b"\n")
            if size >= 0:
                self.at += size + 1
                return found[:size]
        raise self.damaged("has a line that is cut off, or too long")

    def digits(self):
        found = self.line()
        if not 0 < len(found) < DIGITS or b"\0" in found:
            raise self.damaged("has no number")
        return found

    def push(self, value):
        self.make(1)
        self.stack.append(value)

    def pop(self):
        if not self.stack:
            raise self.damaged("finds no value")
        return self.stack.pop()

    def pop_several(self, count):
        if len(self.stack) < count:
            raise self.damaged("finds no value")
        items = self.stack[len(self.stack) - count:]
        del self.stack[len(self.stack) - count:]
        return items

    def pop_marked(self):
        if not self.below:
            raise self.damaged("finds no mark")
        items, self.stack = self.stack, self.below.pop()
        return items

    # --- what opcodes do; the argument distinguishes those of one kind

    def mark(self, _):
        self.make(1)
        self.below.append(self.stack)
        self.stack = []

    def integer(self, width):
        self.push(int.from_bytes(self.take(width), "little", signed=width == 4))

    def long(self, width):
        size = self.number(width)
        if size > 8:
            raise unsupported("a pickle with a number of more than 64 bits")
        self.push(int.from_bytes(self.take(size), "little", signed=True))

    def integer_line(self, _):
        found = self.digits()
        if found in (b"00", b"01"):
            self.push(found == b"01")
            return
        if found.endswith(b"L"):
            found = found[:-1]
        digits = found[1:] if found[:1] in (b"-", b"+") else found
        if not digits.isdigit() or not -1 << 63 <= int(found) < 1 << 63:
            raise self.damaged("has no number of 64 bits")
        self.push(int(found))

    def float(self, width):
        self.take(width)
        self.push(Float())

    def float_line(self, _):
        self.digits()
        self.push(Float())

    def payload(self, kind, size):
        """Bytes or text that lie in the pickle."""
        value = kind()
        value.offset, value.size, value.data = self.at, size, None
        if size > self.end - self.at:
            raise damaged("a pickle that is cut off")
        if size > kind.most:
            self.at += size
        else:
            value.data = self.take(size)
            self.make(size // 64)
        self.push(value)

    def bytes(self, width):
        self.payload(Bytes, self.number(width))

    def text(self, width):
        self.payload(Text, self.number(width))

    def text_line(self, _):
        """Protocol 0 encodes what is not ASCII in a way of its own, which is refused."""
        start, found = self.at, self.line()
        if any(byte == 0x5c or not 0x20 <= byte <= 0x7e for byte in found):
            raise unsupported("a pickle of protocol 0 with text that is not ASCII")
        after, self.at = self.at, start
        self.payload(Text, len(found))
        self.at = after

    def index(self, width):
        if width:
            return self.number(width)
        found = self.digits()
        if not found.isdigit():
            raise self.damaged("has no number")
        return int(found)

    def put(self, width):
        self.memorize(self.index(width))

    def memoize(self, _):
        self.memorize(len(self.memo))

    def memorize(self, index):
        if not self.stack:
            raise self.damaged("finds no value")
        if index > len(self.memo) + 1:  # Python counts up, from 0 or from 1 on
            raise self.damaged("leaves places of the memo out")
        while len(self.memo) <= index:
            self.make(1)
            self.memo.append(Machine)  # nothing
        self.memo[index] = self.stack[-1]

    def recall(self, width):
        index = self.index(width)
        if index >= len(self.memo) or self.memo[index] is Machine:
            raise self.damaged("finds nothing in the memo")
        self.push(self.memo[index])

    def collect(self, kind, items):
        if kind is Dict and len(items) % 2:
            raise self.damaged("finds a key without a value")
        self.make(len(items))
        self.push(kind(items))

    def collect_marked(self, kind):
        self.collect(kind, self.pop_marked())

    def collect_some(self, count):
        self.collect(tuple, self.pop_several(count))

    def extend(self, kind, items):
        if not self.stack or type(self.stack[-1]) is not kind:
            raise self.damaged("finds nothing to add to")
        if kind is Dict and len(items) % 2:
            raise self.damaged("finds a key without a value")
        self.make(len(items))
        self.stack[-1].extend(items)

    def extend_marked(self, kind):
        self.extend(kind, self.pop_marked())

    def extend_one(self, kind):
        self.extend(kind, self.pop_several(2 if kind is Dict else 1))

    def push_global(self, module, name):
        if (module, name) not in KNOWN:
            shown = b".".join(part.split(b"\0")[0][:80] for part in (module, name))
            raise unsupported(f"a pickle that needs {to_text(shown)}, which is not called")
        self.push(Global(name))

    def find_global(self, _):
        module = self.line()
        self.push_global(module, self.line())

    def stack_global(self, _):
        name, module = self.pop(), self.pop()
        if not type(module) is type(name) is Text or module.data is None or name.data is None:
            raise self.damaged("finds no name")
        self.push_global(module.data, name.data)

    def reduce(self, _):
        arguments, function = self.pop(), self.pop()
        if type(function) is not Global or type(arguments) is not tuple:
            raise self.damaged("finds nothing to call")
        if function.name == b"OrderedDict" and not arguments:
            self.push(Dict())
        elif function.name == b"bytearray" and len(arguments) == 1 and type(
                arguments[0]) is Bytes:
            self.push(arguments[0])
        else:
            self.push(Call(function.name, arguments))

    def build(self, _):
        state = self.pop()
        if not self.stack:
            raise self.damaged("finds no value")
        if type(self.stack[-1]) is not Call:
            raise self.damaged("finds no object")
        self.stack[-1].state = state


def opcodes():
    m = Machine
    rows = (
        ("(", "MARK", m.mark, 0), ("F", "FLOAT", m.float_line, 0), ("I", "INT", m.integer_line, 0),
        ("J", "BININT", m.integer, 4), ("K", "BININT1", m.integer, 1),
        ("L", "LONG", m.integer_line, 0), ("M", "BININT2", m.integer, 2),
        ("N", "NONE", m.push, None), ("R", "REDUCE", m.reduce, 0),
        ("T", "BINSTRING", m.bytes, 4), ("U", "SHORT_BINSTRING", m.bytes, 1),
        ("V", "UNICODE", m.text_line, 0), ("X", "BINUNICODE", m.text, 4),
        ("a", "APPEND", m.extend_one, list), ("b", "BUILD", m.build, 0),
        ("c", "GLOBAL", m.find_global, 0), ("d", "DICT", m.collect_marked, Dict),
        ("}", "EMPTY_DICT", lambda machine, _: machine.push(Dict()), 0),
        ("e", "APPENDS", m.extend_marked, list), ("g", "GET", m.recall, 0),
        ("h", "BINGET", m.recall, 1), ("j", "LONG_BINGET", m.recall, 4),
        ("l", "LIST", m.collect_marked, list),
        ("]", "EMPTY_LIST", lambda machine, _: machine.push([]), 0),
        ("p", "PUT", m.put, 0), ("q", "BINPUT", m.put, 1), ("r", "LONG_BINPUT", m.put, 4),
        ("s", "SETITEM", m.extend_one, Dict), ("t", "TUPLE", m.collect_marked, tuple),
        (")", "EMPTY_TUPLE", m.push, ()), ("u", "SETITEMS", m.extend_marked, Dict),
        ("G", "BINFLOAT", m.float, 8), ("B", "BINBYTES", m.bytes, 4),
        ("C", "SHORT_BINBYTES", m.bytes, 1), ("\x80", "PROTO", m.take, 1),
        ("\x85", "TUPLE1", m.collect_some, 1), ("\x86", "TUPLE2", m.collect_some, 2),
        ("\x87", "TUPLE3", m.collect_some, 3), ("\x88", "NEWTRUE", m.push, True),
        ("\x89", "NEWFALSE", m.push, False), ("\x8a", "LONG1", m.long, 1),
        ("\x8b", "LONG4", m.long, 4), ("\x8c", "SHORT_BINUNICODE", m.text, 1),
        ("\x8d", "BINUNICODE8", m.text, 8), ("\x8e", "BINBYTES8", m.bytes, 8),
        ("\x93", "STACK_GLOBAL", m.stack_global, 0), ("\x94", "MEMOIZE", m.memoize, 0),
        ("\x95", "FRAME", m.take, 8), ("\x96", "BYTEARRAY8", m.bytes, 8), (".", "STOP", None, 0))
    refused = {"0": "POP", "1": "POP_MARK", "2": "DUP", "P": "PERSID", "Q": "BINPERSID",
               "S": "STRING", "i": "INST", "o": "OBJ", "\x81": "NEWOBJ", "\x82": "EXT1",
               "\x83": "EXT2", "\x84": "EXT4", "\x8f": "EMPTY_SET", "\x90": "ADDITEMS",
               "\x91": "FROZENSET", "\x92": "NEWOBJ_EX", "\x97": "NEXT_BUFFER",
               "\x98": "READONLY_BUFFER"}

    def refuse(machine, _):
        raise unsupported(f"a pickle with the opcode {machine.opcode}")

    table = [None] * 256
    for code, name, run, argument in rows:
        table[ord(code)] = name, run, argument
    for code, name in refused.items():
        table[ord(code)] = name, refuse, 0
    return table


OPCODES = opcodes()


def read(value):
    """What the pickle that a value is results in."""
    machine = Machine(value)
    while True:
        code = machine.take(1)[0]
        if not OPCODES[code]:
            raise damaged(f"a pickle with the byte 0x{code:02x} for an opcode")
        machine.opcode, run, argument = OPCODES[code]
        if not run:
            break
        run(machine, argument)
    result = machine.pop()
    if machine.stack or machine.below or machine.at < machine.end:
        raise machine.damaged("comes before the end")
    return result


# --- values -------------------------------------------------------------------------------------


def item(value, i):
    """Of a list, tuple or dict; None: it is none, or has none."""
    return value[i] if isinstance(value, (list, tuple)) and i < len(value) else None


def is_text(value, text):
    return isinstance(value, Bytes) and value.data == text


def lookup(found, key, absent=None):
    """What a dict has for this text."""
    return next((found[i + 1] for i in range(len(found) - 2, -1, -2) if is_text(found[i], key)),
                absent)


def callee(value):
    return value.name if type(value) is Call else None


def numpy_integer(kind, data):
    """Of a little-endian type as b"i8"; None: it is of another, or of another size."""
    if len(kind) != 2 or kind[:1] not in b"iu" or kind[1:] not in b"1248" or len(
            data) != int(kind[1:]):
        return None
    number = int.from_bytes(data, "little", signed=kind[:1] == b"i")
    return number if number < 1 << 63 else None


def type_of(dtype):
    """As b"u1"; None: it is big-endian, or none."""
    if callee(dtype) != b"dtype" or is_text(item(dtype.state, 1), b">"):
        return None
    name = item(dtype.arguments, 0)
    return name.data if isinstance(name, Bytes) else None


def array(value):
    """(type, shape, data) of an array of numpy whose elements follow each other as C has them: of
    _reconstruct(ndarray, ...) and the state (version, shape, dtype, column-major, data), or of
    _frombuffer(data, dtype, shape, "C")."""
    dtype = shape = data = None
    if callee(value) == b"_frombuffer" and is_text(item(value.arguments, 3), b"C"):
        data, dtype, shape = value.arguments[:3]
    elif callee(value) == b"_reconstruct" and item(value.state, 3) is False:
        dtype, shape, data = item(value.state, 2), item(value.state, 1), item(value.state, 4)
    if type(shape) is not tuple or type(data) is not Bytes:
        return None
    return type_of(dtype), shape, data


def number_of(value):
    """A whole number: an int, a bool, or of numpy, a scalar or an array of one element; or None."""
    if isinstance(value, int):
        return int(value)
    if callee(value) == b"scalar":
        kind, data = type_of(item(value.arguments, 0)), item(value.arguments, 1)
    elif callee(value):
        kind, _, data = array(value) or (None, None, None)
    else:
        return None
    if not kind or type(data) is not Bytes or data.data is None:
        return None
    return numpy_integer(kind, data.data)
