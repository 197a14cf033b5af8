"""Random programs in which pointers to functions travel: through fields of structs (some of which have the same parts), initial values, copies,
unions, arrays, pointers to fields, casts, parameters and results. Each function that is called so reads a variable of its own, so that a call of
which a function is missing shows as a read that is missing."""

import random

FUNCTIONS = 8
# Members of a struct: how each is declared.
MEMBERS = {
    "get": "function get{i};",
    "any": "void *any{i};",
    "number": "int number{i};",
    "wide": "long wide{i};",
    "inner": "struct inner inner{i};",
    "either": "union either either{i};",
    "table": "function table{i}[3];",
}
HEAD = """#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
typedef int (*function)(int);
struct inner { int n; function in; };
union either { function as; void *raw; long number; };
static int turn;
__attribute__((noinline)) static void put(function *to, function f) { *to = f; }
__attribute__((noinline)) static void put_raw(void *to, function f) { *(function *)to = f; }
__attribute__((noinline)) static void put_at(void *to, unsigned long at, function f) { *(function *)((char *)to + at) = f; }
__attribute__((noinline)) static function same(function f) { return f; }
__attribute__((noinline)) static function unnamed(int n, ...) {
  va_list all;
  va_start(all, n);
  function f = va_arg(all, function);
  va_end(all);
  return f;
}
__attribute__((noinline)) static int apply(function f, int x) { return f ? f(x) : x; }
"""


class Struct:
    def __init__(self, number, members):
        self.name, self.members = f"struct s{number}", members

    def declaration(self):
        parts = " ".join(MEMBERS[kind].format(i=i) for i, kind in enumerate(self.members))
        return f"{self.name} {{ {parts} }};"

    def places(self):
        """Where a function may lie, as text behind `.` or `->`."""
        kinds = {"get": "get{i}", "inner": "inner{i}.in", "either": "either{i}.as", "table": "table{i}[{k}]"}
        return [kinds[kind].format(i=i, k=k) for i, kind in enumerate(self.members) if kind in kinds for k in range(3 if kind == "table" else 1)]


def program(seed):
    """The text of a program in C."""
    chance = random.Random(seed)
    structs = []
    for number in range(chance.randint(2, 5)):
        if structs and chance.random() < 0.4:
            members = list(chance.choice(structs).members)
        else:
            members = [chance.choice(list(MEMBERS)) for _ in range(chance.randint(1, 4))]
        if not any(kind in ("get", "inner", "either", "table") for kind in members):
            members.append("get")
        structs.append(Struct(number, members))
    out = [HEAD]
    out += [f"static int v{i} = {i + 1};\n__attribute__((noinline)) static int f{i}(int x) {{ return x + v{i}; }}" for i in range(FUNCTIONS)]
    globals_ = {}
    for struct in structs:
        out.append(struct.declaration())
        number = struct.name[len("struct s"):]
        globals_[struct] = [f"g{number}{letter}" for letter in "abc"[:chance.randint(1, 3)]]
        out.append(f"static {struct.name} {', '.join(globals_[struct])};")
        first = struct.places()[0]
        out.append(f"static const {struct.name} initial{number} = {{ .{first} = f{chance.randrange(FUNCTIONS)} }};")
        for i, place in enumerate(struct.places()):
            out.append(f"__attribute__((noinline)) static int call{number}_{i}({struct.name} *s, int x) {{ return s->{place} ? s->{place}(x) : x; }}")
            out.append(f"__attribute__((noinline)) static int gone{number}_{i}(int x) {{ return apply({globals_[struct][0]}.{place}, x); }}")
        out.append(f"__attribute__((noinline)) static {struct.name} by_value{number}({struct.name} s) {{ return s; }}")
    bodies = []
    for number in range(chance.randint(3, 6)):
        lines = [statement(chance, structs, globals_) for _ in range(chance.randint(2, 6))]
        bodies.append(number)
        text = "\n".join(f"  if (turn++ % {chance.choice([1, 1, 2, 3])} == 0) {{ {line} }}" for line in lines)
        out.append(f"__attribute__((noinline)) static void step{number}(void) {{\n{text}\n}}")
    calls = []
    for struct in structs:
        number = struct.name[len("struct s"):]
        for i in range(len(struct.places())):
            calls += [f"sum += call{number}_{i}(&{name}, 1);" for name in globals_[struct]] + [f"sum += gone{number}_{i}(2);"]
    chance.shuffle(calls)
    steps = [f"step{chance.choice(bodies)}();" for _ in range(8)]
    mixed = steps + calls
    chance.shuffle(mixed)
    text = "\n    ".join(mixed)
    out.append(f"int main(void) {{\n  int sum = 0;\n  for (int round = 0; round < 6; round++) {{\n    {text}\n  }}\n  return sum == 12345;\n}}")
    return "\n".join(out) + "\n"


def statement(chance, structs, globals_):
    """Something that puts a function somewhere, or moves what holds one."""
    struct = chance.choice(structs)
    number = struct.name[len("struct s"):]
    name, place = chance.choice(globals_[struct]), chance.choice(struct.places())
    f = f"f{chance.randrange(FUNCTIONS)}"
    source = chance.choice([f, f, f"same({f})", f"unnamed(1, {f})", another(chance, structs, globals_)])
    kind = chance.randrange(11)
    if kind <= 2:
        return f"{name}.{place} = {source};"
    if kind == 3:
        return f"put(&{name}.{place}, {source});"
    if kind == 4:
        base = place.split(".")[0].split("[")[0]
        at = f"offsetof({struct.name}, {base})" + (" + offsetof(struct inner, in)" if ".in" in place else "")
        return f"put_at(&{name}, {at}, {source});"
    if kind == 5:
        first = struct.members[0]
        return f"put_raw(&{name}, {source});" if first in ("get", "table", "either") else f"{name}.{place} = {source};"
    if kind == 6:
        return f"{name} = {chance.choice(globals_[struct] + [f'initial{number}'])};"
    if kind == 7:
        return f"{struct.name} *p = malloc(sizeof *p); if (p) {{ *p = {name}; p->{place} = {source}; {name} = by_value{number}(*p); free(p); }}"
    if kind == 8:
        return f"{struct.name} copy; memcpy(&copy, &{name}, sizeof copy); copy.{place} = {source}; memmove(&{name}, &copy, sizeof copy);"
    if kind == 9:
        return f"union either e; e.raw = (void *){source}; {name}.{place} = e.as;"
    return f"void *raw = (void *){source}; {name}.{place} = (function)raw;"


def another(chance, structs, globals_):
    struct = chance.choice(structs)
    return f"{chance.choice(globals_[struct])}.{chance.choice(struct.places())}"
