import type { ReactNode } from "react";
import { bands, linearScale } from "./chart-scale.ts";

const WIDTH = 96;
const HEIGHT = 20;
/** One beside a hundred is still seen. */
const LEAST_PX = 2;

/** Small bars without an axis. `label` says in words what they show. */
export function Sparkline({
  values,
  label,
}: {
  readonly values: readonly number[];
  readonly label: string;
}): ReactNode {
  const place = bands(values.length, WIDTH);
  const height = linearScale([0, Math.max(1, ...values)], [0, HEIGHT - 1]);
  return (
    <svg role="img" width={WIDTH} height={HEIGHT} className="block shrink-0">
      <title>{label}</title>
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className="stroke-line" />
      {values.map((value, index) => {
        if (value === 0) return null;
        const bar = Math.max(LEAST_PX, height(value));
        const x = place.start(index);
        return (
          <rect key={x} x={x} y={HEIGHT - bar} width={place.width} height={bar} className="fill-failed" />
        );
      })}
    </svg>
  );
}
