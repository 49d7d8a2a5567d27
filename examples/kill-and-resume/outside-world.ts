import { appendFileSync, existsSync, readFileSync } from "node:fs";

/**
 * A stand-in for a mail provider: a log outside of Pawl's database. Like any provider with idempotency keys, it accepts a
 * message once, and answers a repeated key with the first receipt. It counts both.
 */
export class OutsideWorld {
  readonly #log: string;

  constructor(log: string) {
    this.#log = log;
  }

  deliver(key: string, message: string): { messageId: string } {
    const known = this.#entries().find((entry) => entry.key === key && entry.kind === "delivered");
    const kind = known === undefined ? "delivered" : "dropped";
    appendFileSync(this.#log, `${JSON.stringify({ kind, key, message })}\n`);
    return { messageId: `message-${key.slice(0, 8)}` };
  }

  count(kind: "delivered" | "dropped"): number {
    return this.#entries().filter((entry) => entry.kind === kind).length;
  }

  #entries(): { kind: string; key: string }[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as { kind: string; key: string });
  }
}
