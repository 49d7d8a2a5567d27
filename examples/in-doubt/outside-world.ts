import { appendFileSync, existsSync, readFileSync } from "node:fs";

type Entry = { readonly kind: string; readonly key: string; readonly what: string };

/** A bank that supports look-ups and a letter box that does not: a log outside of Pawl's database. */
export class OutsideWorld {
  readonly #log: string;

  constructor(log: string) {
    this.#log = log;
  }

  /** Each call is one more effect: duplicates are not dropped. */
  record(kind: string, key: string, what: string): void {
    appendFileSync(this.#log, `${JSON.stringify({ kind, key, what })}\n`);
  }

  find(kind: string, key: string): Entry | null {
    return this.#entries().find((entry) => entry.kind === kind && entry.key === key) ?? null;
  }

  count(kind: string): number {
    return this.#entries().filter((entry) => entry.kind === kind).length;
  }

  #entries(): Entry[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Entry);
  }
}
