import { isJson } from "../core/canonical-json.ts";
import { PawlError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { redact, secretsIn } from "../core/redaction.ts";

/**
 * The secrets that a worker has met in a run: values under the configured names, and those that code marked. They live
 * here, in memory, and what is stored, told or thrown has "[secret]" in their place.
 */
export class RunSecrets {
  readonly #keyNames: ReadonlySet<string>;
  readonly #texts = new Set<string>();

  constructor(keyNames: ReadonlySet<string>) {
    this.#keyNames = keyNames;
  }

  learn(texts: readonly string[]): void {
    for (const text of texts) this.#texts.add(text);
  }

  /** The value without its secrets, which are known from then on; the same reference where there are none. */
  hide<T extends Json>(value: T): T {
    if (this.#keyNames.size > 0) this.learn(secretsIn(value, this.#keyNames));
    if (this.#keyNames.size === 0 && this.#texts.size === 0) return value;
    return redact(value, this.#keyNames, [...this.#texts]) as T;
  }

  hideText(text: string): string {
    return this.hide(text);
  }

  /** In an error that leaves the run, and in what caused it. */
  hideInError(error: Error): void {
    if (this.#keyNames.size === 0 && this.#texts.size === 0) return;
    const seen = new Set<unknown>();
    for (let each: unknown = error; each instanceof Error && !seen.has(each); each = each.cause) {
      seen.add(each);
      each.message = this.hideText(each.message);
      if (each.stack !== undefined) each.stack = this.hideText(each.stack);
      if (PawlError.isInstance(each) && isJson(each.details))
        Object.defineProperty(each, "details", { value: this.hide(each.details), enumerable: true });
    }
  }
}
