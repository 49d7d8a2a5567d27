import { noteFailedPlace, type Statement } from "../sql/planned/server-session.ts";
import { Row } from "../sql/row.ts";
import type { PgField, PgSubmittable, PgWire } from "./pg-driver.ts";
import { fromPg, toPg } from "./values.ts";

/** The statements that a session has prepared. */
export class PreparedStatements {
  readonly #names = new Map<string, string>();
  #made = 0;

  /** The name of the prepared statement; null if there is none of this text. */
  find(text: string): string | null {
    return this.#names.get(text) ?? null;
  }

  /** A name that was not used before. */
  newName(): string {
    return `pawl_${++this.#made}`;
  }

  add(text: string, name: string): void {
    this.#names.set(text, name);
  }
}

/**
 * Some statements in one round trip: they are sent together with one Sync at the end, so that the server answers them
 * together, and skips those after one that fails.
 */
export class RoundTrip implements PgSubmittable {
  readonly #statements: readonly Statement[];
  /** Null if statements do not stay prepared on this connection. */
  readonly #prepared: PreparedStatements | null;
  readonly #new = new Map<string, string>();
  readonly #answers: Row[][] = [];
  #rows: Row[] = [];
  #fields: readonly PgField[] = [];
  #failure: { readonly error: Error } | null = null;
  readonly #settle: (outcome: { readonly error: Error } | readonly (readonly Row[])[]) => void;
  callback: (error: unknown) => void;

  constructor(
    statements: readonly Statement[],
    prepared: PreparedStatements | null,
    settle: (outcome: { readonly error: Error } | readonly (readonly Row[])[]) => void,
  ) {
    this.#statements = statements;
    this.#prepared = prepared;
    this.#settle = settle;
    // pg wraps it to limit the time, and calls it itself when that is over.
    this.callback = (error) => this.#end(error);
  }

  submit(wire: PgWire): null {
    wire.stream.cork?.();
    try {
      for (const statement of this.#statements) this.#write(wire, statement);
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
    return null;
  }

  #write(wire: PgWire, { text, values }: Statement): void {
    const isPrepared = this.#prepared !== null && values.length > 0;
    let name = isPrepared ? (this.#prepared?.find(text) ?? this.#new.get(text) ?? null) : null;
    if (name === null) {
      name = isPrepared ? (this.#prepared?.newName() ?? "") : "";
      if (isPrepared) this.#new.set(text, name);
      wire.parse({ name, text: numbered(text) });
    }
    wire.bind({ statement: name, values: values.map(toPg) });
    // Only questions need the types of their answers.
    if (!NO_QUESTION.test(text)) wire.describe({ type: "P" });
    wire.execute({});
  }

  handleRowDescription({ fields }: { readonly fields: readonly PgField[] }): void {
    this.#fields = fields;
  }

  handleDataRow({ fields: values }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#fields.length === 0) return;
    try {
      this.#rows.push(
        new Row(
          Object.fromEntries(
            this.#fields.map(({ name, dataTypeID }, i) => [name, fromPg(dataTypeID, values[i] ?? null)]),
          ),
        ),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // A COMMIT after a failed statement succeeds, as a rollback.
    const asked = this.#statements[this.#answers.length]?.text;
    if (asked === "COMMIT" && text !== "COMMIT") this.#fail(new Error("The transaction was rolled back."));
    this.#answers.push(this.#rows);
    this.#rows = [];
    this.#fields = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: "" });
  }

  handleError(error: unknown): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  #end(error: unknown): void {
    if (error !== null && error !== undefined) this.#fail(error);
    // Of statements that were prepared beside one that failed it is not known whether they were.
    else for (const [text, name] of this.#new) this.#prepared?.add(text, name);
    this.#settle(this.#failure ?? this.#answers);
  }

  /** The first failure is the one that the others follow from. */
  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error: error instanceof Error ? error : new Error(String(error)) };
    noteFailedPlace(this.#failure.error, this.#answers.length);
  }
}

const NO_QUESTION = /^(INSERT|DELETE|WITH changed|BEGIN|COMMIT|ROLLBACK)\b/;

const texts = new Map<string, string>();

/** The text with `$1, $2, …` for its values. */
function numbered(text: string): string {
  let known = texts.get(text);
  if (known === undefined) {
    let n = 0;
    known = text.replaceAll("?", () => `$${++n}`);
    texts.set(text, known);
  }
  return known;
}
