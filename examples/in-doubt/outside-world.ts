import { appendFileSync, existsSync, readFileSync } from "node:fs";

type Entry = { readonly kind: string; readonly key: string; readonly what: string };

/** A bank that can be asked, and a letter box that cannot: a log outside of Pawl's database. */
export class OutsideWorld {
  readonly #log: string;

  constructor(log: string) {
    this.#log = log;
  }

  /** Each call is one more effect: nothing out here drops a second one. */
  happen(kind: string, key: string, what: string): void {
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
