// How a plot is drawn. Loaded with uPlot, only where there is a plot.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../parts/Plot.svelte";

interface Look {
  series: Series[];
  height: number;
  max: number | undefined;
  unit: (value: number) => string;
  marks: { value: number; label: string; colour: string }[];
  language: "en" | "zh";
}

const FONT = "11px system-ui, sans-serif";

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || name;
}

function faded(name: string, share: number): string {
  return `color-mix(in srgb, ${colour(name)} ${share * 100}%, transparent)`;
}

export function make(box: HTMLElement, look: Look, data: uPlot.AlignedData): uPlot {
  const soft = colour("--roost-soft");
  const line = colour("--roost-line");
  const axis: uPlot.Axis = { stroke: soft, font: FONT, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  return new uPlot(
    {
      width: box.clientWidth,
      height: look.height,
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      legend: { show: false },
      scales: { y: { range: (_plot, _low, high) => [0, look.max ?? Math.max(1, high * 1.08)] } },
      axes: [
        { ...axis, size: 24, values: (_plot, splits, _axis, _space, step) => splits.map((at) => tick(at, step, look.language)) },
        { ...axis, size: 52, values: (_plot, splits) => splits.map((value) => look.unit(value)) },
      ],
      series: [
        {},
        ...look.series.map((one) => ({
          label: one.label,
          stroke: colour(one.colour),
          width: 1.5,
          points: { show: false },
          ...(one.fill && { fill: faded(one.colour, 0.16) }),
          ...(one.dashed && { dash: [4, 4] }),
        })),
      ],
      plugins: [tip(look), lines(look)],
    },
    data,
    box,
  );
}

/** A time on the axis: the day when a step is as long as one. */
function tick(at: number, step: number, language: "en" | "zh"): string {
  const tag = language === "zh" ? "zh-CN" : "en-GB";
  const when = new Date(at * 1000);
  if (step >= 86_400) return when.toLocaleDateString(tag, { month: "short", day: "numeric" });
  return when.toLocaleTimeString(tag, { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** What is under the pointer, in words. */
function tip(look: Look): uPlot.Plugin {
  const note = document.createElement("div");
  note.className = "sheet pointer-events-none absolute z-10 px-2 py-1 text-xs whitespace-nowrap shadow digits";
  note.hidden = true;
  return {
    hooks: {
      init: (plot) => void plot.over.append(note),
      setCursor: (plot) => {
        const index = plot.cursor.idx;
        note.hidden = index === null || index === undefined;
        if (note.hidden) return;
        const at = plot.data[0][index!]!;
        const lines = look.series.map((one, n) => {
          const value = plot.data[n + 1]![index!];
          return `${one.label} ${value === null || value === undefined ? "–" : look.unit(value)}`;
        });
        note.textContent = [tick(at, 0, look.language), ...lines].join(" · ");
        const left = plot.cursor.left ?? 0;
        note.style.left = `${Math.max(0, Math.min(left + 8, plot.over.clientWidth - note.offsetWidth))}px`;
        note.style.top = "2px";
      },
    },
  };
}

function lines(look: Look): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        for (const mark of look.marks) {
          const y = Math.round(plot.valToPos(mark.value, "y", true));
          plot.ctx.save();
          plot.ctx.strokeStyle = plot.ctx.fillStyle = colour(mark.colour);
          plot.ctx.setLineDash([5, 4]);
          plot.ctx.beginPath();
          plot.ctx.moveTo(plot.bbox.left, y);
          plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
          plot.ctx.stroke();
          plot.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
          plot.ctx.textAlign = "left"; // the axes leave it at theirs
          plot.ctx.textBaseline = "alphabetic";
          plot.ctx.fillText(mark.label, plot.bbox.left + 4, y - 4 * devicePixelRatio);
          plot.ctx.restore();
        }
      },
    },
  };
}
