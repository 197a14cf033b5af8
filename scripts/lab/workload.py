"""Generates the workloads of scripts/bench: realistic, deterministic, of a given size. One function per subject, named after it."""

import json
import random

from .place import ROOT, Failure

WORDS = """the a of and to in is was river mountain stone water winter morning window garden letter silence running walking
turning holding the a small great quiet broken golden early Johnson Anderson Peterson market engine paper signal memory pointer
carrying reading the number system program between under after before never always perhaps nothing something""".split()


def prepare(subject, size):
    """The directory with the subject's workload of that size."""
    directory = ROOT / "workload" / f"{subject.name}-{size}"
    if not (directory / ".done").exists():
        generate = globals().get(subject.name)
        if not generate:
            raise Failure(f"scripts/lab/workload.py has no workload for {subject.name}")
        directory.mkdir(parents=True, exist_ok=True)
        generate(directory, size, random.Random(subject.name))
        (directory / ".done").touch()
    return directory


def sentence(rng):
    """One line of text, with a number or an address now and then."""
    words = rng.choices(WORDS, k=rng.randrange(5, 16))
    luck = rng.random()
    if luck < 0.1:
        words.append(f"{rng.randrange(100)}-{rng.randrange(100, 1000)}")
    elif luck < 0.15:
        words.insert(2, f"{rng.choice(WORDS).lower()}@{rng.choice(WORDS).lower()}.org")
    return " ".join(words)


def text(path, size, rng):
    """About `size` bytes of text; a part repeats, a part is noise, as in real files."""
    with open(path, "w") as file:
        while file.tell() < size:
            file.write("".join(sentence(rng) + "\n" for _ in range(200)))
            file.write(rng.randbytes(300).hex() + "\n")


def records(path, size, rng):
    """`size` JSON records."""
    def record(n):
        items = [{"sku": f"{rng.randrange(16**6):06x}", "price": round(rng.uniform(1, 99), 2), "count": rng.randrange(1, 9)}
                 for _ in range(rng.randrange(1, 5))]
        return {"id": n, "name": sentence(rng), "active": rng.random() < 0.6, "note": rng.choice([None, "caf\u00e9 \"au\" lait\n"]),
                "items": items, "tags": rng.sample(["red", "green", "blue", "old", "new"], rng.randrange(4))}
    path.write_text("[" + ",\n".join(json.dumps(record(n)) for n in range(size)) + "]\n")


def catalogue(path, size, rng):
    """`size` XML entries."""
    with open(path, "w") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE catalogue [<!ENTITY house "Unseen &amp; Sons">]>\n<catalogue>\n')
        for n in range(size):
            file.write(f'<entry id="e{n}" kind="{rng.choice(["book", "gift", "tool"])}" count="{rng.randrange(9)}">\n'
                       f'  <title>{sentence(rng)} &lt;{n}&gt;</title><price>{rng.uniform(1, 99):.2f}</price>\n'
                       f'  <note lang="en"><![CDATA[{sentence(rng)} <raw>]]> &house; &#233;</note><!-- {n} -->\n</entry>\n')
        file.write("</catalogue>\n")


def numbered(path, size, rng):
    """`size` version numbers, one a line."""
    def version():
        tail = rng.choice(["", "", "", f"-rc.{rng.randrange(9)}", f"-alpha.{rng.randrange(99)}.x", f"+build.{rng.randrange(999)}"])
        return f"{rng.randrange(7)}.{rng.randrange(20)}.{rng.randrange(30)}{tail}"
    path.write_text("\n".join(version() for _ in range(size)) + "\n")


