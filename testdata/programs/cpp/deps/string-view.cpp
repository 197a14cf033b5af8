// A view of a text: as many characters as it says.
// f reads s._M_len; s._M_str; s._M_str[0..s._M_len]
#include <string_view>
extern "C" bool f(std::string_view s) {
  for (char c : s)
    if (c == 'x')
      return true;
  return false;
}
