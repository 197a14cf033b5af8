// A virtual call calls what stands at its place in the tables of classes.
// f reads *b->_vptr$base; b->_vptr$base; b[8..12]; b[8..16]
struct base {
    virtual int get() const = 0;
    virtual int other() const { return 7; }
};
int global;
struct one : base { int x; int get() const override { return x; } int other() const override { return global; } };
struct two : base { long y; int get() const override { return (int)y; } };
int f(const base *b) { return b->get(); }
base *make(bool c) { if (c) return new one; return new two; }
int main() { return 0; }
