import { type ReactNode, useState } from "react";
import { useWidth } from "../../browser/use-width.ts";
import { axisTicks, bands, labelled, linearScale } from "./chart-scale.ts";

type ChartBar = {
  readonly key: string;
  /** Under the bar, where there is room. */
  readonly label: string;
  /** From the bottom up, one for each series. */
  readonly values: readonly number[];
};

/** The colours of series, in their order. */
const FILLS = [
  "fill-chart-1 bg-chart-1",
  "fill-chart-2 bg-chart-2",
  "fill-chart-3 bg-chart-3",
  "fill-chart-4 bg-chart-4",
  "fill-chart-5 bg-chart-5",
  "fill-chart-6 bg-chart-6",
] as const;

const HEIGHT = 208;
const FOOT = 22;
const HEAD = 8;
const LABEL_WIDTH = 56;

type BarChartProps = {
  readonly label: string;
  readonly bars: readonly ChartBar[];
  /** The words of a tick; the distance of ticks decides how many digits say something. */
  readonly axisWords: (value: number, step: number) => string;
  /** Room for the words of the axis. */
  readonly axisWidth?: number;
  readonly at: string | null;
  readonly onAt: (key: string) => void;
};

/** Stacked bars. A table says the same to those who do not see them, so every use has one below. */
export function BarChart({ label, bars, axisWords, axisWidth = 52, at, onAt }: BarChartProps): ReactNode {
  const [ref, width] = useWidth<HTMLDivElement>();
  return (
    <div ref={ref} className="min-w-0" style={{ height: HEIGHT }}>
      {width > 0 && (
        <svg
          role="img"
          aria-label={`${label}. The table below has the same figures.`}
          width={width}
          height={HEIGHT}
          className="block overflow-visible"
        >
          <Plot
            bars={bars}
            left={axisWidth}
            width={width - axisWidth}
            axisWords={axisWords}
            at={at}
            onAt={onAt}
          />
        </svg>
      )}
    </div>
  );
}

type PlotProps = Omit<BarChartProps, "label" | "axisWidth"> & {
  readonly left: number;
  readonly width: number;
};

function Plot({ bars, left, width, axisWords, at, onAt }: PlotProps): ReactNode {
  const [pointed, setPointed] = useState<string | null>(null);
  const ticks = axisTicks(Math.max(0, ...bars.map(({ values }) => total(values))), 4);
  const y = linearScale([0, ticks.at(-1) || 1], [HEIGHT - FOOT, HEAD]);
  const place = bands(bars.length, width);
  const share = width / Math.max(1, bars.length);
  const named = labelled(bars.length, width, LABEL_WIDTH);
  // The label of the last bar would leave the chart: it ends with the bar.
  const isLastCut = (index: number): boolean => index === bars.length - 1 && share < LABEL_WIDTH;
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick} className="text-xs">
          <line x1={left} x2={left + width} y1={y(tick)} y2={y(tick)} className="stroke-line" />
          <text x={left - 8} y={y(tick)} dy="0.32em" textAnchor="end" className="fill-ink-3">
            {axisWords(tick, ticks[1] ?? 1)}
          </text>
        </g>
      ))}
      {bars.map((bar, index) => (
        <g key={bar.key} onPointerEnter={() => setPointed(bar.key)} onPointerLeave={() => setPointed(null)}>
          <rect
            x={left + index * share}
            y={0}
            width={share}
            height={HEIGHT}
            className={`cursor-pointer ${at === bar.key ? "fill-selected" : pointed === bar.key ? "fill-hover" : "fill-transparent"}`}
            onClick={() => onAt(bar.key)}
          />
          <Stack values={bar.values} x={left + place.start(index)} width={place.width} y={y} />
        </g>
      ))}
      {bars.map(
        (bar, index) =>
          named.has(index) && (
            <text
              key={bar.key}
              x={left + (isLastCut(index) ? index + 1 : index + 0.5) * share}
              y={HEIGHT - 6}
              textAnchor={isLastCut(index) ? "end" : "middle"}
              className="pointer-events-none fill-ink-3 text-xs"
            >
              {bar.label}
            </text>
          ),
      )}
    </>
  );
}

type StackProps = {
  readonly values: readonly number[];
  readonly x: number;
  readonly width: number;
  readonly y: (value: number) => number;
};

function Stack({ values, x, width, y }: StackProps): ReactNode {
  return values.map((value, index) => {
    const below = total(values.slice(0, index));
    return (
      value > 0 && (
        <rect
          key={index}
          x={x}
          y={y(below + value)}
          width={width}
          height={Math.max(1, y(below) - y(below + value))}
          className={`pointer-events-none ${FILLS[index % FILLS.length]}`}
        />
      )
    );
  });
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** What the colours mean, with the figure of each. */
export function ChartLegend({
  series,
}: {
  readonly series: readonly { readonly name: ReactNode; readonly figure: string }[];
}): ReactNode {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {series.map(({ name, figure }, index) => (
        <li key={index} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={`size-2.5 rounded-sm ${FILLS[index % FILLS.length]}`} />
          <span className="text-ink-2">{name}</span>
          <span>{figure}</span>
        </li>
      ))}
    </ul>
  );
}
