// Draws a curve over the JSON the page carries. Without it the page lacks the chart and nothing else.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  const curve = JSON.parse(document.getElementById("curve").textContent);
  const belongs = (point) => point.delivered && ["PASS", "FAIL"].includes(point.verdict);
  const points = curve.points.filter(belongs).sort((a, b) => a.rate_achieved - b.rate_achieved);
  const knee = curve.points[curve.knee ?? -1];
  const place = document.querySelector("figure[data-chart] .plot");
  let chart, errors = 0;

  const digits = (v) => (v >= 99.95 || Math.abs(v - Math.round(v)) < 0.005 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const UNITS = [["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const time = (ns) => {
    if (ns == null) return "–";
    const unit = UNITS.find(([, size]) => ns >= size);
    return unit ? `${digits(ns / unit[1])} ${unit[0]}` : `${Math.round(ns)} ns`;
  };
  const rate = (n) => (n == null ? "–" : `${n.toLocaleString("en", { maximumFractionDigits: 1 })}/s`);
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const axis = (more) => ({ stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif", ...more });
  const line = (label, stroke) => ({ label, stroke: colour(stroke), width: 1.5, points: { show: true, size: 7, fill: colour(stroke) }, value: (u, v) => time(v) });
  const oneTwoFive = (u, index, min, max) => {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10) {
      ticks.push(...[1, 2, 5].map((n) => n * power).filter((v) => v >= min && v <= max));
    }
    return ticks;
  };

  function marked(u) {
    if (!knee) return;
    const x = Math.round(u.valToPos(knee.rate_achieved, "x", true));
    u.ctx.save();
    u.ctx.strokeStyle = colour("mark");
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  function draw() {
    if (!place || !place.clientWidth) return;
    const column = (name) => points.map((point) => (point[name] > 0 ? point[name] : null));
    const most = points.at(-1).rate_achieved;
    const options = {
      width: place.clientWidth,
      height: 340,
      padding: [8, 28, 0, 0],
      cursor: { drag: { x: false, y: false }, y: false },
      scales: { x: { time: false, range: [0, most * 1.04] }, y: { distr: 3, log: 10 } },
      axes: [
        axis({ space: 70, values: (u, ticks) => ticks.map((v) => v.toLocaleString("en")) }),
        axis({ size: 64, splits: oneTwoFive, filter: (u, ticks) => ticks, values: (u, ticks) => ticks.map(time) }),
      ],
      series: [{ label: "throughput", value: (u, v) => rate(v) }, line("mean", "c1"), line("p50", "c2"), line("p99", "c3")],
      hooks: { draw: [marked, () => { root.dataset.ready = `charts:1 errors:${errors}`; }] },
    };
    try {
      chart?.destroy();
      chart = new uPlot(options, [column("rate_achieved"), column("mean_ns"), column("p50_ns"), column("p99_ns")], place);
    } catch (error) {
      errors += 1;
      console.error("chart:", error);
    }
  }

  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
