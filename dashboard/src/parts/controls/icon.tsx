import type { ReactNode } from "react";

// Drawn here, on a grid of 16: characters such as ✋ look different, or are coloured, on every system.

const PATHS = {
  queued: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2.2 1.4",
  running: "M4.5 3.2v9.6L12.5 8Z",
  interrupted: "M8 2.6 14 13H2ZM8 6.6v3M8 11.3v.1",
  waiting:
    "M4.6 9.2V4.6a1 1 0 0 1 2 0V3.4a1 1 0 0 1 2 0v.9a1 1 0 0 1 2 0v1.3a1 1 0 0 1 2 0v4.2A4.2 4.2 0 0 1 8.4 14c-1.7 0-2.7-.8-3.5-2L2.8 8.9a1 1 0 0 1 1.6-1.1ZM6.6 4.6v3.1M8.6 4.3v3.4M10.6 5.6v2.1",
  succeeded: "m3 8.6 3.3 3.3L13 4.8",
  failed: "m4 4 8 8M12 4l-8 8",
  cancelled: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6",
  moved: "M2.5 8h10.5M9 4l4 4-4 4",
  paused: "M5.5 3.5v9M10.5 3.5v9",
  differs: "M3 6h10M3 10h10M10.5 3l-5 10",
  added: "M8 3v10M3 8h10",
  copy: "M5.5 5.5V3h7.5v7.5h-2.5M3 5.5h7.5V13H3Z",
  close: "m4 4 8 8M12 4l-8 8",
  down: "m4 6.2 4 4 4-4",
  up: "M8 13V3.5M4 7.5l4-4 4 4",
  left: "M10 3.5 5.5 8l4.5 4.5",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4ZM10.2 10.2 13.5 13.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  dead: "M8 2v12M4.5 5.5h7",
  external: "M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: the word beside it, or the name of its button, says what it means. */
export function Icon({
  name,
  className = "",
}: {
  readonly name: IconName;
  readonly className?: string;
}): ReactNode {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      className={`inline-block size-3.5 shrink-0 ${className}`}
      fill={name === "running" ? "currentColor" : "none"}
      stroke="currentColor"
      strokeWidth={name === "more" ? 2 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
