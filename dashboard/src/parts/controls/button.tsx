import type { ComponentProps, ReactNode } from "react";

const KINDS = {
  plain: "border-edge bg-panel text-ink enabled:hover:bg-hover",
  primary: "border-accent bg-accent text-on-accent enabled:hover:brightness-110",
  danger: "border-failed bg-panel text-failed enabled:hover:bg-failed-soft",
  quiet: "border-transparent text-accent enabled:hover:bg-hover",
} as const;

export type ButtonKind = keyof typeof KINDS;

/** A button. `primary` once a view; `danger` for what cannot be undone. */
export function Button({
  kind = "plain",
  className = "",
  type = "button",
  ...rest
}: ComponentProps<"button"> & { readonly kind?: ButtonKind }): ReactNode {
  return (
    <button
      type={type}
      className={`inline-flex h-7 items-center justify-center gap-1.5 rounded-md border px-2.5 font-medium whitespace-nowrap disabled:opacity-55 ${KINDS[kind]} ${className}`}
      {...rest}
    />
  );
}
