import type { Decision } from "../../core/person.ts";
import { isoTime } from "../../export/figures.ts";

/** A person's part in an answer. */
export function decisionDocument({ name, at, authenticated }: Decision) {
  return { name, at: isoTime(at), authenticated };
}
