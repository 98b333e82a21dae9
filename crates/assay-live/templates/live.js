// Keeps the page as the log is: everything once, then what is new. Texts of the log go through textContent and canvas only.
(() => {
  "use strict";
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const RECENT = 600;
  const LATE = 12; // seconds without an interval after which the page says so
  let S = {}; // what the server said, by the names that it uses
  let heard = 0; // when, on this browser's clock
  let chosen = 0; // the stream that is drawn
  let source = null;
  let errors = 0;
  const charts = {};

  // ---- texts --------------------------------------------------------------------------------------------------------
  const digits = (v) => (v >= 99.95 || Math.abs(v - Math.round(v)) < 0.005 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const UNITS = [["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const SIZES = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
  const inUnits = (v, units, least) => {
    const unit = units.find(([, size]) => v >= size);
    return unit ? `${digits(v / unit[1])} ${unit[0]}` : `${Math.round(v)} ${least}`;
  };
  const two = (n) => String(n).padStart(2, "0");
  const clock = (s) => `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(Math.floor(s % 60))}`;
  const SHOWN = {
    time: (v) => inUnits(v, UNITS, "ns"),
    bytes: (v) => inUnits(v, SIZES, "B"),
    count: (v) => v.toLocaleString("en"),
    rate: (v) => `${v.toLocaleString("en", { maximumFractionDigits: 1 })}/s`,
    share: (v) => `${(v * 100).toFixed(v > 0 && v < 0.01 ? 4 : 2)}%`,
    clock: (v) => clock(v / 1e9),
  };
  const found = (pointer) => pointer.split("/").slice(1).reduce((part, name) => (part == null ? part : part[name]), S);

  // ---- elements -----------------------------------------------------------------------------------------------------
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text != null) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  // An element that shows the figure at a place of what the server said, or a part of it; it names that place.
  const figure = (name, pointer, kind, of) => {
    const element = make(name, "–", name === "td" ? "n" : null);
    const value = of == null ? found(pointer) : found(of) > 0 ? found(pointer) / found(of) : null;
    if (value == null) return element;
    element.dataset.json = pointer;
    if (of != null) element.dataset.of = of;
    element.textContent = SHOWN[kind](value);
    return element;
  };
  const rows = (table, list) => at(table).tBodies[0].replaceChildren(...list);
  const row = (...cells) => {
    const element = make("tr");
    element.append(...cells);
    return element;
  };
  const items = (id, list) => at(id).replaceChildren(...list);

  // ---- parts of the page --------------------------------------------------------------------------------------------
  function showHead() {
    const run = S.run?.run;
    at("name").textContent = run ? run.name : "No log yet";
    document.title = run ? `${S.standing.word}: ${run.name}` : "Assay live";
    const step = S.run?.step;
    const words = run ? [`load ${run.load}`, `seed ${run.seed}`, `begun ${run.created}`, run.tool] : [];
    if (step) words.unshift(`step ${step.number} of ${step.of}: ${step.title}`);
    at("what").textContent = words.join(", ");
    const marks = S.judged?.watermarks ?? run?.watermarks ?? [];
    items("watermarks", marks.map((mark) => make("li", mark)));
  }

  function showStanding() {
    const standing = S.standing ?? { word: "STARTING", text: "", class: "incomplete" };
    at("banner").className = `banner ${standing.class}`;
    at("word").textContent = standing.word;
    at("reason").textContent = standing.text;
  }

  function showAge() {
    const age = Math.floor((performance.now() - heard + (S.age_ms ?? 0)) / 1000);
    const waits = S.lines > 0 && !S.standing?.ended && age >= LATE;
    at("age").textContent = waits ? `no new interval for ${age} s` : "";
    at("age").classList.toggle("late", waits);
  }

  function showNow() {
    const moment = S.moment;
    at("now").hidden = !moment;
    if (!moment) return;
    const phase = S.run.phases[moment.phase];
    at("phase").textContent = phase ? phase.name : "";
    const stream = `/moment/streams/${chosen}`;
    const over = overIndex();
    const list = [
      ["measured", figure("dd", "/moment/measured_ns", "clock")],
      ["of", figure("dd", "/moment/planned_ns", "clock")],
      ["left", make("dd", SHOWN.clock(Math.max(0, moment.planned_ns - moment.measured_ns)))],
      ["asked", figure("dd", `${stream}/asked`, "rate")],
      ["achieved", figure("dd", `${stream}/achieved`, "rate")],
      ["moved", rateOfBytes(stream)],
      ["in flight", figure("dd", `${stream}/in_flight`, "count")],
      ["waiting", figure("dd", `${stream}/waiting`, "count")],
      ["failed", figure("dd", `${stream}/errors`, "count")],
      [`response over ${S.run.thresholds[over] ?? ""}`, figure("dd", `${stream}/over/${over}`, "share", `${stream}/operations`)],
      ["largest own lag", figure("dd", `${stream}/own_lag_max_ns`, "time")],
    ];
    if (moment.foreign != null) list.push(["share of others on a disk", figure("dd", "/moment/foreign", "share")]);
    items("figures", list.map(([name, value]) => {
      const box = make("div");
      box.append(make("dt", name), value);
      return box;
    }));
  }

  function rateOfBytes(stream) {
    const element = figure("dd", `${stream}/bytes_per_second`, "bytes");
    if (element.dataset.json) element.textContent += "/s";
    return element;
  }

  // The threshold whose share is drawn: the one that the judge draws, or the smallest.
  function overIndex() {
    const list = S.run?.thresholds ?? [];
    return Math.max(0, list.indexOf(S.lines_along_time?.threshold));
  }

  const CLASSES = { pass: "pass", fail: "fail", invalid: "invalid", incomplete: "incomplete", "not-applied": "incomplete" };
  const WORDS = { pass: "kept", fail: "broken", invalid: "unproven", incomplete: "not yet", "not-applied": "not judged" };

  function showJudged() {
    const judged = S.judged;
    at("whole").hidden = !judged;
    if (!judged) return;
    rows("criteria", judged.criteria.map((criterion, index) => {
      const base = `/judged/criteria/${index}`;
      const kind = S.judged.criteria[index].bound.includes("%") ? "share" : null;
      const worst = criterion.worst ?? criterion.measured;
      const place = criterion.worst ? "worst" : "measured";
      const value = kind && worst ? figure("td", `${base}/${place}/value`, kind) : make("td", worst ? worst.text : "–", "n");
      return row(make("td", criterion.title), make("td", criterion.bound, "n"), value, figure("td", `${base}/windows`, "count"), figure("td", `${base}/broken`, "count"), stateOf(criterion));
    }));
    items("tiles", judged.slices.map(tile));
    showStreams(judged);
    rows("targets", judged.targets.map((target, index) => row(make("td", target.name), make("td", target.kind), figure("td", `/judged/targets/${index}/read_bytes`, "bytes"), figure("td", `/judged/targets/${index}/written_bytes`, "bytes"))));
    const beneath = [...(judged.per_minute ?? []).map((one) => `${one.name} ${one.value == null ? "–" : one.value.toFixed(1)}`), ...judged.databases, ...judged.beneath];
    beneath.push(...(judged.foreign ?? []).map((one) => `others on ${one.name}: ${one.said ?? "nothing notable"}`));
    beneath.push(...judged.ranks.map((rank) => `rank ${rank.rank} on ${rank.host}${rank.verdict ? `: ${rank.verdict} by its own log` : ""}`));
    beneath.push(...judged.warnings.map((text) => `warning: ${text}`));
    if (judged.damage > 0) beneath.push(`damage: the log differs from what was written in ${judged.damage} places`);
    items("beneath", beneath.map((text) => make("li", text)));
  }

  // Before the end nobody knows that a bound is kept: none was broken so far.
  function stateOf(criterion) {
    const outcome = criterion.outcome;
    if (outcome === "fail" || S.standing?.ended) return make("td", WORDS[outcome], `state ${CLASSES[outcome]}`);
    return criterion.broken > 0 ? make("td", "broken", "state fail") : make("td", "not broken so far", "state incomplete");
  }

  function tile(slice) {
    const state = slice.note ? ["invalid", slice.note] : !slice.within ? ["fail", "broken"] : !slice.valid ? ["invalid", "unproven"] : !slice.complete ? ["incomplete", "open"] : ["pass", "kept"];
    const element = make("li", `${slice.number} ${state[1]}`, state[0]);
    element.title = [`${clock(slice.start_ns / 1e9)} to ${clock(slice.end_ns / 1e9)}`, ...slice.unkept].join("; ");
    return element;
  }

  function showStreams(judged) {
    const over = judged.streams.length > 0 ? Object.keys(judged.streams[0].response.over) : [];
    const names = ["stream", "target", "asked", "achieved", "operations", "failed", "response p50", "p99", "p99.9", "max", ...over.map((span) => `over ${span}`), "service p50", "p99", "p99.9"];
    const head = row(...names.map((name, index) => make("th", name, index > 1 ? "n" : null)));
    at("streams").tHead.replaceChildren(head);
    // What is asked for is asked of all targets of a stream together.
    const all = new Set(judged.streams.filter((stream) => stream.target == null).map((stream) => stream.name));
    rows("streams", judged.streams.map((stream, index) => {
      const isPart = stream.target != null && all.has(stream.name);
      const base = `/judged/streams/${index}`;
      const failed = Object.values(stream.errors).reduce((sum, n) => sum + n, stream.short);
      const times = (kind, list) => list.map((name) => figure("td", `${base}/${kind}/${name}`, "time"));
      return row(
        make("td", stream.name), make("td", stream.target ?? "all"),
        isPart ? make("td", "", "n") : figure("td", `${base}/rate_asked`, "rate"), figure("td", `${base}/rate_achieved`, "rate"),
        figure("td", `${base}/operations`, "count"), make("td", SHOWN.count(failed), failed > 0 ? "n bad" : "n"),
        ...times("response", ["p50_ns", "p99_ns", "p99_9_ns", "max_ns"]),
        ...over.map((span) => figure("td", `${base}/response/over/${span}`, "share", `${base}/operations`)),
        ...times("service", ["p50_ns", "p99_ns", "p99_9_ns"]),
      );
    }));
  }

  function showRuns() {
    const runs = S.runs ?? [];
    at("several").hidden = runs.length < 2;
    items("runs", runs.map((run) => make("li", `${run.name}: load ${run.load}, ${run.verdict ?? "running"}`)));
  }

  function showEvents() {
    const events = S.events ?? [];
    at("happened").hidden = events.length === 0;
    items("events", [...events].reverse().map((event) => make("li", `${clock(event.at_ns / 1e9)} ${event.what}: ${event.text}`)));
  }

  function showLine() {
    const judged = S.judged ? `, judged up to line ${S.judged.seq}` : "";
    at("line").textContent = S.lines > 0 ? `line ${S.seq} of the log${judged}${S.over ? "; nothing more will come" : ""}` : "";
  }

  // ---- charts -------------------------------------------------------------------------------------------------------
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const axis = (more) => ({ stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif", size: 62, ...more });
  const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const line = (label, stroke, show, more) => ({ label, stroke: colour(stroke), width: 1.5, points: { show: false }, spanGaps: false, value: (u, v) => (v == null ? "–" : show(v)), ...more });
  const asked = () => line("asked", "soft", SHOWN.rate, { dash: [5, 4] });
  const timeAxis = () => axis({ size: 30, incrs: TICKS, space: 70, values: (u, ticks) => ticks.map(clock) });
  const fromZero = (least) => (u, low, high) => [0, Math.max(least, high ?? 0) * 1.08];
  const positive = (list) => list.map((v) => (v > 0 ? v : null)); // a logarithmic scale has no zero

  const CHARTS = {
    "rates": () => ({ series: [asked(), line("achieved", "c1", SHOWN.rate)], y: { range: fromZero(1) }, values: (v) => v.toLocaleString("en"),
      data: () => [recentTimes(), ofRecent((stream) => stream.asked), ofRecent((stream) => stream.achieved)] }),
    "shares": () => ({ series: [line("share", "c1", SHOWN.share)], y: { range: fromZero(0.0001) }, values: (v) => `${+(v * 100).toPrecision(3)}%`,
      data: () => [recentTimes(), ofRecent((stream) => (stream.operations > 0 ? stream.over[overIndex()] / stream.operations : null))] }),
    "percentiles": () => ({ series: [line("p50", "c1", SHOWN.time), line("p99", "c2", SHOWN.time), line("p99.9", "c3", SHOWN.time)], y: { distr: 3, log: 10 }, values: SHOWN.time,
      data: () => {
        const bands = chosenLine()?.bands ?? { at_ns: [], p50_ns: [], p99_ns: [], p99_9_ns: [] };
        return [bands.at_ns.map((ns) => ns / 1e9), positive(bands.p50_ns), positive(bands.p99_ns), positive(bands.p99_9_ns)];
      } }),
    "whole-rates": () => ({ series: [asked(), line("achieved", "c1", SHOWN.rate)], y: { range: fromZero(1) }, values: (v) => v.toLocaleString("en"),
      data: () => [(S.lines_along_time?.at_ns ?? []).map((ns) => ns / 1e9), chosenLine()?.asked ?? [], chosenLine()?.achieved ?? []] }),
  };
  const chosenLine = () => S.lines_along_time?.streams[chosen];
  const recentTimes = () => S.recent.map((moment) => moment.at_ns / 1e9);
  const ofRecent = (value) => S.recent.map((moment) => (moment.streams[chosen] ? value(moment.streams[chosen]) : null));

  function draw(id) {
    const place = at(id);
    if (place.clientWidth === 0) return;
    const { series, y, values, data } = CHARTS[id]();
    // A line of no points, or of one, has no length.
    const points = data();
    if (charts[id]) return charts[id].setData(points);
    const options = {
      width: place.clientWidth, height: 220, padding: [8, 20, 0, 0], cursor: { y: false },
      scales: { x: { time: false }, y }, axes: [timeAxis(), axis({ values: (u, ticks) => ticks.map((v) => (v == null ? null : values(v))) })],
      series: [{ label: "at", value: (u, v) => (v == null ? "–" : clock(v)) }, ...series],
    };
    charts[id] = new uPlot(options, points, place);
  }

  function drawAll() {
    if (S.recent?.length > 0) ["rates", "shares"].forEach(draw);
    if (S.lines_along_time) ["percentiles", "whole-rates"].forEach(draw);
    if (S.recent?.length > 0) drawHeat();
  }

  // Each column is an interval, each row twice as long as the one below it, and the darker the more responses.
  const STEPS = 9;
  const heatColour = (step) => getComputedStyle(at("ramp").children[step]?.firstChild ?? root).backgroundColor;
  function drawHeat() {
    const canvas = at("heat");
    const width = canvas.clientWidth;
    if (width === 0) return;
    const scale = devicePixelRatio;
    canvas.width = width * scale;
    canvas.height = 220 * scale;
    const ctx = canvas.getContext("2d");
    ctx.scale(scale, scale);
    const columns = S.recent.map((moment) => moment.streams[chosen]?.heat ?? []);
    const powers = columns.flatMap((column) => column.filter((n, index) => index % 2 === 0));
    if (powers.length === 0) return;
    const [low, high] = [Math.min(...powers), Math.max(...powers)];
    const most = Math.log1p(columns.reduce((sum, column) => Math.max(sum, ...column.filter((n, index) => index % 2 === 1)), 1));
    const [left, tall, wide] = [66, 200 / (high - low + 1), (width - 70) / Math.max(60, columns.length)];
    const colours = Array.from({ length: STEPS }, (n, step) => heatColour(step));
    columns.forEach((column, index) => {
      for (let pair = 0; pair < column.length; pair += 2) {
        const step = Math.min(STEPS - 1, Math.floor((Math.log1p(column[pair + 1]) / most) * STEPS));
        ctx.fillStyle = colours[step];
        ctx.fillRect(left + index * wide, 204 - (column[pair] - low + 1) * tall, Math.max(1, wide), tall);
      }
    });
    ctx.fillStyle = colour("soft");
    ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "right";
    for (let power = low; power <= high; power += Math.ceil((high - low + 1) / 10)) {
      ctx.fillText(`< ${SHOWN.time(2 ** power * 1000)}`, left - 4, 204 - (power - low + 0.3) * tall);
    }
    canvas.onmousemove = (event) => readHeat(event, columns, { low, left, tall, wide });
  }
  function readHeat(event, columns, { low, left, tall, wide }) {
    const index = Math.floor((event.offsetX - left) / wide);
    const power = low + Math.floor((204 - event.offsetY) / tall);
    const column = columns[index];
    const place = column ? column.findIndex((n, at) => at % 2 === 0 && n === power) : -1;
    const count = place < 0 ? 0 : column[place + 1];
    at("readout").textContent = column ? `${clock(S.recent[index].at_ns / 1e9)}: ${SHOWN.count(count)} responses below ${SHOWN.time(2 ** power * 1000)} and not below half of it` : "";
  }

  // ---- what the server says -----------------------------------------------------------------------------------------
  function chooseStreams() {
    const names = (S.run?.streams ?? []).map((stream) => stream.name);
    const select = at("stream");
    const known = [...select.options].map((option) => option.textContent);
    if (JSON.stringify(names) === JSON.stringify(known)) return;
    select.replaceChildren(...names.map((name) => make("option", name)));
    chosen = Math.min(chosen, Math.max(0, names.length - 1));
    select.selectedIndex = chosen;
  }

  function show() {
    try {
      chooseStreams();
      at("threshold").textContent = S.run?.thresholds[overIndex()] ?? "";
      [showHead, showStanding, showAge, showNow, showJudged, showRuns, showEvents, showLine, drawAll].forEach((part) => part());
    } catch (error) {
      errors += 1;
      at("line").textContent = `this page failed to show the log: ${error}`;
    }
    root.dataset.ready = `seq:${S.seq} judged:${S.judged?.seq ?? "none"} charts:${Object.keys(charts).length} errors:${errors} ${S.over ? "over" : "open"}`;
  }

  const HEARD = {
    snapshot(said) {
      S = said;
      S.moment = said.recent.at(-1);
    },
    interval(said, seq) {
      Object.assign(S, { seq, lines: S.lines + 1, standing: said.standing, moment: said.moment, age_ms: 0 });
      S.recent.push(said.moment);
      if (S.recent.length > RECENT) S.recent.shift();
    },
    histograms(said, seq) {
      Object.assign(S, { seq, standing: said.standing, runs: said.runs, judged: said.judged });
      if (said.newest_lines) mergeLines(said.newest_lines);
    },
    event(said, seq) {
      S.seq = seq;
      S.events = [...S.events, said].slice(-50);
    },
    end(said) {
      Object.assign(S, { standing: said.standing, runs: said.runs, over: true });
      source.close();
    },
  };

  // Puts the newest points behind those that are known; the last of these may have grown.
  function mergeLines(newest) {
    const known = S.lines_along_time;
    if (!known || known.streams.length !== newest.streams.length) return void (S.lines_along_time = newest);
    const replace = (old, fresh, keep) => [...old.slice(0, keep), ...fresh];
    const before = (list, first) => (first == null ? list.length : list.findLastIndex((ns) => ns < first) + 1);
    const keep = before(known.at_ns, newest.at_ns[0]);
    for (const name of ["at_ns", "width_ns"]) known[name] = replace(known[name], newest[name], keep);
    known.streams.forEach((old, index) => {
      const fresh = newest.streams[index];
      for (const name of ["asked", "achieved", "share_over"]) old[name] = replace(old[name], fresh[name], keep);
      const bands = before(old.bands.at_ns, fresh.bands.at_ns[0]);
      for (const name of Object.keys(old.bands)) old.bands[name] = replace(old.bands[name], fresh.bands[name], bands);
    });
  }

  function listen() {
    source = new EventSource("/events");
    for (const [kind, take] of Object.entries(HEARD)) {
      source.addEventListener(kind, (event) => {
        if (kind !== "event") heard = performance.now();
        take(JSON.parse(event.data), Number(event.lastEventId));
        show();
      });
    }
    source.onerror = () => {
      at("age").textContent = "the server does not answer; the page asks again";
    };
  }

  at("stream").addEventListener("change", (event) => {
    chosen = event.target.selectedIndex;
    show();
  });
  const ramp = Array.from({ length: STEPS }, (n, step) => {
    const sample = make("span", step === 0 ? "few" : step === STEPS - 1 ? "many" : "");
    sample.prepend(make("i", null, `h${step}`));
    return sample;
  });
  items("ramp", ramp);
  // A browser has six connections to a server: a page that nobody looks at gives its own back.
  document.addEventListener("visibilitychange", () => {
    if (S.over) return;
    if (document.hidden) source.close();
    else listen();
  });
  addEventListener("resize", () => {
    Object.entries(charts).forEach(([id, chart]) => chart.setSize({ width: at(id).clientWidth, height: 220 }));
    drawAll();
  });
  setInterval(() => { if (source.readyState === EventSource.OPEN || S.over) showAge(); }, 1000);
  listen();
})();
