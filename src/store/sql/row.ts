import { StoreUnusableError } from "../../core/errors.ts";

/** A value that both databases store as it is. */
export type SqlValue = string | number | Uint8Array | null;

/** A row, read by column and type. A column that does not match the schema throws. */
export class Row {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  int(column: string): number {
    const value = this.#values[column];
    return typeof value === "number" ? value : this.#mismatch(column, "an integer");
  }

  text(column: string): string {
    const value = this.#values[column];
    return typeof value === "string" ? value : this.#mismatch(column, "a text");
  }

  bytes(column: string): Uint8Array {
    const value = this.#values[column];
    if (!(value instanceof Uint8Array)) return this.#mismatch(column, "bytes");
    return plainBytes(value);
  }

  /** A truth value: SQLite has 0 and 1 for it. */
  flag(column: string): boolean {
    const value = this.#values[column];
    if (value === 1 || value === true) return true;
    return value === 0 || value === false ? false : this.#mismatch(column, "0 or 1");
  }

  /** A text that is one of these. */
  oneOf<T extends string>(column: string, allowed: readonly T[]): T {
    const value = this.text(column);
    return allowed.find((each) => each === value) ?? this.#mismatch(column, `one of ${allowed.join(", ")}`);
  }

  optionalInt(column: string): number | null {
    return this.#values[column] === null ? null : this.int(column);
  }

  optionalText(column: string): string | null {
    return this.#values[column] === null ? null : this.text(column);
  }

  optionalBytes(column: string): Uint8Array | null {
    return this.#values[column] === null ? null : this.bytes(column);
  }

  optionalOneOf<T extends string>(column: string, allowed: readonly T[]): T | null {
    return this.#values[column] === null ? null : this.oneOf(column, allowed);
  }

  hex(column: string): string {
    return Buffer.from(this.bytes(column)).toString("hex");
  }

  value(column: string): SqlValue {
    const value = this.#values[column] ?? null;
    if (value === null || typeof value === "string" || typeof value === "number") return value;
    return value instanceof Uint8Array ? value : this.#mismatch(column, "a stored value");
  }

  #mismatch(column: string, expected: string): never {
    throw new StoreUnusableError(
      `A row of the database holds ${typeof this.#values[column]} in ${column} where ${expected} belongs: it was changed by another program; restore the database from a backup.`,
      { reason: "row_shape" },
    );
  }
}

/** The same bytes without the methods of a Buffer, which only some drivers return. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : bytes;
}
