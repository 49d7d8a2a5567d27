import type { ReactNode } from "react";
import { shownLine } from "../../../parts/text/visible.tsx";
import { longDurationWords } from "../../../words/time-words.ts";
import { standsOut } from "./slice-filter.ts";
import { SliceShape } from "./slice-shape.tsx";
import { lifeEndWords, markWords, ownerWords, waitWords } from "./slice-words.ts";
import {
  type Band,
  LABEL_HEIGHT,
  LINE_HEIGHT,
  type LifeBand,
  lifeStretch,
  type WaitBand,
  waitStretch,
} from "./timeline-bands.ts";
import type { MarkShape } from "./timeline-marks.ts";
import { type Frame, type Shape, xAt } from "./timeline-shapes.ts";

type TimelineDrawingProps = {
  readonly frame: Frame;
  readonly height: number;
  readonly bands: readonly Band[];
  readonly shapes: readonly Shape[];
  readonly marks: readonly MarkShape[];
  readonly selected: string | null;
  /** What stands out; null if everything does. */
  readonly show: string | null;
  readonly onSelect: (id: string) => void;
  readonly onUnfold: (at: number) => void;
  readonly onZoomTo: (shape: Shape) => void;
};

/** The drawing of what is in the frame, and nothing else. The table beside it is its form for readers who do not see it. */
export function TimelineDrawing(props: TimelineDrawingProps): ReactNode {
  const { frame, height, bands, shapes, marks } = props;
  const seen = bands.filter(({ top, height: of }) => top <= frame.bottom && top + of >= frame.top);
  return (
    <svg
      width={frame.width}
      height={height}
      role="img"
      aria-label="The timeline of the run. The table has the same as text."
      className="block select-none"
    >
      <Hatches />
      <Folds frame={frame} height={height} onUnfold={props.onUnfold} />
      {seen.map((band) =>
        band.kind === "life" ? (
          <LifeDrawing key={`life ${band.life.number}`} band={band} frame={frame} />
        ) : (
          <WaitDrawing
            key={band.wait.waitId}
            band={band}
            frame={frame}
            selected={props.selected}
            onSelect={props.onSelect}
          />
        ),
      )}
      {shapes.map((shape) => (
        <SliceShape
          key={shape.key}
          shape={shape}
          frame={frame}
          isSelected={shape.slice !== null && shape.slice.id === props.selected}
          isFaint={!standsOut(props.show, shape.slice, shape.hasCut)}
          onSelect={props.onSelect}
          onZoomTo={props.onZoomTo}
        />
      ))}
      {marks.map((mark) => (
        <MarkDrawing key={`${mark.mark.life} ${mark.mark.kind} ${mark.mark.at}`} {...mark} />
      ))}
    </svg>
  );
}

/** Stripes: something was cut off, or its end is not known. */
function Hatches(): ReactNode {
  return (
    <defs>
      <pattern
        id="hatch-cut"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <path d="M0 0V6" className="stroke-interrupted" strokeWidth="3" opacity="0.75" />
      </pattern>
      <pattern
        id="hatch-wait"
        width="7"
        height="7"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <path d="M0 0V7" className="stroke-waiting" strokeWidth="2" opacity="0.55" />
      </pattern>
      <pattern
        id="hatch-fold"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <path d="M0 0V6" className="stroke-line" strokeWidth="1.5" />
      </pattern>
    </defs>
  );
}

function Folds({
  frame,
  height,
  onUnfold,
}: Pick<TimelineDrawingProps, "frame" | "height" | "onUnfold">): ReactNode {
  return frame.scale.pieces
    .filter(({ isFold, start, end }) => isFold && end > frame.view.start && start < frame.view.end)
    .map(({ from, to }) => {
      const [x, right] = [xAt(frame, from), xAt(frame, to)];
      const words = longDurationWords(to - from);
      return (
        <g key={from} className="group/fold cursor-pointer" onClick={() => onUnfold(from)}>
          <title>{`${words} in which no worker had the run. Click to unfold.`}</title>
          <rect
            x={x}
            y={0}
            width={right - x}
            height={height}
            fill="url(#hatch-fold)"
            className="group-hover/fold:opacity-100"
          />
          <rect
            x={x}
            y={0}
            width={right - x}
            height={height}
            className="fill-transparent group-hover/fold:fill-hover"
            opacity="0.5"
          />
        </g>
      );
    });
}

/** Of the label of a wait. */
const LETTER_PX = 6.6;

/** Labels stay in sight while their band is. */
function labelX(frame: Frame, from: number, roomPx: number): number {
  return Math.max(2, Math.min(xAt(frame, from), frame.width - roomPx));
}

