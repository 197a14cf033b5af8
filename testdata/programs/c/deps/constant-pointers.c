// What a constant points to may be state.
// f reads g
int g;
static int *const table[2] = {&g, 0};
int f(void) { return *table[0]; }
