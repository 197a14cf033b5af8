"""Programs of any length for what has to grow with them: modules of forty functions in five layers, each with globals and a list of
its own. Functions call those of the layer below; the highest layer also calls into other modules, and a few go through tables. A tree of
callers holds everything together."""

import random

LAYERS, WIDTH = 5, 8
HEAD = """#include <stdlib.h>
#include <string.h>
struct node { int key, count; struct node *next, *other; char name[16]; long weight[4]; };
"""
SHAPES = [
    """  for (struct node *q = p; q; q = q->next) {{
    sum += q->key;
    if (q->count > n)
      break;
    q->count = (int)table{m}[n & 7];
  }}
  sum += {a}(p, n + 1);""",
    """  struct node *fresh = malloc(sizeof *fresh);
  if (!fresh)
    return 0;
  fresh->key = (int)n;
  fresh->next = head{m};
  fresh->other = p;
  head{m} = fresh;
  memcpy(fresh->name, p->name, sizeof p->name);
  sum += {a}(p, sum);""",
    """  struct node local;
  memset(&local, 0, sizeof local);
  local.next = p;
  local.key = limit{m};
  sum += {a}(&local, n);
  switch (sum & 3) {{
  case 0:
    sum += local.weight[1];
    break;
  case 1:
    sum += {b}(p, sum);
    break;
  default:
    sum ^= p->weight[n & 3];
  }}""",
    """  if (p == head{m} && n > limit{m}) {{
    sum = {a}(p, n);
  }} else {{
    p->count = (int)sum;
    table{m}[n & 7] += p->weight[1];
  }}
  while (n-- > 0)
    sum += p->weight[n & 3];""",
    """  struct node **place = &head{m};
  while (*place && (*place)->key != (int)n)
    place = &(*place)->next;
  if (*place) {{
    struct node *dead = *place;
    *place = dead->next;
    sum += dead->key;
    free(dead);
  }}
  sum += {b}(p, sum);""",
    """  if (n & 1)
    sum += {a}(p, n);
  else
    sum += steps{m}[n & 1](p, n);
  p->key += (int)strlen(p->name);""",
]


def leaf(module, number):
    return f"static long f{module}_0_{number}(struct node *p, long n) {{\n  return p->weight[{number % 4}] + limit{module} * n + table{module}[{number}];\n}}\n"


def function(choose, module, layer, number):
    below = [f"f{module}_{layer - 1}_{choose.randrange(WIDTH)}" for _ in range(2)]
    if layer == LAYERS - 1 and module and choose.randrange(4) == 0:
        below[1] = f"f{choose.randrange(max(0, module - 20), module)}_1_{choose.randrange(WIDTH)}"
    shape = choose.choice(SHAPES).format(m=module, a=below[0], b=below[1])
    return f"static long f{module}_{layer}_{number}(struct node *p, long n) {{\n  long sum = limit{module};\n{shape}\n  return sum;\n}}\n"


def program(lines):
    """A C program of at least that many lines; always the same."""
    choose = random.Random(lines)
    parts, count, module = [HEAD], 3, 0
    while count < lines:
        parts.append(f"static struct node *head{module};\nstatic int limit{module} = {module % 100};\nstatic long table{module}[8];\n")
        new = [leaf(module, n) for n in range(WIDTH)]
        new.append(f"static long (*const steps{module}[])(struct node *, long) = {{ f{module}_0_0, f{module}_0_1 }};\n")
        new += [function(choose, module, layer, n) for layer in range(1, LAYERS) for n in range(WIDTH)]
        parts += new
        count += 3 + sum(part.count("\n") for part in new)
        module += 1
    # a tree of callers over all modules
    names, level = [f"f{m}_{LAYERS - 1}_{n}" for m in range(module) for n in range(WIDTH)], 0
    while len(names) > 1:
        groups = [names[i:i + WIDTH] for i in range(0, len(names), WIDTH)]
        names = [f"all{level}_{number}" for number in range(len(groups))]
        for name, group in zip(names, groups):
            calls = "".join(f"  sum += {callee}(p, sum);\n" for callee in group)
            parts.append(f"static long {name}(struct node *p, long n) {{\n  long sum = n;\n{calls}  return sum;\n}}\n")
        level += 1
    return "".join(parts) + f"int main(int count, char **words) {{\n  struct node n = {{ count }};\n  return (int){names[0]}(&n, 0);\n}}\n"
