/* Nothing: what is left is what it costs to start. */
int main(void) { return 0; }
