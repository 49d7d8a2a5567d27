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
import { StreamedRedaction } from "../../core/secret/streamed-redaction.ts";
import { performGradualWork } from "../ports/perform-gradual-work.ts";
import { redactError } from "./redact-error.ts";

/**
 * The secrets of a run, in memory. Two kinds, which a model, a tool or a page must never be able to convert into each other:
 * values under the configured names are hidden in that position, wherever they come from; texts are searched for everywhere,
 * and come only from the operator and the run's own code (`secret(…)`, the settings of tools and servers). Whatever is
 * stored, emitted or thrown has a mark with a digest in their place.
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

  /** Adds texts of the operator or of the run's own code; never texts from a model, a tool or a page. */
  learn(texts: readonly string[]): void {
    const known = this.#texts.size;
    for (const text of texts) this.#texts.add(text);
    if (this.#texts.size > known) this.#search = null;
  }

  learnSecrets(secrets: readonly Secret[]): void {
    this.learn(secrets.map((each) => each.reveal()));
  }

  /** A copy that also hides these texts, for one call. */
  withTexts(texts: readonly string[]): RunSecrets {
    return texts.length === 0 ? this : new RunSecrets(this.#names, this.#digest, [...this.#texts, ...texts]);
  }

  /** The value without its secrets; the same reference if it has none. */
  hide<T extends Json>(value: T): T {
    return redact(value, this.#hiding) as T;
  }

  hideText(text: string, torn?: Torn): string {
    return redactText(text, this.#hiding, torn);
  }

  /** `hideText` for a text that comes in pieces. */
  hideStreamed(): StreamedRedaction {
    return new StreamedRedaction(() => this.#hiding);
  }

  /** `hide` for values that may be megabytes and would block the process. Small values are done synchronously. */
  hideLarge<T extends Json>(value: T): T | Promise<T> {
    return performGradualWork(redacting(value, this.#hiding) as GradualWork<T>);
  }

  hideLongText(text: string, torn?: Torn): string | Promise<string> {
    return performGradualWork(redactingText(text, this.#hiding, torn));
  }

  /** `hide` that ignores names: for schemas, which describe values and hold none. */
  hideTexts<T extends Json>(value: T): T {
    return redact(value, { ...this.#hiding, names: NO_NAMES }) as T;
  }

  /** Replaces each `secret(…)` in a value of the run's code by its mark, and hides the rest as usual. */
  hideMarked(value: unknown): unknown {
    const marked = hideSecrets(value, (text) => markOfSecret(this.#digest, text.trim()));
    return isJson(marked) ? this.hide(marked) : marked;
  }

  holdsSecret(value: Json): boolean {
    return redact(value, { ...this.#hiding, digest: () => "" }) !== value;
  }

  /** Redacts an error that leaves the run, in place, with its causes and all their fields. */
  redactError(error: Error): void {
    if (this.#names.size === 0 && this.#texts.size === 0) return;
    redactError(error, (value) => this.#hideAny(value));
  }

  /** A value of a library that is not JSON becomes a text if it holds a secret. */
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

/** Null if the value has no JSON form. */
function jsonOf(value: object): Json | null {
  try {
    return throughJson(value);
  } catch {
    return null;
  }
}
