import { ConfigurationError } from "../errors.ts";
import { isPlainObject, MAX_DEPTH } from "../json.ts";
import { REDACTED } from "./secret-mark.ts";

/** `Symbol.for`, so that a secret is recognised even if two copies of the package are installed. */
const SECRET_MARKER = Symbol.for("pawl.secret");

/** A text that hides itself: printed, logged or serialized as JSON, it is "[secret]". */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    assertSecretText(value);
    this.#value = value;
  }

  get [SECRET_MARKER](): true {
    return true;
  }

  /** The text itself. Call it where the text is used, not earlier. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** Used by `util.inspect` and `console.log`. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return REDACTED;
  }
}

/**
 * Marks a text as a secret: Pawl passes it to the tool, and hides it in everything that the run stores, emits or throws. Its
 * replacement, `[secret:5e2b1ddc3a07]`, has a keyed digest.
 *
 * @example
 * const key = secret("sk-12345");
 * `${key}`; // "[secret]"
 * key.reveal(); // "sk-12345"
 */
export function secret(value: string): Secret {
  return new Secret(value);
}

export function isSecret(value: unknown): value is Secret {
  return typeof value === "object" && value !== null && SECRET_MARKER in value;
}

/** For callers without types; above all for an environment variable that is not set. */
function assertSecretText(value: unknown): void {
  if (typeof value === "string" && value !== "") return;
  const given = typeof value === "string" ? "an empty text" : value === null ? "null" : typeof value;
  throw new ConfigurationError(`A secret must be a text, not ${given}: check that its variable is set.`);
}

/** A value with its secrets revealed, and their texts, each once. */
export type ExtractedSecrets = {
  readonly revealed: unknown;
  readonly texts: readonly string[];
};

/**
 * Finds secrets in plain objects and arrays, at any depth. All other values, and those without a secret, are returned
 * unchanged, as the same references.
 */
export function extractSecrets(value: unknown): ExtractedSecrets {
  const texts = new Set<string>();
  const revealed = replaceSecrets(value, [], (found) => {
    const text = found.reveal();
    texts.add(text);
    return text;
  });
  return { revealed, texts: [...texts] };
}

/** The same value with a mark in place of each secret, even of one that is too short to be searched for in texts. */
export function hideSecrets(value: unknown, mark: (text: string) => string): unknown {
  return replaceSecrets(value, [], (found) => mark(found.reveal()));
}

function replaceSecrets(value: unknown, ancestors: object[], replace: (found: Secret) => string): unknown {
  if (isSecret(value)) return replace(value);
  // The code that stores the value refuses cycles and values that are nested too deep: it knows the path.
  if (!isContainer(value) || ancestors.includes(value) || ancestors.length > MAX_DEPTH) return value;
  ancestors.push(value);
  const changed = Object.entries(value).flatMap(([key, before]) => {
    const after = replaceSecrets(before, ancestors, replace);
    return after === before ? [] : [[key, after] as const];
  });
  ancestors.pop();
  if (changed.length === 0) return value;
  const copy = Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value };
  return Object.assign(copy, Object.fromEntries(changed));
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && (Array.isArray(value) || isPlainObject(value));
}
