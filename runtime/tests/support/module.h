/* What the pass puts into a module, written by hand: counters on pages of their own, the record that describes them, a
   constructor and a destructor. Define before including: COUNT (number of counters), ID (first byte of the module's id),
   NO_CONSTRUCTOR where the program calls `enter` itself. */
#include <stdint.h>

#ifndef COUNT
#define COUNT 10
#endif
#ifndef ID
#define ID 0xab
#endif

struct module_record {
  uint32_t size, mechanisms;
  uint8_t id[16];
  volatile uint8_t *counters;
  uint64_t counter_count;
  volatile uint8_t *off;
};

void __unseen_abi_v1(const struct module_record *);
void __unseen_leave_v1(const struct module_record *);
int __unseen_active(void);
void __unseen_cover_reset(void);

static volatile uint8_t counters[(COUNT + 4095) / 4096 * 4096 + 0] __attribute__((aligned(4096)));
static volatile uint8_t off;
static const struct module_record record = {sizeof record, 1, {ID, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                            counters, COUNT, &off};

static inline void hit(unsigned i) { counters[i] = 1; }

#ifndef NO_CONSTRUCTOR
__attribute__((constructor)) static void enter(void) { __unseen_abi_v1(&record); }
__attribute__((destructor)) static void leave(void) { __unseen_leave_v1(&record); }
#endif
