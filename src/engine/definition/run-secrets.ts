import { inspect } from "node:util";
import { isJson } from "../../core/canonical-json.ts";
import type { GradualWork } from "../../core/gradual-work.ts";
import { type Json, throughJson } from "../../core/json.ts";
import {
  type Hiding,
  redact,
  redacting,
  redactingText,
  redactText,
  type Torn,
} from "../../core/secret/redaction.ts";
import { hideSecrets, type Secret } from "../../core/secret/secret.ts";
import { markOfSecret, type SecretDigest } from "../../core/secret/secret-mark.ts";
import { SecretSearch } from "../../core/secret/secret-search.ts";
import { performGradualWork } from "../ports/perform-gradual-work.ts";
import { redactError } from "./redact-error.ts";

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
  withTexts(texts: readonly string[]): RunSecrets {
    return texts.length === 0 ? this : new RunSecrets(this.#names, this.#digest, [...this.#texts, ...texts]);
  }

  /** The value without its secrets; the same reference where there are none. */
  hide<T extends Json>(value: T): T {
    return redact(value, this.#hiding) as T;
  }

  hideText(text: string, torn?: Torn): string {
    return redactText(text, this.#hiding, torn);
  }

  /** The same of what may be megabytes, which would stop the process: at once where it is not. */
  hideLarge<T extends Json>(value: T): T | Promise<T> {
    return performGradualWork(redacting(value, this.#hiding) as GradualWork<T>);
  }

  hideLongText(text: string, torn?: Torn): string | Promise<string> {
    return performGradualWork(redactingText(text, this.#hiding, torn));
  }

  /** The same without regard to names: for what describes values, and holds none. */
  hideTexts<T extends Json>(value: T): T {
    return redact(value, { ...this.#hiding, names: NO_NAMES }) as T;
  }

  /** Marks each `secret(…)` in a value of code, and hides the rest like everything else. */
  hideMarked(value: unknown): unknown {
    const marked = hideSecrets(value, (text) => markOfSecret(this.#digest, text.trim()));
    return isJson(marked) ? this.hide(marked) : marked;
  }

  holdsSecret(value: Json): boolean {
    return redact(value, { ...this.#hiding, digest: () => "" }) !== value;
  }

  /** In an error that leaves the run, in what caused it, and in whatever else stands in them. */
  redactError(error: Error): void {
    if (this.#names.size === 0 && this.#texts.size === 0) return;
    redactError(error, (value) => this.#hideAny(value));
  }

  /** Values of libraries that are no JSON become a text where they hold a secret. */
  #hideAny(value: unknown): unknown {
    if (isJson(value)) return this.hide(value);
    if (typeof value === "string") return this.hideText(value.toWellFormed());
    if (typeof value !== "object" || value === null) return value;
    const json = jsonOf(value);
    const hidden = json === null ? null : this.hide(json);
    if (hidden !== json) return hidden;
    const shown = inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
    const text = this.hideText(shown);
    return text === shown ? value : text;
  }

  get #hiding(): Hiding {
    this.#search ??= new SecretSearch(this.#texts);
    return { names: this.#names, search: this.#search, digest: this.#digest };
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Null where JSON has nothing for it. */
function jsonOf(value: object): Json | null {
  try {
    return throughJson(value);
  } catch {
    return null;
  }
}
