import { useEffect, useRef } from "react";
import { type KeyBinding, type Pressed, pressKey } from "./key-sequence.ts";

// One listener for all keys. No single key does anything that cannot be undone.

const layers = new Set<{ readonly current: readonly KeyBinding[] }>();
let first: Pressed | null = null;

/** All keys that do something now. */
export function activeKeys(): readonly KeyBinding[] {
  return [...layers].flatMap(({ current }) => current);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (isTyping(event) || document.querySelector("dialog:modal, :popover-open") !== null) return;
  const pressed = pressKey(activeKeys(), first, { key: event.key, at: event.timeStamp });
  first = pressed.first;
  if (pressed.binding === null) return;
  event.preventDefault();
  pressed.binding.run();
}

/** In a field every key is text, but Escape leaves it. Enter on a link or button is the browser's. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isField = target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (isField && key === "Escape") target.blur();
  return isField || (key === "Enter" && target.matches("a, button, summary, input"));
}

/** Adds keys for as long as the caller is shown. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  useEffect(() => {
    latest.current = bindings;
  });
  useEffect(() => {
    if (layers.size === 0) document.addEventListener("keydown", onKeyDown);
    layers.add(latest);
    return () => {
      layers.delete(latest);
      if (layers.size === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}
