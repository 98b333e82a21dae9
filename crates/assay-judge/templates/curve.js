// Draws a curve over the JSON the page carries. Without it the page lacks the chart and nothing else.
(() => {
  "use strict";
  const { root, time, colour, axis, oneTwoFive } = common;
  const curve = JSON.parse(document.getElementById("curve").textContent);
  const belongs = (point) => point.delivered && ["PASS", "FAIL"].includes(point.verdict);
  const points = curve.points.filter(belongs).sort((a, b) => a.rate_achieved - b.rate_achieved);
  const knee = curve.points[curve.knee ?? -1];
  const place = document.querySelector("figure[data-chart] .plot");
  let chart, errors = 0;

  const rate = (n) => (n == null ? "–" : `${n.toLocaleString("en", { maximumFractionDigits: 1 })}/s`);
  const line = (label, stroke) => ({ label, stroke: colour(stroke), width: 1.5, points: { show: true, size: 7, fill: colour(stroke) }, value: (u, v) => time(v) });

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
