// Assembly that may touch memory.
// f opaque assembly
void f(void) { __asm__ volatile("" ::: "memory"); }
