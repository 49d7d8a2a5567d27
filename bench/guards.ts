import { DatabaseSync } from "node:sqlite";
import { KeptFiles } from "../src/store/sqlite/kept-files.ts";
import { SentMarks } from "../src/store/sqlite/sent-marks.ts";

/** The cost per turn of checking files and schema for changes, and of the sent marks; in milliseconds. */
export type GuardCosts = { readonly files: number; readonly schema: number; readonly marks: number };

const TIMES = 20_000;

/** A turn with one tool call has two commits, each with a check before and after it, and marks its request and its call. */
export function guardCosts(file: string): GuardCosts {
  const files = new KeptFiles(file);
  const database = new DatabaseSync(file, { readOnly: true });
  const version = database.prepare("PRAGMA user_version");
  const marks = SentMarks.make(`${file}-sent-bench`);
  if (marks === null) throw new Error("The marks cannot be created.");
  try {
    const look = timed(() => files.assertSame("before"));
    const read = timed(() => void version.get());
    const mark = timed((n) => {
      const effect = { stepKey: 1, turnIndex: n, callIndex: 1, attempt: 1 };
      marks.write("bench", 1, effect);
      marks.retire("bench", effect);
    });
    return { files: 4 * look, schema: 2 * read, marks: 2 * mark };
  } finally {
    marks.close();
    database.close();
  }
}

function timed(work: (n: number) => void): number {
  for (let n = 0; n < TIMES / 10; n++) work(n);
  const started = performance.now();
  for (let n = 0; n < TIMES; n++) work(n);
  return (performance.now() - started) / TIMES;
}
