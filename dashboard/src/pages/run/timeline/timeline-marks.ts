import type { LifeBand } from "./timeline-bands.ts";
import type { Mark } from "./timeline-documents.ts";
import { type Frame, xAt } from "./timeline-shapes.ts";

export type MarkShape = { readonly mark: Mark; readonly x: number; readonly band: LifeBand };

const APART_PX = 5;
const MOST_MARKS = 250;

/** The marks in the frame. Those of a kind that would cover each other are one with a count. A crash is drawn with its life. */
export function marksIn(
  bands: readonly LifeBand[],
  marks: readonly Mark[],
  frame: Frame,
): readonly MarkShape[] {
  const seen = new Map(
    bands
      .filter(({ top, height }) => top <= frame.bottom && top + height >= frame.top)
      .map((band) => [band.life.number, band]),
  );
  const shapes: MarkShape[] = [];
  const last = new Map<string, number>();
  for (const mark of marks.toSorted((a, b) => a.at - b.at)) {
    const band = seen.get(mark.life);
    const x = xAt(frame, mark.at);
    if (band === undefined || mark.kind === "crash" || x < 0 || x > frame.width) continue;
    const group = `${mark.life} ${mark.kind}`;
    const index = last.get(group) ?? -1;
    const before = shapes[index];
    if (before !== undefined && x - before.x < APART_PX) {
      shapes[index] = { ...before, mark: { ...before.mark, count: before.mark.count + mark.count } };
    } else {
      last.set(group, shapes.length);
      shapes.push({ mark, x, band });
    }
  }
  return shapes.slice(0, MOST_MARKS);
}