function LifeDrawing({ band, frame }: { readonly band: LifeBand; readonly frame: Frame }): ReactNode {
  const { life, top, height } = band;
  const { from, to } = lifeStretch(life);
  const [x, right] = [xAt(frame, from), xAt(frame, life.end === "open" ? Math.max(to, frame.now) : to)];
  const gone = life.goneBy === null ? null : xAt(frame, Date.parse(life.goneBy));
  const lineY = top + LABEL_HEIGHT + 2;
  const isDead = life.end === "died";
  return (
    <g>
      <rect
        x={x}
        y={top + LABEL_HEIGHT}
        width={Math.max(2, right - x)}
        height={height - LABEL_HEIGHT + 3}
        rx="3"
        className="fill-panel stroke-line"
      />
      {isDead && gone !== null && gone > right && (
        <rect x={right} y={lineY - 2} width={gone - right} height={4} fill="url(#hatch-cut)">
          <title>It died in this time.</title>
        </rect>
      )}
      <path
        d={`M${x} ${lineY}H${Math.max(x + 2, right)}`}
        className={isDead ? "stroke-interrupted" : life.end === "open" ? "stroke-running" : "stroke-edge"}
        strokeWidth="2"
      />
      {isDead && (
        <text x={right + 3} y={lineY + 5} className="fill-interrupted text-md font-bold">
          †
        </text>
      )}
      <text x={labelX(frame, from, 220)} y={top + 14} className="fill-ink-3 text-xs">
        <tspan className="fill-ink font-medium">{`life ${life.number}`}</tspan>
        <tspan dx="6">{ownerWords(life.owner)}</tspan>
        <tspan dx="6" className={isDead ? "fill-interrupted" : ""}>{`· ${lifeEndWords(life)}`}</tspan>
        <title>
          {shownLine(`${life.owner}, epoch ${life.epoch}${life.reason === null ? "" : `, ${life.reason}`}`)}
        </title>
      </text>
    </g>
  );
}

function WaitDrawing({
  band: { wait, top },
  frame,
  selected,
  onSelect,
}: { readonly band: WaitBand } & Pick<TimelineDrawingProps, "frame" | "selected" | "onSelect">): ReactNode {
  const { from, to } = waitStretch(wait, frame.now);
  const [x, right] = [xAt(frame, from), xAt(frame, to)];
  const isSelected = selected === wait.waitId;
  const words = waitWords(wait, frame.now);
  // One that is folded away is at the end: its words are before it.
  const isLast = x + words.length * LETTER_PX > frame.width;
  return (
    <g className="cursor-pointer" data-slice={wait.waitId} onClick={() => onSelect(wait.waitId)}>
      <text
        x={isLast ? frame.width - 6 : Math.max(2, x)}
        y={top + 14}
        textAnchor={isLast ? "end" : "start"}
        className="fill-waiting text-xs"
      >
        {words}
      </text>
      <rect
        x={x}
        y={top + LABEL_HEIGHT - 2}
        width={Math.max(3, right - x)}
        height={LINE_HEIGHT}
        rx="2"
        fill="url(#hatch-wait)"
        className={isSelected ? "stroke-accent" : "stroke-waiting"}
        strokeWidth={isSelected ? 2 : 1}
      />
    </g>
  );
}

/** Marks sit on the line of their life. Each kind has its own form, so that none needs its colour. */
function MarkDrawing({ mark, x, band }: MarkShape): ReactNode {
  const y = band.top + LABEL_HEIGHT + 2;
  const title = <title>{markWords(mark)}</title>;
  switch (mark.kind) {
    case "commit":
      return (
        <circle cx={x} cy={y} r="3" className="fill-succeeded stroke-panel">
          {title}
        </circle>
      );
    case "checkpoint":
      return (
        <path d={`M${x} ${y - 5}l5 5-5 5-5-5Z`} className="fill-panel stroke-ink-2">
          {title}
        </path>
      );
    case "artifact":
      return (
        <rect x={x - 4} y={y - 4} width="8" height="8" rx="1" className="fill-accent stroke-panel">
          {title}
        </rect>
      );
    case "lineage":
    case "compaction":
      return (
        <path
          d={`M${x} ${y - 6}V${band.top + band.height}`}
          className="stroke-interrupted"
          strokeWidth="1.5"
          strokeDasharray={mark.kind === "lineage" ? "4 3" : "1 3"}
        >
          {title}
        </path>
      );
    case "crash":
      return null;
  }
}
