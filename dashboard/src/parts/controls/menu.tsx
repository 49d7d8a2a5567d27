import { type ReactNode, useEffect, useId, useRef } from "react";
import { Icon } from "./icon.tsx";

type MenuProps = {
  readonly label: ReactNode;
  /** For readers who do not see the label as it is drawn. */
  readonly name?: string;
  readonly children: ReactNode;
  readonly align?: "left" | "right";
  readonly className?: string;
};

/** A button with a popover: the browser closes it on Escape, and on a click elsewhere. */
export function Menu({ label, name, children, align = "left", className = "" }: MenuProps): ReactNode {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  const place = (): void => {
    const at = button.current?.getBoundingClientRect();
    const element = popover.current;
    if (at === undefined || element === null) return;
    element.style.top = `${at.bottom + 4}px`;
    const left = align === "left" ? at.left : at.right - element.offsetWidth;
    element.style.left = `${Math.max(8, Math.min(left, innerWidth - element.offsetWidth - 8))}px`;
  };
  // What it hangs on moves away under it.
  useEffect(() => {
    const close = (): void => popover.current?.hidePopover();
    addEventListener("scroll", close, { passive: true });
    return () => removeEventListener("scroll", close);
  }, []);
  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={name}
        popoverTarget={id}
        className={`inline-flex h-7 items-center gap-1 rounded-md border border-transparent px-2 whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink ${className}`}
      >
        {label}
        <Icon name="down" className="size-3" />
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        onToggle={place}
        className="fixed m-0 min-w-40 rounded-lg border border-line bg-panel p-1 text-ink shadow-raised"
      >
        {children}
      </div>
    </>
  );
}

/** A line of a menu: something to do, or with `isChosen` something to choose. */
export function MenuItem({
  onSelect,
  isChosen,
  children,
}: {
  readonly onSelect: () => void;
  readonly isChosen?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      className="flex w-full items-center gap-2 rounded-sm px-2 py-1 text-left hover:bg-hover"
      onClick={onSelect}
    >
      {isChosen !== undefined && <Icon name="succeeded" className={isChosen ? "" : "invisible"} />}
      {children}
    </button>
  );
}
