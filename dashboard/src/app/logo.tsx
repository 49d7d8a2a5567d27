import type { ReactNode } from "react";

/** The pawl, as the icon of the tab has it. */
export function Logo(): ReactNode {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" className="size-[18px] text-accent">
      <rect width="16" height="16" rx="3.5" fill="currentColor" />
      <path
        d="M5 12.5V4h3.4a2.6 2.6 0 0 1 0 5.2H5"
        className="fill-none stroke-on-accent"
        strokeWidth="1.8"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
