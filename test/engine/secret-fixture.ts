// Searches everything that a run leaves behind for a secret: the whole database, events, errors.

import { readFileSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { inspect } from "node:util";
import { expect } from "vitest";
import { databaseFile, fileStore } from "./run-fixture.ts";

/** Has a different form in JSON, in a URL and in base64. */
export const SECRET = 'k-77/s+e "c" r&é=t';
export const OTHER_SECRET = "9f31c0ffee:77/zz";

/** The encoded forms in which a secret would still leak. */
function formsOf(secret: string): readonly string[] {
  const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
  return [
    secret,
    escaped(secret),
    escaped(escaped(secret)),
    escaped(escaped(escaped(secret))),
    encodeURIComponent(secret),
    new URLSearchParams([["", secret]]).toString().slice(1),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
  ];
}

/** The forms of the secrets that a text contains; it should contain none. */
export function leaksIn(text: string): readonly string[] {
  return [...new Set([SECRET, OTHER_SECRET].flatMap(formsOf))].filter((form) => text.includes(form));
}

/** Everything that a value shows when inspected: errors with their causes, stacks and details. */
export function shown(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null });
}

/** A store on a file, and the file's whole content as text. */
export async function storeToSearch() {
  const file = databaseFile();
  const store = await fileStore(file);
  return { store, dump: () => dumpOf(file) };
}

/** Every value of every table, and the bytes of the file and its log, which may still contain deleted rows. */
function dumpOf(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const names = tables.map(({ name }) => String(name));
    const values = names.flatMap((name) =>
      database
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .flatMap((row) => Object.values(row).map(textOf)),
    );
    const text = [...values, readFileSync(file, "utf8"), readFileSync(`${file}-wal`, "utf8")].join("\n");
    // A search that sees nothing proves nothing: check the tables and the search itself.
    expect(names).toEqual(
      expect.arrayContaining(["tool_calls", "receipts", "turns", "waits", "events", "blobs"]),
    );
    expect(leaksIn(`${text}${SECRET}`)).toContain(SECRET);
    return text;
  } finally {
    database.close();
  }
}

function textOf(value: SQLOutputValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value);
}
