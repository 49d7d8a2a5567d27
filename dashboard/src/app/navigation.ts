import type { Place } from "../browser/places.ts";

type Entry = {
  readonly name: string;
  readonly href: string;
  readonly pages: readonly Place["page"][];
  /** The second key after `g`. */
  readonly key: string;
  readonly isForAdmins?: boolean;
};

export const NAVIGATION: readonly Entry[] = [
  { name: "Runs", href: "/", pages: ["runs", "run", "compare"], key: "r" },
  { name: "Inbox", href: "/waits", pages: ["inbox"], key: "i" },
  { name: "Spend", href: "/spend", pages: ["spend"], key: "s" },
  { name: "Health", href: "/health", pages: ["health"], key: "h" },
  { name: "Workers", href: "/workers", pages: ["workers"], key: "w" },
  { name: "Schedules", href: "/schedules", pages: ["schedules"], key: "c" },
  { name: "Access", href: "/access", pages: ["access"], key: "a", isForAdmins: true },
];
