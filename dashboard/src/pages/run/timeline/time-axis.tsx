import type { ReactNode } from "react";
import { durationWords, longDurationWords } from "../../../words/time-words.ts";
import type { Piece } from "./time-scale.ts";
import { tickStep, ticksIn } from "./time-ticks.ts";
import { type Frame, xAt, xOf } from "./timeline-shapes.ts";

const LABEL_PX = 84;
const AXIS_HEIGHT = 24;
/** Of a label. Wide enough for all fonts: a label that does not fit is left out, and never cut. */
const DIGIT_PX = 6.2;

/** Times above the drawing, and how long each fold is. */
export function TimeAxis({
  frame,
  onUnfold,
}: {
  readonly frame: Frame;
  readonly onUnfold: (at: number) => void;
}): ReactNode {
  const { scale, view, width } = frame;
  const unitsPerPx = (view.end - view.start) / Math.max(1, width);
  const stepMs = tickStep(unitsPerPx, LABEL_PX);
  const zoneMs = -new Date(frame.now).getTimezoneOffset() * 60_000;
  const ticks = ticksIn(scale, view, { stepMs, zoneMs });
  const folds = scale.pieces.filter(
    ({ isFold, start, end }) => isFold && end > view.start && start < view.end,
  );
  let free = 0;
  return (
    <svg width={width} height={AXIS_HEIGHT} aria-hidden="true" className="block select-none">
      {ticks.map(({ at, unit }) => {
        const x = xOf(frame, unit);
        const words = tickWords(at, stepMs);
        const right = x + 3 + words.length * DIGIT_PX;
        const isBelow = ({ start, end }: Piece): boolean => xOf(frame, start) < right && xOf(frame, end) > x;
        const hasLabel = x >= free && right < width && !folds.some(isBelow);
        if (hasLabel) free = right + 6;
        return (
          <g key={`${at} ${unit}`}>
            <path d={`M${x} ${AXIS_HEIGHT - 5}v5`} className="stroke-edge" />
            {hasLabel && (
              <text x={x + 3} y={15} className="fill-ink-3 text-[11px]">
                {words}
              </text>
            )}
          </g>
        );
      })}
      {folds.map(({ from, to, start, end }) => {
        const px = xOf(frame, end) - xOf(frame, start);
        const words = longDurationWords(to - from);
        const short = durationWords(to - from);
        return (
          <g key={from} className="cursor-pointer" onClick={() => onUnfold(from)}>
            <title>{`${words} in which no worker had the run. Click to unfold.`}</title>
            <rect
              x={xAt(frame, from)}
              y={3}
              width={px}
              height={AXIS_HEIGHT - 6}
              rx="3"
              className="fill-sunken stroke-line hover:fill-hover"
            />
            {px > short.length * 6 && (
              <text
                x={xAt(frame, from) + px / 2}
                y={16}
                textAnchor="middle"
                className="pointer-events-none fill-ink-2 text-[11px]"
              >
                {px > words.length * 6 ? words : short}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** Round times need no smaller units than their step has. */
function tickWords(at: number, stepMs: number): string {
  const time = new Date(at);
  if (stepMs >= 86_400_000) return time.toLocaleDateString("en-GB", { day: "2-digit", month: "short" });
  const clock = time.toLocaleTimeString(
    "en-GB",
    stepMs >= 60_000 ? { hour: "2-digit", minute: "2-digit" } : {},
  );
  return stepMs >= 1_000 ? clock : `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}
