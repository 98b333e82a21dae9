-- The mix of TPC-C as calls of the procedures that `assay prep` makes on MariaDB, for sysbench 1.1, the first version that
-- reads the second answer of a call. The numbers are those of the standard's clauses 2.4.1 to 2.8.1.
sysbench.cmdline.options = {
   warehouses = {"Warehouses of the database", 1},
   c_last = {"The constant of last names while they are drawn", 0},
   c_customer = {"The constant of customers", 0},
   c_item = {"The constant of items", 0},
}

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
local bit, draw = require("bit"), function(low, high) return math.random(low, high) end

local function nurand(a, low, high, c)
   return (bit.bor(draw(0, a), draw(low, high)) + c) % (high - low + 1) + low
end

local function elsewhere(home, share)
   local all = sysbench.opt.warehouses
   if all == 1 or math.random() >= share then return home end
   local other = draw(1, all - 1)
   return other >= home and other + 1 or other
end

-- A statement with its parameters, INT or CHAR with the most bytes.
local function prepared(name, kinds)
   local statement = connection:prepare("CALL " .. name .. "(" .. string.rep("?", #kinds, ", ") .. ")")
   local binds = {}
   for at, kind in ipairs(kinds) do
      binds[at] = kind == 0 and statement:bind_create(sysbench.sql.type.INT) or
         statement:bind_create(sysbench.sql.type.CHAR, kind)
   end
   statement:bind_param(unpack(binds))
   return {statement = statement, binds = binds}
end

local function call(it, ...)
   for at, bind in ipairs(it.binds) do
      local value = select(at, ...)
      if value == nil then bind:set() else bind:set(value) end
   end
   it.statement:execute()
   while it.statement:next_result() ~= nil do end
end

local calls

function thread_init()
   connection = sysbench.sql.driver():connect()
   math.randomseed(sysbench.rand.uniform(1, 2147483647) + sysbench.tid)
   calls = {
      new_order = prepared("new_order_v1", {0, 0, 0, 26, 360, 0, 0, 8, 0, 0}),
      payment = prepared("payment_v1", {0, 0, 0, 0, 0, 16, 12, 26, 8, 0, 0}),
      order_status = prepared("order_status_v1", {0, 0, 0, 16}),
      delivery = prepared("delivery_v1", {0, 0, 26, 0, 8, 0, 0}),
      stock_level = prepared("stock_level_v1", {0, 0, 0}),
   }
end

function thread_done()
   connection:disconnect()
end

local function now()
   return os.date("%Y-%m-%d %H:%M:%S")
end

-- A customer's number, or none and the last name.
local function by_whom()
   if math.random() >= 0.6 then return nurand(1023, 1, 3000, sysbench.opt.c_customer), nil end
   local name = nurand(255, 0, 999, sysbench.opt.c_last)
   local syllable = function(place) return SYLLABLES[math.floor(name / place) % 10 + 1] end
   return nil, syllable(100) .. syllable(10) .. syllable(1)
end

local function new_order(home, district)
   local count, lines, is_local = draw(5, 15), {}, 1
   for at = 1, count do
      local supply = elsewhere(home, 0.01)
      if supply ~= home then is_local = 0 end
      lines[at] = {supply = supply, item = nurand(8191, 1, 100000, sysbench.opt.c_item), at = at, quantity = draw(1, 10)}
   end
   if math.random() < 0.01 then lines[count].item = 100001 end
   table.sort(lines, function(a, b)
      if a.supply ~= b.supply then return a.supply < b.supply end
      if a.item ~= b.item then return a.item < b.item end
      return a.at < b.at
   end)
   for at, it in ipairs(lines) do
      lines[at] = string.format("%02d%010d%010d%02d", it.at, it.supply, it.item, it.quantity)
   end
   local customer = nurand(1023, 1, 3000, sysbench.opt.c_customer)
   call(calls.new_order, home, district, customer, now(), table.concat(lines), count, is_local, nil, nil, nil)
end

local function payment(home, district)
   local there = elsewhere(home, 0.15)
   local other = there == home and district or draw(1, 10)
   local id, last = by_whom()
   local amount = string.format("%.2f", draw(100, 500000) / 100)
   call(calls.payment, home, district, there, other, id, last, amount, now(), nil, nil, nil)
end

function event()
   local home, district, kind = draw(1, sysbench.opt.warehouses), draw(1, 10), math.random()
   if kind < 0.45 then
      new_order(home, district)
   elseif kind < 0.88 then
      payment(home, district)
   elseif kind < 0.92 then
      call(calls.order_status, home, district, by_whom())
   elseif kind < 0.96 then
      call(calls.delivery, home, draw(1, 10), now(), 10, nil, nil, nil)
   else
      call(calls.stock_level, home, district, draw(10, 20))
   end
end
