import type { ReactNode } from "react";
import { useWidth } from "../../../browser/use-width.ts";
import { clockWithSeconds } from "../../../words/time-words.ts";
import { type SpendPoint, thinned } from "./spending.ts";

const HEIGHT = 150;
const BOTTOM = 20;
const TOP = 16;
const MOST_POINTS = 400;

/** What was spent over time, against the limit. The table below has the same as numbers. */
export function SpendLine({
  points,
  limit,
  words,
}: {
  readonly points: readonly SpendPoint[];
  readonly limit: number | null;
  readonly words: (amount: number) => string;
}): ReactNode {
  const [box, width] = useWidth<HTMLDivElement>();
  const [first, last] = [points[0], points.at(-1)];
  return (
    <div ref={box} className="min-w-0 rounded-lg border border-line bg-panel">
      {first !== undefined && last !== undefined && width > 0 && (
        <Line
          points={thinned(points, MOST_POINTS)}
          first={first}
          last={last}
          limit={limit}
          words={words}
          width={width}
        />
      )}
    </div>
  );
}

function Line({
  points,
  first,
  last,
  limit,
  words,
  width,
}: {
  readonly points: readonly SpendPoint[];
  readonly first: SpendPoint;
  readonly last: SpendPoint;
  readonly limit: number | null;
  readonly words: (amount: number) => string;
  readonly width: number;
}): ReactNode {
  // A limit that is far away would press the line flat: then it is only said.
  const isNear = limit !== null && limit <= last.spent * 4;
  const most = Math.max(1, isNear ? Math.max(limit, last.spent) : last.spent * 1.15);
  const x = (at: number): number => 8 + ((at - first.at) / Math.max(1, last.at - first.at)) * (width - 16);
  const y = (spent: number): number => HEIGHT - BOTTOM - (spent / most) * (HEIGHT - BOTTOM - TOP);
  // Steps: nothing is spent between two charges.
  const path = points.map(({ at, spent }) => `H${x(at).toFixed(1)}V${y(spent).toFixed(1)}`).join("");
  const begin = `M8 ${y(0)}`;
  return (
    <svg
      width={width}
      height={HEIGHT}
      role="img"
      aria-label={`${words(last.spent)} were charged from ${clockWithSeconds(first.at)} to ${clockWithSeconds(last.at)}. The table has the numbers.`}
      className="block"
    >
      <path d={`${begin}${path}H${width - 8}V${y(0)}Z`} className="fill-accent" opacity="0.1" />
      <path d={`${begin}${path}`} className="fill-none stroke-accent" strokeWidth="1.5" />
      <path d={`M8 ${y(0)}H${width - 8}`} className="stroke-line" />
      {limit !== null && !isNear && (
        <text x={8} y={12} className="fill-ink-3 text-[11px]">{`limit ${words(limit)}, far above`}</text>
      )}
      {isNear && (
        <>
          <path d={`M8 ${y(limit)}H${width - 8}`} className="stroke-failed" strokeDasharray="4 3" />
          <text x={8} y={y(limit) - 4} className="fill-failed text-[11px]">{`limit ${words(limit)}`}</text>
        </>
      )}
      <text
        x={width - 8}
        y={Math.max(11, y(last.spent) - 5)}
        textAnchor="end"
        className="fill-ink text-[11px] font-medium"
      >
        {words(last.spent)}
      </text>
      <text x={8} y={HEIGHT - 6} className="fill-ink-3 text-[11px]">
        {clockWithSeconds(first.at)}
      </text>
      <text x={width - 8} y={HEIGHT - 6} textAnchor="end" className="fill-ink-3 text-[11px]">
        {clockWithSeconds(last.at)}
      </text>
    </svg>
  );
}
