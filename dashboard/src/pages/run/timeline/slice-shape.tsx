import { memo, type ReactNode } from "react";
import { shownLine } from "../../../parts/text/visible.tsx";
import { isBad } from "./slice-filter.ts";
import { blockWords, sliceWords } from "./slice-words.ts";
import { ROW_HEIGHT } from "./timeline-bands.ts";
import type { Slice } from "./timeline-documents.ts";
import type { Frame, Shape } from "./timeline-shapes.ts";

const FILLS = {
  step: "fill-slice-step",
  turn: "fill-slice-turn",
  model: "fill-slice-model",
  tool: "fill-slice-tool",
} as const;

const BAR_HEIGHT = ROW_HEIGHT - 3;
/** Of the letters in a bar. A guess will do: a name that is cut short is whole in the tooltip, the table and the panel. */
const LETTER_PX = 6.4;

type SliceShapeProps = {
  readonly shape: Shape;
  readonly frame: Frame;
  readonly isSelected: boolean;
  /** Others stand out. */
  readonly isFaint: boolean;
  readonly onSelect: (id: string) => void;
  readonly onZoomTo: (shape: Shape) => void;
};

/** A slice, or a block of several: a click selects the one, and looks closer at the others. */
export const SliceShape = memo(function SliceShape(props: SliceShapeProps): ReactNode {
  const { shape, frame, isSelected, isFaint, onSelect, onZoomTo } = props;
  const { slice, category, x, y, width, count, hasCut } = shape;
  const bad = slice !== null && isBad(slice);
  const edge = isSelected
    ? "stroke-accent"
    : bad
      ? "stroke-failed"
      : hasCut
        ? "stroke-interrupted"
        : "stroke-panel";
  const fill = bad ? "fill-failed-soft" : FILLS[category];
  const words = slice === null ? blockWords({ category, count, cut: hasCut ? 1 : 0 }) : sliceWords(slice);
  return (
    <g
      className={`cursor-pointer ${isFaint ? "opacity-25" : ""}`}
      data-slice={slice?.id}
      onClick={() => (slice === null ? onZoomTo(shape) : onSelect(slice.id))}
    >
      <title>{words}</title>
      <rect
        x={x}
        y={y}
        width={width}
        height={BAR_HEIGHT}
        rx={Math.min(2, width / 2)}
        className={`${fill} ${edge}`}
        strokeWidth={isSelected ? 2 : 1}
      />
      {hasCut && (
        <rect
          x={x}
          y={y}
          width={width}
          height={BAR_HEIGHT}
          rx="2"
          fill="url(#hatch-cut)"
          className="pointer-events-none"
        />
      )}
      {slice?.isOpen === true && (
        <rect x={x + width - 3} y={y} width="3" height={BAR_HEIGHT} className="breathing fill-running" />
      )}
      <BarText
        text={slice === null ? String(count) : label(slice, bad)}
        x={x}
        y={y}
        width={width}
        frame={frame}
        isOnHatch={hasCut}
      />
    </g>
  );
});

function label({ name, isCut }: Slice, bad: boolean): string {
  return bad ? `✕ ${name}` : isCut ? `${name} ?` : name;
}

function BarText({
  text,
  x,
  y,
  width,
  frame,
  isOnHatch,
}: {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly frame: Frame;
  /** Stripes run through the letters: the text has a ground of its own. */
  readonly isOnHatch: boolean;
}): ReactNode {
  const left = Math.max(0, x);
  const room = Math.floor((Math.min(frame.width, x + width) - left - 8) / LETTER_PX);
  if (room < 3) return null;
  const line = shownLine(text);
  const shown = line.length <= room ? line : `${line.slice(0, room - 1)}…`;
  return (
    <>
      {isOnHatch && (
        <rect
          x={left + 2}
          y={y + 2}
          width={shown.length * LETTER_PX + 4}
          height={BAR_HEIGHT - 4}
          rx="1"
          className="pointer-events-none fill-panel"
        />
      )}
      <text x={left + 4} y={y + 12.5} className="pointer-events-none fill-ink text-[11px]">
        {shown}
      </text>
    </>
  );
}
