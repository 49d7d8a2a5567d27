import { isJson } from "../core/canonical-json.ts";
import { PawlError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { type Hiding, redact, redactText, type Torn } from "../core/redaction.ts";
import { hideSecrets, type Secret } from "../core/secret.ts";
import { markOfSecret, type SecretDigest } from "../core/secret-mark.ts";
import { SecretSearch } from "../core/secret-search.ts";

/**
 * What a worker hides in a run. Two sorts, and a model, a tool or a page must never make one the other: values under the
 * configured names are hidden where they stand, whoever gave them; texts are looked for everywhere, and come from the operator
 * and the run's own code alone (`secret(…)`, the settings of tools and servers). They live here, in memory, and what is
 * stored, told or thrown has a mark with a digest in their place.
 */
export class RunSecrets {
  readonly #names: ReadonlySet<string>;
  readonly #digest: SecretDigest;
  readonly #texts: Set<string>;
  #search: SecretSearch | null = null;

  constructor(names: ReadonlySet<string>, digest: SecretDigest, texts: Iterable<string> = []) {
    this.#names = names;
    this.#digest = digest;
    this.#texts = new Set(texts);
  }

  /** Texts of the operator or of the run's own code: never what somebody else said. */
  learn(texts: readonly string[]): void {
    const known = this.#texts.size;
    for (const text of texts) this.#texts.add(text);
    if (this.#texts.size > known) this.#search = null;
  }

  learnSecrets(secrets: readonly Secret[]): void {
    this.learn(secrets.map((each) => each.reveal()));
  }

  /** These as well, for what comes of one call. */
  and(texts: readonly string[]): RunSecrets {
    return texts.length === 0 ? this : new RunSecrets(this.#names, this.#digest, [...this.#texts, ...texts]);
  }

  /** The value without its secrets; the same reference where there are none. */
  hide<T extends Json>(value: T): T {
    return redact(value, this.#hiding) as T;
  }

  hideText(text: string, torn?: Torn): string {
    return redactText(text, this.#hiding, torn);
  }

  /** Marks each `secret(…)` in a value of code, and hides the rest like everything else. */
  hideMarked(value: unknown): unknown {
    const marked = hideSecrets(value, (text) => markOfSecret(this.#digest, text.trim()));
    return isJson(marked) ? this.hide(marked) : marked;
  }

  holdsSecret(value: Json): boolean {
    return redact(value, { ...this.#hiding, digest: () => "" }) !== value;
  }

  /** In an error that leaves the run, and in what caused it. */
  hideInError(error: Error): void {
    if (this.#names.size === 0 && this.#texts.size === 0) return;
    const seen = new Set<unknown>();
    for (let each: unknown = error; each instanceof Error && !seen.has(each); each = each.cause) {
      seen.add(each);
      hideField(each, "message", (text) => this.hideText(text));
      hideField(each, "stack", (text) => this.hideText(text));
      if (PawlError.isInstance(each) && isJson(each.details))
        Object.defineProperty(each, "details", { value: this.hide(each.details), enumerable: true });
    }
  }

  get #hiding(): Hiding {
    this.#search ??= new SecretSearch(this.#texts);
    return { names: this.#names, search: this.#search, digest: this.#digest };
  }
}

/** Defined, for what the platform throws has fields that cannot be assigned to. */
function hideField(error: Error, field: "message" | "stack", hide: (text: string) => string): void {
  const text: unknown = error[field];
  if (typeof text !== "string") return;
  const value = hide(text);
  if (value !== text) Object.defineProperty(error, field, { value, writable: true, configurable: true });
}
