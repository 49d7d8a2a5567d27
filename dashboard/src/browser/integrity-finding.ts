import { useSyncExternalStore } from "react";

/** What the last check of the database has found. It is kept in the browser of the person who asked for it. */
export type IntegrityFinding = {
  readonly problems: readonly string[];
  readonly checkedAt: string;
  /** A person has read it: other pages need not say it any more. */
  readonly isSeen: boolean;
};

const KEY = "pawl-integrity";
const listeners = new Set<() => void>();
let cached: { readonly text: string | null; readonly finding: IntegrityFinding | null } = {
  text: null,
  finding: null,
};

/** Parsed once a text, so that the same finding is the same object. */
function read(): IntegrityFinding | null {
  const text = localStorage.getItem(KEY);
  if (text !== cached.text) cached = { text, finding: parse(text) };
  return cached.finding;
}

function parse(text: string | null): IntegrityFinding | null {
  try {
    const { problems, checkedAt, isSeen } = JSON.parse(text ?? "null") as Partial<IntegrityFinding>;
    if (!Array.isArray(problems) || typeof checkedAt !== "string") return null;
    return { problems: problems.map(String), checkedAt, isSeen: isSeen === true };
  } catch {
    return null;
  }
}

export function keepFinding(finding: IntegrityFinding): void {
  localStorage.setItem(KEY, JSON.stringify(finding));
  for (const listener of listeners) listener();
}

/** Another tab may have found it. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  globalThis.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    globalThis.removeEventListener("storage", listener);
  };
}

export function useFinding(): IntegrityFinding | null {
  return useSyncExternalStore(subscribe, read);
}
