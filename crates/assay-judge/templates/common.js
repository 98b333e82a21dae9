// What the charts of all pages have in common; it stands before the page's own script.
const common = (() => {
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
  const axis = (more) => ({ stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif", ...more });
  // Ticks at 1, 2 and 5 of each power of ten.
  const oneTwoFive = (u, index, min, max) => {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10) {
      ticks.push(...[1, 2, 5].map((n) => n * power).filter((v) => v >= min && v <= max));
    }
    return ticks;
  };
  return { root, time, colour, axis, oneTwoFive };
})();
