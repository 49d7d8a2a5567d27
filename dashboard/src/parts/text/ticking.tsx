import type { ReactNode } from "react";
import { useNow } from "../../live/use-now.ts";

/** A duration that was so long when it was read, and has grown (or shrunk, if it is left) since. It ticks with the clock of the page. */
export function Ticking({
  ms,
  asOf,
  isLeft = false,
  children,
}: {
  readonly ms: number;
  /** The time of the server when it was read. */
  readonly asOf: string;
  readonly isLeft?: boolean;
  readonly children: (ms: number) => ReactNode;
}): ReactNode {
  const passed = Math.max(0, useNow() - Date.parse(asOf));
  return children(isLeft ? ms - passed : ms + passed);
}
