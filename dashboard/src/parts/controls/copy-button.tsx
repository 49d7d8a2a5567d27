import { type ReactNode, useState } from "react";
import { Icon } from "./icon.tsx";

/** Copies a text. Without a clipboard (plain HTTP beyond this machine) it shows the text, selected. */
export function CopyButton({
  text,
  what,
  label,
  className = "inline-flex size-5 shrink-0 items-center justify-center rounded-sm text-ink-3 hover:bg-hover hover:text-ink max-md:size-6",
}: {
  readonly text: string;
  readonly what: string;
  /** Before the icon. */
  readonly label?: string;
  readonly className?: string;
}): ReactNode {
  const [state, setState] = useState<"idle" | "copied" | "shown">("idle");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState("copied");
      setTimeout(() => setState("idle"), 1_200);
    } catch {
      setState("shown");
    }
  };
  if (state === "shown") {
    return (
      <input
        readOnly
        autoFocus
        value={text}
        aria-label={what}
        className="w-48 rounded-sm border border-edge bg-panel px-1 font-mono text-xs"
        onFocus={({ target }) => target.select()}
        onBlur={() => setState("idle")}
      />
    );
  }
  return (
    <button
      type="button"
      title={state === "copied" ? "Copied" : `Copy ${what}`}
      aria-label={state === "copied" ? (label === undefined ? "Copied" : `${label} copied`) : `Copy ${what}`}
      className={className}
      onClick={(event) => {
        event.stopPropagation();
        void copy();
      }}
    >
      {label}
      <Icon name={state === "copied" ? "succeeded" : "copy"} className="size-3" />
    </button>
  );
}
