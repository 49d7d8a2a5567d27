import type { Stretch } from "./gap-folding.ts";
import type { Life, Merged, Slice, Timeline, TimelineWait } from "./timeline-documents.ts";

// From above: one band a life, with rows for what its worker did, and one a wait.

export const LABEL_HEIGHT = 20;
export const LINE_HEIGHT = 8;
export const ROW_HEIGHT = 20;
const BAND_GAP = 10;

type Placed = { readonly top: number; readonly height: number };

/** The rows of a life: steps in steps, turns, and below them requests to models and calls, parallel calls on lanes of their own. */
export type LifeBand = Placed & {
  readonly kind: "life";
  readonly life: Life;
  /** Each depth at which the life has steps, the outermost first. */
  readonly stepDepths: readonly number[];
  readonly hasTurns: boolean;
  readonly lanes: number;
};

export type WaitBand = Placed & { readonly kind: "wait"; readonly wait: TimelineWait };
export type Band = LifeBand | WaitBand;

export type Bands = { readonly bands: readonly Band[]; readonly height: number };

/** The bands of what is in a stretch of time, by their beginnings. `whole` knows every life of the run, `now` ends open waits. */
export function bandsOf(whole: Timeline, window: Timeline, seen: Stretch, now: number): Bands {
  const isSeen = ({ from, to }: Stretch): boolean => from <= seen.to && to >= seen.from;
  const shapes = shapesOfLives([whole, window]);
  const lives = known(whole.lives, window.lives, ({ number }) => number)
    .filter((life) => isSeen(lifeStretch(life)))
    .map((life) => ({ at: lifeStretch(life).from, life, wait: null }));
  const waits = known(whole.waits, window.waits, ({ waitId }) => waitId)
    .filter((wait) => isSeen(waitStretch(wait, now)))
    .map((wait) => ({ at: wait.start, life: null, wait }));
  const bands: Band[] = [];
  let top = 0;
  for (const { life, wait } of [...lives, ...waits].sort((a, b) => a.at - b.at)) {
    const band =
      life === null
        ? ({ kind: "wait", wait, top, height: LABEL_HEIGHT + LINE_HEIGHT } as const)
        : lifeBand(life, shapes.get(life.number), top);
    bands.push(band);
    top += band.height + BAND_GAP;
  }
  return { bands, height: top };
}

/** Both lists by their keys; the later one has the newer state. */
function known<T>(one: readonly T[], other: readonly T[], keyOf: (item: T) => unknown): readonly T[] {
  return [...new Map([...one, ...other].map((item) => [keyOf(item), item])).values()];
}

/** One that died has no end: its last sign is the last that is known, and `goneBy` when it was missed. */
export function lifeStretch({ startedAt, endedAt }: Life): Stretch {
  return { from: Date.parse(startedAt), to: Date.parse(endedAt) };
}

export function waitStretch({ start, end }: TimelineWait, now: number): Stretch {
  return { from: start, to: end ?? Math.max(start, now) };
}

type LifeShape = { readonly depths: Set<number>; hasTurns: boolean; lanes: number };

function shapesOfLives(timelines: readonly Timeline[]): ReadonlyMap<number, LifeShape> {
  const shapes = new Map<number, LifeShape>();
  const shapeOf = (life: number): LifeShape => {
    const shape = shapes.get(life) ?? { depths: new Set(), hasTurns: false, lanes: 0 };
    shapes.set(life, shape);
    return shape;
  };
  for (const { slices, merged } of timelines) {
    for (const { life, category, depth, lane } of slices) take(shapeOf(life), category, depth, lane);
    for (const { life, lastLife, category, lane } of merged)
      for (let each = life; each <= lastLife; each++) take(shapeOf(each), category, null, lane);
  }
  return shapes;
}

function take(shape: LifeShape, category: Slice["category"], depth: number | null, lane: number): void {
  if (category === "step" && depth !== null) shape.depths.add(depth);
  else if (category === "turn") shape.hasTurns = true;
  else shape.lanes = Math.max(shape.lanes, lane);
}

function lifeBand(life: Life, shape: LifeShape | undefined, top: number): LifeBand {
  const stepDepths = [...(shape?.depths ?? [])].sort((a, b) => a - b);
  const [hasTurns, lanes] = [shape?.hasTurns ?? false, shape?.lanes ?? 0];
  const rows = stepDepths.length + (hasTurns ? 1 : 0) + lanes;
  const height = LABEL_HEIGHT + LINE_HEIGHT + rows * ROW_HEIGHT;
  return { kind: "life", life, stepDepths, hasTurns, lanes, top, height };
}

/** The row of a slice in its band, from 0. */
export function rowOf(band: LifeBand, slice: Slice | Merged): number {
  const { stepDepths, hasTurns } = band;
  switch (slice.category) {
    case "step":
      return "depth" in slice ? Math.max(0, stepDepths.indexOf(slice.depth)) : 0;
    case "turn":
      return stepDepths.length;
    case "model":
    case "tool":
      return stepDepths.length + (hasTurns ? 1 : 0) + Math.max(0, slice.lane - 1);
  }
}
