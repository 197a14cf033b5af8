-- Gives Lua's own functions something to do: tables, remainders, shifts, texts.
local squares, sum = {}, 0
for i = 1, 40 do squares["n" .. i] = (i * 7919) % (i % 7 - 9) end
for _, v in pairs(squares) do sum = sum + v end
for i = -70, 70, 20 do sum = sum ~ (12345 << i) end
print(sum)
