// Draws the charts of the report over the JSON the page carries. Without it the page lacks the charts and nothing else.
// Texts of the log go through textContent and canvas only; uPlot does the same with its labels.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  const digits = (v) => (v >= 99.95 || Math.abs(v - Math.round(v)) < 0.005 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const UNITS = [["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const time = (ns) => {
    if (ns == null) return "–";
    const unit = UNITS.find(([, size]) => ns >= size);
    return unit ? `${digits(ns / unit[1])} ${unit[0]}` : `${Math.round(ns)} ns`;
  };
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const count = (n) => n.toLocaleString("en");
  const axis = (more) => ({ stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18, ...more });
  // Ticks at 1, 2 and 5 of each power of ten.
  const oneTwoFive = (u, index, min, max) => {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10) {
      ticks.push(...[1, 2, 5].map((n) => n * power).filter((v) => v >= min && v <= max));
    }
    return ticks;
  };
  const judgement = JSON.parse(document.getElementById("judgement").textContent);
  const drawn = new Map(); // figure → chart
  const painted = new Set(); // those that reached the canvas
  const PAPER = 325; // half of A4 without its margins, in CSS pixels
  let errors = 0;

  // ---- texts ----------------------------------------------------------------------------------------------------------
  const percent = (share) => (share == null ? "" : `${(share * 100).toFixed(2)}%`);
  const rate = (n) => (n == null ? "" : `${n.toLocaleString("en", { maximumFractionDigits: 1 })}/s`);
  const megabytes = (n) => (n == null ? "" : `${n.toLocaleString("en", { maximumFractionDigits: 2 })} MB/s`);
  const failures = (n) => (n == null ? "" : count(n));
  const length = (ns) => (ns == null ? "" : time(ns));
  const two = (n) => String(n).padStart(2, "0");
  const clock = (s) => `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(Math.floor(s % 60))}`;
  const seconds = (list) => list.map((ns) => ns / 1e9);

  // ---- parts common to all charts ---------------------------------------------------------------------------------------
  const TICKS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const timeAxis = () => axis({ label: "measured time (h:mm:ss)", size: 30, incrs: TICKS, space: 70, values: (u, ticks) => ticks.map(clock) });
  const line = (label, stroke, value, more) => ({ label, stroke: colour(stroke), width: 1.5, points: { show: false }, value: (u, v) => value(v), ...more });
  const position = { label: "at", value: (u, v) => (v == null ? "" : clock(v)) };
  // Where there are many ticks, the powers of ten alone are labelled.
  const labels = (u, ticks) => ticks.map((v) => (ticks.length <= 7 || /^10*$/.test(Math.round(v)) ? time(v) : null));
  const latencyAxis = (label) => axis({ label, size: 62, splits: oneTwoFive, filter: (u, ticks) => ticks, values: labels });

  function timeline(part, step, more) {
    const line = part.series;
    const end = Math.max(part.measured_ns, line.at_ns.at(-1) + line.width_ns.at(-1)) / 1e9;
    // All charts begin and end together; within a zoom the range is what was chosen.
    const whole = (u, from, to) => (from <= u.data[0][0] && to >= u.data[0].at(-1) ? [0, end] : [from, to]);
    const marks = { draw: [(u) => marked(u, part)], drawClear: [(u) => shaded(u, step)] };
    return {
      height: 230,
      padding: [8, 28, 0, 0],
      legend: { live: true },
      cursor: { sync: { key: `step${step}`, scales: ["x", null] }, drag: { x: true, y: false }, y: false },
      ...more,
      scales: { x: { time: false, range: whole }, ...more.scales },
      hooks: { ...marks, ...more.hooks, draw: [...(more.hooks?.draw ?? []), ...marks.draw] },
    };
  }

  function clipped(u, paint) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    paint(u.ctx, { left, top, width, height });
    u.ctx.restore();
  }

  // The stretch that decided the verdict.
  function shaded(u, step) {
    const deciding = judgement.deciding;
    const mine = deciding && (step < 0 || judgement.steps[step].number === deciding.step) && judgement.verdict !== "PASS";
    if (!mine) return;
    clipped(u, (ctx, box) => {
      const from = u.valToPos(deciding.start_ns / 1e9, "x", true);
      const to = u.valToPos(deciding.end_ns / 1e9, "x", true);
      ctx.fillStyle = colour("decide");
      ctx.fillRect(from, box.top, to - from, box.height);
    });
  }

  // Disturbed parts, events and gaps.
  function marked(u, part) {
    clipped(u, (ctx, box) => {
      ctx.strokeStyle = colour("mark");
      ctx.lineWidth = devicePixelRatio;
      const parts = part.parts ?? [];
      ctx.fillStyle = colour("mark") + "22";
      parts.forEach((own, index) => {
        if (own.kind !== "disturbed") return;
        const end = parts[index + 1]?.start_ns ?? part.measured_ns;
        const from = u.valToPos(own.start_ns / 1e9, "x", true);
        ctx.fillRect(from, box.top, u.valToPos(end / 1e9, "x", true) - from, box.height);
      });
      const changes = (part.steadiness ?? []).flatMap((one) => one.changes ?? []);
      for (const [moments, dash] of [[part.events, [2, 4]], [part.gaps, [6, 3]], [changes, [1, 2]]]) {
        ctx.setLineDash(dash.map((n) => n * devicePixelRatio));
        ctx.beginPath();
        for (const moment of moments) {
          const x = Math.round(u.valToPos(moment.at_ns / 1e9, "x", true));
          ctx.moveTo(x, box.top);
          ctx.lineTo(x, box.top + box.height);
        }
        ctx.stroke();
      }
    });
  }

  // ---- the charts: each gives uPlot's options and data --------------------------------------------------------------------
  const positive = (list) => list.map((v) => (v > 0 ? v : null)); // a logarithmic scale has no zero
  const logarithmic = { distr: 3, log: 10 };

  const CHARTS = {
    response({ part, step, lines }) {
      const bands = lines.bands;
      // A point holds from its begin to the next one's, the last to the end.
      const at = [...seconds(bands.at_ns), Math.max(part.measured_ns, bands.at_ns.at(-1) + 1) / 1e9];
      const held = (list) => positive([...list, list.at(-1)]);
      const steps = { paths: uPlot.paths.stepped({ align: 1 }) };
      const options = timeline(part, step, {
        scales: { y: logarithmic },
        axes: [timeAxis(), latencyAxis("response")],
        series: [position, line("p50", "c1", length, steps), line("p99", "c2", length, steps), line("p99.9", "c3", length, steps)],
        bands: [{ series: [2, 1], fill: colour("c2") + "30" }, { series: [3, 2], fill: colour("c3") + "22" }],
      });
      return [options, [at, held(bands.p50_ns), held(bands.p99_ns), held(bands.p99_9_ns)]];
    },

    share({ part, step, lines, figure }) {
      const bound = parseFloat(figure.dataset.bound);
      const largest = Math.max(1e-4, bound || 0, ...lines.share_over.filter((v) => v != null));
      const data = [seconds(part.series.at_ns), lines.share_over];
      const series = [position, line(`over ${part.series.threshold}`, "c1", percent)];
      if (bound) {
        data.push(data[0].map(() => bound));
        series.push(line("bound", "c4", percent, { dash: [6, 4], width: 1 }));
      }
      const axes = [timeAxis(), axis({ label: "share of responses (%)", size: 62, values: (u, ticks) => ticks.map((v) => `${+(v * 100).toPrecision(3)}%`) })];
      return [timeline(part, step, { scales: { y: { range: [0, largest * 1.08] } }, axes, series }), data];
    },

    rate({ part, step, lines }) {
      // Behind the planned end only what was left is waited for: no rate.
      const offered = (list) => list.map((n, index) => (part.series.at_ns[index] < part.planned_ns ? n : null));
      const [asked, achieved] = [offered(lines.asked), offered(lines.achieved)];
      const largest = Math.max(1, ...asked, ...achieved);
      const data = [seconds(part.series.at_ns), asked, achieved];
      const series = [position, line("asked", "soft", rate, { dash: [5, 4], width: 1 }), line("achieved", "c1", rate)];
      const axes = [timeAxis(), axis({ label: "operations per second", size: 70 })];
      const scales = { y: { range: [0, largest * 1.08] } };
      if (lines.errors.some((n) => n > 0)) {
        data.push(positive(lines.errors));
        series.push(line("errors", "c4", failures, { scale: "errors", paths: () => null, points: { show: true, size: 7, fill: colour("c4") } }));
        scales.errors = { range: [0, Math.max(...lines.errors) * 1.1] };
        axes.push(axis({ label: "failed operations", scale: "errors", side: 1, size: 50, grid: { show: false } }));
      }
      return [timeline(part, step, { scales, axes, series }), data];
    },

    bytes({ part, step, lines }) {
      const at = part.series.at_ns;
      const achieved = lines.bytes_per_second.map((n, index) => (at[index] < part.planned_ns ? n / 1e6 : null));
      const scales = { y: { range: [0, Math.max(0.001, ...achieved) * 1.08] } };
      const axes = [timeAxis(), axis({ label: "MB/s", size: 62 })];
      return [timeline(part, step, { scales, axes, series: [position, line("achieved", "c1", megabytes)] }), [seconds(at), achieved]];
    },

    lag({ part, step, lines }) {
      const axes = [timeAxis(), latencyAxis("lag")];
      const series = [position, line("mean", "c1", length), line("largest", "c2", length)];
      // Where nothing lagged there is no logarithm; the scale then shows the first microsecond.
      const range = (u, low, high) => (low == null ? [1, 1000] : uPlot.rangeLog(low, high, 10, true));
      const data = [seconds(part.series.at_ns), positive(lines.lag_mean_ns), positive(lines.lag_max_ns)];
      return [timeline(part, step, { scales: { y: { ...logarithmic, range } }, axes, series }), data];
    },

    heat({ part, step, lines, figure }) {
      const heat = lines.heat;
      const span = heatSpan(heat);
      const at = seconds(heat.at_ns);
      // One more position, so that the last column has its width.
      at.push(2 * at[at.length - 1] - (at[at.length - 2] ?? at[at.length - 1] - 1));
      const options = timeline(part, step, {
        legend: { show: false },
        scales: { y: { ...logarithmic, range: () => span } },
        axes: [timeAxis(), latencyAxis("response")],
        series: [position, { paths: () => null, points: { show: false } }],
        cursor: { sync: { key: `step${step}`, scales: ["x", null] }, drag: { x: true, y: false } },
        hooks: { draw: [(u) => paintHeat(u, heat, at)], setCursor: [(u) => readHeat(u, heat, at, figure)] },
      });
      drawRamp(figure.querySelector(".ramp"), heat);
      return [options, [at, at.map(() => span[0])]];
    },

    nines({ part, figure }) {
      const totals = part[figure.dataset.of][figure.dataset.totals];
      const place = ([share]) => (share < 1 ? -Math.log10(1 - share) : Math.log10(Math.max(10, totals.operations)));
      const table = (nines) => [nines.map(place), positive(nines.map(([, ns]) => ns))];
      const nine = (n) => (n === 0 ? "0%" : n === 1 ? "90%" : n === 2 ? "99%" : `99.${"9".repeat(n - 2)}%`);
      const options = {
        height: 230,
        padding: [8, 28, 0, 0],
        cursor: { drag: { x: false, y: false }, y: false },
        scales: { x: { time: false }, y: logarithmic },
        axes: [
          axis({ label: "share of operations that took no longer (%)", size: 30, incrs: [1, 2, 3], space: 74, values: (u, ticks) => ticks.map(nine) }),
          latencyAxis("response, service"),
        ],
        series: [
          { label: "not above", value: (u, v) => (v == null ? "" : `${+((1 - 10 ** -v) * 100).toFixed(5)}%`) },
          line("response", "c1", length, { spanGaps: true }),
          line("service", "c3", length, { spanGaps: true, dash: [5, 3] }),
        ],
      };
      return [options, uPlot.join([table(totals.response.nines), table(totals.service.nines ?? [])])];
    },
  };

  // Lowest and highest boundary that any count touches.
  function heatSpan(heat) {
    const rows = heat.columns.flatMap((column) => column.filter((_, at) => at % 2 === 0));
    const [low, high] = [rows.reduce((a, b) => Math.min(a, b), Infinity), rows.reduce((a, b) => Math.max(a, b), 0)];
    return rows.length ? [edge(heat, low - 1), edge(heat, high)] : [edge(heat, 0), edge(heat, heat.bounds_ns.length - 1)];
  }

  // Upper boundary of a row; the outermost ones have none of their own and are drawn one step wide.
  function edge(heat, row) {
    const bounds = heat.bounds_ns;
    return row < 0 ? bounds[0] / 2 : row < bounds.length ? bounds[row] : bounds[bounds.length - 1] * 2;
  }

  const mostIn = (heat) => heat.columns.reduce((a, column) => column.reduce((b, n, i) => (i % 2 ? Math.max(b, n) : b), a), 1);
  // By the logarithm: one slow operation among a million must be seen. The weakest colour still differs from the page.
  const strength = (n, most) => (most > 1 ? Math.log(n) / Math.log(most) : 1);

  function paintHeat(u, heat, at) {
    const most = mostIn(heat);
    const shade = ramp(colour("heat-low"), colour("heat-high"));
    clipped(u, (ctx) => {
      heat.columns.forEach((column, index) => {
        const left = Math.floor(u.valToPos(at[index], "x", true));
        const right = Math.ceil(u.valToPos(at[index + 1], "x", true));
        for (let i = 0; i < column.length; i += 2) {
          const top = Math.round(u.valToPos(edge(heat, column[i]), "y", true));
          const bottom = Math.round(u.valToPos(edge(heat, column[i] - 1), "y", true));
          ctx.fillStyle = shade(strength(column[i + 1], most));
          ctx.fillRect(left, top, right - left, bottom - top);
        }
      });
    });
  }

  // The scale of the colours, with its numbers: one operation, powers of ten, the most of any cell.
  function drawRamp(place, heat) {
    const most = mostIn(heat);
    const shade = ramp(colour("heat-low"), colour("heat-high"));
    const steps = [1];
    for (let n = 10; n < most / 2; n *= 10) steps.push(n);
    if (most > 1) steps.push(most);
    const swatches = steps.map((n) => {
      const one = document.createElement("span");
      const box = document.createElement("i");
      box.style.backgroundColor = shade(strength(n, most));
      one.append(box, count(n));
      return one;
    });
    place.replaceChildren(...swatches, "operations in a cell");
  }

  // Which interval, which responses, how many operations: where the mouse, the finger or the keyboard points.
  function readHeat(u, heat, at, figure) {
    const out = figure.querySelector(".readout");
    const { left, top } = u.cursor;
    const mine = u.over.matches(":hover") || figure.contains(document.activeElement) || u.root.dataset.touched;
    if (left == null || left < 0 || top < 0 || !mine) { out.textContent = ""; return; }
    const [x, y] = [u.posToVal(left, "x"), u.posToVal(top, "y")];
    const index = at.findLastIndex((begin) => begin <= x);
    const column = heat.columns[index];
    if (!column) { out.textContent = ""; return; }
    out.textContent = heatText(heat, at, index, rowAt(heat, y));
  }

  const rowAt = (heat, ns) => {
    const row = heat.bounds_ns.findIndex((bound) => ns < bound);
    return row < 0 ? heat.bounds_ns.length : row;
  };

  function heatText(heat, at, index, row) {
    const column = heat.columns[index];
    const place = column.findIndex((n, i) => i % 2 === 0 && n === row);
    const found = place < 0 ? 0 : column[place + 1];
    const all = column.reduce((sum, n, i) => (i % 2 ? sum + n : sum), 0);
    const from = row === 0 ? "under" : `${time(heat.bounds_ns[row - 1])} to`;
    const to = row < heat.bounds_ns.length ? time(heat.bounds_ns[row]) : "more";
    const share = all > 0 ? ` of ${count(all)} (${percent(found / all)})` : "";
    return `${clock(at[index])} to ${clock(at[index + 1])}, response ${from} ${to}: ${count(found)}${share} operations`;
  }

  function ramp(low, high) {
    const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const [from, to] = [channels(low), channels(high)];
    return (share) => `rgb(${from.map((a, i) => Math.round(a + (to[i] - a) * share)).join(",")})`;
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------------
  function draw(figure) {
    const step = Number(figure.dataset.step ?? -1);
    const part = step < 0 ? judgement : judgement.steps[step];
    const place = figure.querySelector(".plot");
    // On paper a column is narrower than on most screens, and the layout of the paper is not known yet.
    const width = root.classList.contains("print") ? Math.min(PAPER, place.clientWidth) : place.clientWidth;
    const folded = figure.closest("details:not([open])"); // drawn when it is unfolded
    figure.hidden = part.series.at_ns.length === 0; // left out to keep the file small; the end of the page says so
    if (folded || !width || figure.hidden) return;
    drawn.get(figure)?.destroy();
    painted.delete(figure);
    const [options, data] = CHARTS[figure.dataset.chart]({ part, step, figure, lines: part.series[figure.dataset.of ?? "streams"]?.[figure.dataset.stream] });
    const hooks = {
      ...options.hooks,
      draw: [...(options.hooks?.draw ?? []), () => painted.add(figure)],
      setCursor: [...(options.hooks?.setCursor ?? []), quiet],
    };
    drawn.set(figure, new uPlot({ width, ...options, hooks }, data, place));
  }

  // A legend that has nothing to say is not seen.
  function quiet(u) {
    u.root.classList.toggle("pointed", u.cursor.left != null && u.cursor.left >= 0);
  }

  // How far each key moves the cursor, right and down.
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] };
  const away = (u) => u.setCursor({ left: -10, top: -10 });

  // The arrow keys move the cursor, in a heat map also between responses; Escape takes it away.
  function typed(event) {
    const figure = event.target.closest("figure[data-chart]");
    const u = drawn.get(figure);
    const heat = figure?.dataset.chart === "heat";
    const [dx, dy] = KEYS[event.key] ?? [0, 0];
    if (!u || (event.key !== "Escape" && dx === 0 && (dy === 0 || !heat))) return;
    event.preventDefault();
    if (event.key === "Escape") away(u);
    else u.setCursor({ left: moved(u, dx) + (heat ? 1 : 0), top: u.cursor.left >= 0 ? raised(u, dy) : u.over.clientHeight / 2 });
  }

  // To the point before or behind; where a point is less than a pixel wide, a step is at least three of them.
  function moved(u, dx) {
    const width = u.over.clientWidth;
    const seen = u.data[0].map((x) => u.valToPos(x, "x")).filter((x) => x >= 0 && x <= width);
    const last = seen.length - 1;
    const idle = !(u.cursor.left >= 0);
    const now = idle ? (dx < 0 ? seen.length : -1) : seen.findLastIndex((x) => x <= u.cursor.left + 0.5);
    const each = Math.max(1, Math.round((3 * seen.length) / width));
    const next = dx === Infinity ? last : dx === -Infinity ? 0 : now + dx * each;
    return seen[Math.max(0, Math.min(last, next))] ?? 0;
  }

  const raised = (u, dy) => Math.max(1, Math.min(u.over.clientHeight - 1, u.cursor.top + dy * 6));

  // A finger points as a mouse does, and what it read stays until it touches elsewhere.
  function touched(event) {
    if (event.pointerType !== "touch") return;
    drawn.forEach((u, figure) => { if (!figure.contains(event.target)) { delete u.root.dataset.touched; away(u); } });
    const u = drawn.get(event.target.closest?.("figure[data-chart]"));
    if (!u) return;
    const box = u.over.getBoundingClientRect();
    u.root.dataset.touched = "yes";
    u.setCursor({ left: event.clientX - box.left, top: event.clientY - box.top });
  }

  function drawAll({ missing = false } = {}) {
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      if (missing && drawn.has(figure)) continue;
      try {
        draw(figure);
      } catch (error) {
        errors += 1;
        console.error(`chart ${figure.dataset.chart}:`, error);
      }
    }
    // Charts are painted in a microtask; this one comes behind them.
    queueMicrotask(() => { root.dataset.ready = `charts:${painted.size} errors:${errors}`; });
  }

  let waiting = 0;
  const open = (all) => document.querySelectorAll("details:not(.raw)").forEach((one) => { one.open = all || one.dataset.was === "open"; });

  document.addEventListener("keydown", typed);
  document.addEventListener("pointerup", touched);
  document.addEventListener("focusout", (event) => { const u = drawn.get(event.target.closest("figure[data-chart]")); if (u) away(u); });
  document.addEventListener("toggle", () => drawAll({ missing: true }), true);
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  // Paper is white and cannot be unfolded.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.raw)").forEach((one) => { one.dataset.was = one.open ? "open" : "shut"; });
    open(true);
    root.classList.add("print");
    drawAll();
  });
  addEventListener("afterprint", () => { open(false); root.classList.remove("print"); drawAll(); });
  drawAll();
})();