def sqlite3(directory, size, rng):
    with open(directory / "script.sql", "w") as file:
        file.write("PRAGMA cache_size=-65536;\nCREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town TEXT, born INT);\n"
                   "CREATE TABLE sale(id INTEGER PRIMARY KEY, person INT REFERENCES person, day INT, amount REAL, note TEXT);\n"
                   "CREATE INDEX sale_person ON sale(person);\nBEGIN;\n")
        for n in range(size):
            file.write(f"INSERT INTO person VALUES({n}, '{sentence(rng)[:30]}', '{rng.choice(WORDS)}', {rng.randrange(1930, 2010)});\n")
        for n in range(size * 4):
            file.write(f"INSERT INTO sale(person, day, amount, note) VALUES({rng.randrange(size)}, {rng.randrange(3650)}, "
                       f"{rng.uniform(1, 500):.2f}, '{sentence(rng)}');\n")
        file.write("COMMIT;\nCREATE INDEX person_town ON person(town, born);\nANALYZE;\n")
        for year in range(1930, 2010, 4):
            file.write(f"SELECT town, count(*), round(sum(amount), 2) FROM person JOIN sale ON sale.person = person.id "
                       f"WHERE born BETWEEN {year} AND {year + 20} GROUP BY town ORDER BY 3 DESC LIMIT 5;\n"
                       f"SELECT count(*) FROM sale WHERE note LIKE '%{rng.choice(WORDS)} {rng.choice(WORDS)}%';\n")
        file.write("SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY person ORDER BY amount DESC) r FROM sale);\n"
                   "UPDATE sale SET amount = amount * 1.1, note = upper(note) WHERE day % 7 = 0;\n"
                   "DELETE FROM sale WHERE person IN (SELECT id FROM person WHERE born < 1940);\n"
                   f"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < {size * 20}) SELECT sum(x * x % 7) FROM c;\n"
                   "SELECT town, json_group_array(name) FROM person WHERE born > 2005 GROUP BY town LIMIT 3;\nPRAGMA integrity_check;\n")


def lua(directory, size, _rng):
    (directory / "work.lua").write_text(f"""
local rounds = {size}
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local Point = {{}}; Point.__index = Point
function Point.new(x, y) return setmetatable({{x = x, y = y}}, Point) end
function Point.__add(a, b) return Point.new(a.x + b.x, a.y + b.y) end
local function sieve(n)
  local composite, count = {{}}, 0
  for i = 2, n do
    if not composite[i] then count = count + 1; for j = i * i, n, i do composite[j] = true end end
  end
  return count
end
local sum = 0
for round = 1, rounds do
  sum = sum + fib(20) + sieve(20000)
  local words = {{}}
  for i = 1, 4000 do words[i] = string.format("%x-%s", i * 7919 % 4096, ("word"):rep(i % 3 + 1)) end
  table.sort(words)
  local text = table.concat(words, " ")
  for word in text:gmatch("%x+%-(%a+)") do sum = sum + #word end
  sum = sum + #text:gsub("word", function(w) return w:upper() end):reverse()
  local p = Point.new(0, 0)
  for i = 1, 8000 do p = p + Point.new(i, -i) end
  sum = sum + p.x
  local produce = coroutine.wrap(function() for i = 1, 4000 do coroutine.yield(i) end return 0 end)
  for i = 1, 4000 do sum = sum + produce() end
  local ok, message = pcall(function() error({{code = round}}) end)
  sum = sum + message.code
end
print(sum)
""")


def zlib(directory, size, rng):
    text(directory / "text", size, rng)


bzip2 = re2 = zlib


def cjson(directory, size, rng):
    records(directory / "records.json", size, rng)


jsoncpp = jaq = cjson


def expat(directory, size, rng):
    catalogue(directory / "catalogue.xml", size, rng)


pugixml = expat


def semver(directory, size, rng):
    numbered(directory / "versions", size, rng)


itertools = semver


def leveldb(_directory, _size, _rng):
    """Its driver makes up its keys; the size is an argument."""


def ripgrep(directory, size, rng):
    for n in range(size):
        folder = directory / "tree" / f"part{n % 20}" / f"chapter{n % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.txt").write_text("".join(sentence(rng) + "\n" for _ in range(rng.randrange(20, 120))))
        if n % 50 == 0:
            (folder / f"{n}.bin").write_bytes(rng.randbytes(2000))
    (directory / "tree" / ".ignore").write_text("*.bin\npart19/\n")
