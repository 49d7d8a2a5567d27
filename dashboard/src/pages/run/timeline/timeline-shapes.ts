import { type TimeScale, unitAt } from "./time-scale.ts";
import { LABEL_HEIGHT, LINE_HEIGHT, type LifeBand, ROW_HEIGHT, rowOf } from "./timeline-bands.ts";
import type { Category, Merged, Slice } from "./timeline-documents.ts";
import type { ViewWindow } from "./view-window.ts";

/** What is drawn for a slice, or for several that are too narrow to be seen apart. In pixels. */
export type Shape = {
  readonly key: string;
  readonly category: Category;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** How many slices it stands for. */
  readonly count: number;
  readonly hasCut: boolean;
  /** Null if it stands for several. */
  readonly slice: Slice | null;
};

/** What is seen of a drawing: a part of the time, and some of its height. */
export type Frame = {
  readonly scale: TimeScale;
  readonly view: ViewWindow;
  readonly width: number;
  readonly top: number;
  readonly bottom: number;
  /** The end of slices that are still open. */
  readonly now: number;
};

const NARROW_PX = 2;
const LEAST_PX = 1.5;

/** The budget of the page: more than a reader can see apart, and what browsers draw without a stutter. */
export const MOST_SHAPES = 1_200;

/** Free at both sides: the mark of a death is behind the end of its life. */
const MARGIN_PX = 10;

/** Where a unit of the scale is drawn. */
export function xOf({ view, width }: Pick<Frame, "view" | "width">, unit: number): number {
  return MARGIN_PX + ((unit - view.start) / (view.end - view.start)) * (width - 2 * MARGIN_PX);
}

/** Where a time is drawn. */
export function xAt(frame: Pick<Frame, "scale" | "view" | "width">, ms: number): number {
  return xOf(frame, unitAt(frame.scale, ms));
}

/** The shapes in the frame. Narrow neighbours of a row become one with a count; beyond the budget, the widest are drawn. */
export function shapesIn(
  bands: readonly LifeBand[],
  items: readonly (Slice | Merged)[],
  frame: Frame,
): readonly Shape[] {
  const seen = new Map(
    bands
      .filter(({ top, height }) => top <= frame.bottom && top + height >= frame.top)
      .map((band) => [band.life.number, band]),
  );
  const rows = new Map<string, Shape[]>();
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    const band = seen.get(item.life);
    const shape = band === undefined ? null : shapeOf(band, item, frame);
    if (band === undefined || shape === null) continue;
    const row = `${band.life.number} ${shape.y}`;
    rows.set(row, joined(rows.get(row) ?? [], shape));
  }
  const shapes = [...rows.values()].flat();
  if (shapes.length <= MOST_SHAPES) return shapes;
  return shapes.toSorted((a, b) => b.width - a.width).slice(0, MOST_SHAPES);
}

function shapeOf(band: LifeBand, item: Slice | Merged, frame: Frame): Shape | null {
  const isSlice = "id" in item;
  const left = xAt(frame, item.start);
  const right = xAt(frame, isSlice && item.isOpen ? Math.max(item.end, frame.now) : item.end);
  if (right < 0 || left > frame.width) return null;
  // What begins far to the left must not become a number that browsers cannot draw.
  const x = Math.max(left, -frame.width);
  return {
    key: isSlice ? item.id : `${item.life} ${item.category} ${item.lane} ${item.start}`,
    category: item.category,
    x,
    y: band.top + LABEL_HEIGHT + LINE_HEIGHT + rowOf(band, item) * ROW_HEIGHT,
    width: Math.max(LEAST_PX, Math.min(right, frame.width * 2) - x),
    count: isSlice ? 1 : item.count,
    hasCut: isSlice ? item.isCut : item.cut > 0,
    slice: isSlice ? item : null,
  };
}

/** The row with another shape, which joins the last one if both are narrow, and it is not the one thing that went wrong. */
function joined(row: Shape[], shape: Shape): Shape[] {
  const last = row.at(-1);
  const isClose = last !== undefined && shape.x - (last.x + last.width) < 1;
  if (
    last === undefined ||
    !isClose ||
    !isNarrow(last) ||
    !isNarrow(shape) ||
    last.category !== shape.category
  ) {
    row.push(shape);
    return row;
  }
  row[row.length - 1] = {
    ...last,
    width: Math.max(last.width, shape.x + shape.width - last.x),
    count: last.count + shape.count,
    hasCut: last.hasCut || shape.hasCut,
    slice: null,
  };
  return row;
}

/** One that stands for several keeps taking others, however wide it has become. */
function isNarrow({ width, count }: Shape): boolean {
  return width < NARROW_PX || count > 1;
}
