"""A thread of another process, stepped one instruction at a time: which cache lines it reads and writes.

The operands of an instruction say the bytes that it reads and writes. They are summed up from the registers before the instruction is
carried out (ptrace, x86-64 Linux). What the kernel writes in a system call does not count.

Steps take thousands of times as long as the instructions themselves. So the thread is told a slower time: an instruction takes a
nanosecond, and only waiting for events takes as long as it does. Otherwise each statement would look slow to the program.
"""

import collections
import ctypes
import os
import pathlib
import re
import signal
import struct
import time

import capstone
from capstone import x86

# ---- instructions ------------------------------------------------------------------------------------------------------------

# The registers as PTRACE_GETREGS has them.
REGS = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs".split()
AT = {name: at for at, name in enumerate(REGS)}
RIP, RSP, RAX, RCX, RDI, RSI = (AT[name] for name in ("rip", "rsp", "rax", "rcx", "rdi", "rsi"))
SEGMENTS = {x86.X86_REG_FS: AT["fs_base"], x86.X86_REG_GS: AT["gs_base"]}
ALL_BITS = (1 << 64) - 1
LINE_BITS = 6

# Instructions that only read their first operand, if that is memory; of some, the library does not say so.
READERS = re.compile(
    r"cmp[^x]?$|cmps[bwdq]$|scas[bwdq]$|test$|bt$|call$|jmp$|push$|i?mul$|i?div$|v?ldmxcsr$|v?p?test|v?u?comis|fxrstor|xrstor"
    r"|f(i?ld|i?u?comi?p?|i?add|i?subr?|i?mul|i?divr?|ldcw|ldenv)"
)
# A masked store writes a part of its operand, which these tables do not tell. It is avoided: see `start_freshet`. The memory operands of
# these are no accesses.
NO_ACCESS = re.compile(r"lea$|nop$|prefetch|cldemote|clflush")
EPOLL = {232: "epoll_wait", 281: "epoll_pwait", 441: "epoll_pwait2"}


class Instruction:
    """What one instruction does: the places in memory that it reads and writes, as sums of registers."""

    __slots__ = ("reads", "writes", "locked", "is_call", "is_ret", "is_syscall", "repeats")

    def __init__(self, decoded):
        name = decoded.mnemonic.split()[-1]
        self.is_call, self.is_ret, self.is_syscall = name == "call", name == "ret", name == "syscall"
        self.repeats = decoded.mnemonic.startswith("rep")
        self.reads, self.writes = [], []
        if not NO_ACCESS.match(name):
            for at, operand in enumerate(decoded.operands):
                if operand.type == x86.X86_OP_MEM:
                    self._add(decoded, name, at, operand)
        if self.is_call or name.startswith("push"):
            self.writes.append((RSP, None, 0, -8, 8, None))
        elif name in ("enter", "xsave", "xsavec", "fxsave") or "scatter" in name:
            raise NotImplementedError(f"{decoded.mnemonic} {decoded.op_str}")
        self.locked = bool(self.writes) and (decoded.prefix[0] == x86.X86_PREFIX_LOCK or name == "xchg")

    def _add(self, decoded, name, at, operand):
        memory = operand.mem
        base, displacement = memory.base, memory.disp
        if base == x86.X86_REG_RIP:
            base, displacement = 0, displacement + decoded.address + decoded.size
        if decoded.addr_size != 8:
            raise NotImplementedError(f"{decoded.mnemonic} {decoded.op_str}")
        registers = self._register(decoded, base), self._register(decoded, memory.index)
        place = (*registers, memory.scale, displacement, operand.size, SEGMENTS.get(memory.segment))
        # In doubt it is a write: a first operand is, but for the instructions that are known to read it.
        reads = bool(READERS.match(name))
        if not reads and (at == 0 or operand.access & capstone.CS_AC_WRITE):
            self.writes.append(place)
        if reads or at > 0 or operand.access & capstone.CS_AC_READ:
            self.reads.append(place)

    @staticmethod
    def _register(decoded, register):
        return AT[decoded.reg_name(register)] if register else None


def kernels_code(pid):
    """Where the kernel has mapped its own code, among it that of `clock_gettime`."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return int(re.search(r"^([0-9a-f]+).*\[vdso\]$", maps, re.MULTILINE)[1], 16)


class Decoder:
    """The instructions of a process, each decoded once. `clock` is the address of the kernel's `clock_gettime`."""

    def __init__(self, pid):
        self.memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)
        # The same code is in this process, in another place.
        here = ctypes.cast(ctypes.CDLL("linux-vdso.so.1")["__vdso_clock_gettime"], ctypes.c_void_p).value
        self.clock = here - kernels_code("self") + kernels_code(pid)
        self.engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.engine.detail = True
        self.known = {}

    def at(self, address):
        found = self.known.get(address)
        if found is None:
            self.memory.seek(address)
            decoded = next(self.engine.disasm(self.memory.read(16), address, 1), None)
            if decoded is None:
                raise NotImplementedError(f"an instruction at {address:#x} that is not known")
            found = self.known[address] = Instruction(decoded)
        return found


# ---- stepping ----------------------------------------------------------------------------------------------------------------

SEIZE, INTERRUPT, SINGLESTEP, GETREGS, SETREGS, DETACH = 0x4206, 0x4207, 9, 12, 13, 17
WAIT_ALL = 0x40000000
# A stop by SIGTRAP, as waitpid has it.
TRAPPED = signal.SIGTRAP << 8 | 0x7F
# How many calls of the stack are remembered at each place.
FRAMES = 16
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


class Access:
    """How often an instruction has written or read one line, and the calls that led to it for the first time."""

    __slots__ = ("count", "locked", "calls")

    def __init__(self, locked, calls):
        self.count, self.locked, self.calls = 0, locked, calls


