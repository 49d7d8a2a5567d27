import { useState, useSyncExternalStore } from "react";
import { useDashboard } from "../live/dashboard-context.ts";
import { useLiveSignal } from "../live/use-live.ts";
import { counted } from "../words/money-words.ts";
import { NewWaits } from "./new-waits.ts";

const KEY = "pawl-tell-me";
const listeners = new Set<() => void>();

/** Whether this browser can notify, was never asked, or does. */
type TellMe = "impossible" | "off" | "on";

function current(): TellMe {
  if (!("Notification" in globalThis) || Notification.permission === "denied") return "impossible";
  return Notification.permission === "granted" && localStorage.getItem(KEY) === "1" ? "on" : "off";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The state, and what a click on "tell me" does: only then is the person asked for the permission. */
export function useTellMe(): readonly [TellMe, () => void] {
  const state = useSyncExternalStore(subscribe, current);
  const toggle = async (): Promise<void> => {
    if (state === "off" && (await Notification.requestPermission()) !== "granted") return;
    localStorage.setItem(KEY, state === "on" ? "0" : "1");
    for (const listener of listeners) listener();
  };
  return [state, () => void toggle()];
}

/** Notifies of new waits while the page is not looked at. All tabs use one tag, so there is one notification. */
export function useNotifications(): void {
  const { live } = useDashboard();
  const [waits] = useState(() => new NewWaits(live.state()));
  useLiveSignal(({ kind }) => {
    if (kind !== "waits") return;
    const open = waits.more(live.state());
    if (open !== null && document.visibilityState === "hidden" && current() === "on") {
      new Notification("Pawl", { body: `${counted(open, "wait")} for a person.`, tag: "pawl-waits" });
    }
  });
}
