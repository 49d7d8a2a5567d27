import { useEffect, useState } from "react";
import { useRunParams } from "../run-params.ts";
import { type TimeScale, timeAt, unitAt } from "./time-scale.ts";
import { inside, type ViewWindow } from "./view-window.ts";

/** How long the view rests before it is written into the address: browsers refuse hundreds of changes in a row. */
const REST_MS = 250;

type Seen = { readonly from: number; readonly to: number };

/**
 * What is seen of a scale; all of it by default. Kept as times, so that it stays where it is when the run grows or a gap is
 * unfolded, and in the address, so that it can be sent to others.
 */
export function useView(
  scale: TimeScale,
  zero: number,
): readonly [ViewWindow, (view: ViewWindow | null) => void] {
  const [{ zoom }, change] = useRunParams();
  const [seen, setSeen] = useState<Seen | null>(() => readZoom(zoom, zero));
  useEffect(() => {
    const written = seen === null ? null : `${Math.round(seen.from - zero)}-${Math.round(seen.to - zero)}`;
    if (written === zoom) return;
    const timer = setTimeout(() => change({ zoom: written }, { replace: true }), REST_MS);
    return () => clearTimeout(timer);
  });
  const view =
    seen === null
      ? { start: 0, end: scale.length }
      : inside({ start: unitAt(scale, seen.from), end: unitAt(scale, seen.to) }, scale.length);
  const show = (next: ViewWindow | null): void => {
    const isAll = next === null || next.end - next.start >= scale.length * 0.999;
    setSeen(isAll ? null : { from: timeAt(scale, next.start), to: timeAt(scale, next.end) });
  };
  return [view, show];
}

function readZoom(zoom: string | null, zero: number): Seen | null {
  const match = /^(\d+)-(\d+)$/.exec(zoom ?? "");
  if (match === null) return null;
  return { from: zero + Number(match[1]), to: zero + Number(match[2]) };
}