class Lines:
    """The cache lines of two threads that take turns. `held`: a bit for each thread that has a line, 1 or 2, and MODIFIED if this
    thread has written it. `moves`: how often each line has come from the other thread, or was taken away from it."""

    MODIFIED = 4

    def __init__(self):
        self.held, self.moves = {}, collections.Counter()


class Stepped:
    """A thread that is stepped, and what it has done: its `writes`, and the `reads` that have fetched a line from the other thread,
    by line and by the instruction's address. `number` is 1 for one of two threads and 2 for the other."""

    def __init__(self, tid, decoder, lines, number):
        self.tid, self.decoder, self.lines, self.number = tid, decoder, lines, number
        self.regs = (ctypes.c_uint64 * len(REGS))()
        self.begin_anew()
        self.signal = 0
        self.calls = []
        # How far the thread's time is behind, and since when, after how many instructions, it is falling further behind.
        self.behind_ns, self.since = 0, (time.monotonic_ns(), 0)

    def begin_anew(self):
        """Forgets what the thread has done."""
        self.writes, self.reads = {}, {}
        self.instructions = self.stores = self.locked = 0

    def __enter__(self):
        self._ptrace(SEIZE)
        self._ptrace(INTERRUPT)
        self._wait()
        self.until(lambda: True, lambda _: None)
        self.begin_anew()
        return self

    def __exit__(self, *_):
        self._ptrace(DETACH)

    def _ptrace(self, request, data=None):
        if LIBC.ptrace(request, self.tid, None, data) == -1:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")

    def _wait(self):
        """Waits until the thread has stopped, and reads its registers."""
        _, status = os.waitpid(self.tid, WAIT_ALL)
        self.signal = 0
        if status != TRAPPED:
            if not os.WIFSTOPPED(status):
                raise ChildProcessError("the thread has ended")
            # A stop that no signal has caused is reported as a trap, in the upper bits.
            self.signal = 0 if status >> 16 else os.WSTOPSIG(status)
        self._ptrace(GETREGS, ctypes.addressof(self.regs))

    def until(self, is_done, note):
        """Steps until the thread is about to wait for events and `is_done` is true."""
        at, regs, clock = self.decoder.at, self.regs, self.decoder.clock
        # Until now it has waited, in real time.
        self.since = time.monotonic_ns(), self.instructions
        last = None
        while True:
            here = regs[RIP]
            if here == clock:
                self._tell_time()
                continue
            instruction = at(here)
            waits = instruction.is_syscall and regs[RAX] in EPOLL
            if waits:
                if is_done():
                    return
                self._falls_behind()
            note(instruction)
            if not (instruction.repeats and here == last):
                self.instructions += 1
            last = here
            self._ptrace(SINGLESTEP, self.signal)
            self._wait()
            if waits:
                self.since = time.monotonic_ns(), self.instructions

    def _falls_behind(self):
        (then, instructions), now = self.since, time.monotonic_ns()
        self.behind_ns += now - then - (self.instructions - instructions)
        self.since = now, self.instructions

    def _tell_time(self):
        """Returns from `clock_gettime` in its place."""
        regs, memory = self.regs, self.decoder.memory
        self._falls_behind()
        told = divmod(time.clock_gettime_ns(regs[RDI]) - self.behind_ns, 1_000_000_000)
        memory.seek(regs[RSI])
        memory.write(struct.pack("<qq", *told))
        memory.seek(regs[RSP])
        self._returns()
        regs[RIP], regs[RAX] = struct.unpack("<Q", memory.read(8))[0], 0
        regs[RSP] += 8
        self._ptrace(SETREGS, ctypes.addressof(regs))

    def _returns(self):
        calls, top = self.calls, self.regs[RSP]
        while calls and calls[-1][0] <= top:
            calls.pop()

    def note(self, instruction):
        """Notes what the next instruction will read and write."""
        regs, calls = self.regs, self.calls
        if instruction.is_ret:
            self._returns()
            return
        if instruction.writes or instruction.reads:
            if instruction.repeats and not regs[RCX]:
                return
            here, locked = regs[RIP], instruction.locked
            for place in instruction.reads:
                self._count(self.reads, place, here, False)
            for place in instruction.writes:
                self._count(self.writes, place, here, locked)
                self.stores += 1
                self.locked += locked
        if instruction.is_call:
            calls.append((regs[RSP] - 8, regs[RIP]))

    def _count(self, accesses, place, here, locked):
        base, index, scale, address, size, segment = place
        regs = self.regs
        if base is not None:
            address += regs[base]
        if index is not None:
            address += regs[index] * scale
        if segment is not None:
            address += regs[segment]
        address &= ALL_BITS
        line, last = address >> LINE_BITS, (address + size - 1) >> LINE_BITS
        while line <= last:
            moves = self._moves(line, accesses is self.writes)
            # Of reads only those count for which the line moves.
            if moves or accesses is self.writes:
                access = accesses.get((line, here))
                if access is None:
                    calls = tuple(call for _, call in self.calls[-FRAMES:])
                    access = accesses[line, here] = Access(locked, calls)
                access.count += 1
            line += 1

    def _moves(self, line, is_written):
        """Notes an access. Returns whether the line has to be fetched, or taken away, from the other thread."""
        held, mine = self.lines.held, self.number
        before = held.get(line, 0)
        if is_written:
            if before == mine | Lines.MODIFIED:
                return False
            held[line] = mine | Lines.MODIFIED
            moves = bool(before & (3 - mine))
        else:
            if before & mine:
                return False
            held[line] = mine | before & 3
            moves = bool(before & Lines.MODIFIED)
        self.lines.moves[line] += moves
        return moves
