import { StoreUnusableError } from "../../core/errors.ts";

/** A numbered change of the schema. */
export type Migration = { readonly number: number; readonly name: string; readonly sql: string };

/** The version that a database has after these migrations; 0 if there are none. */
export function latestVersion(all: readonly Migration[]): number {
  return all.at(-1)?.number ?? 0;
}

/** A program must not write to tables whose rules it does not know. */
export function newerSchema(name: string, version: number, known: number): StoreUnusableError {
  return new StoreUnusableError(
    `The database ${name} has schema ${version} and this version of Pawl knows ${known}: use a newer Pawl; nothing was changed.`,
    { reason: "newer_schema" },
  );
}

/** Before the first release, schemas are replaced and not migrated. */
export function developmentSchema(name: string, version: number): StoreUnusableError {
  return new StoreUnusableError(
    `The database ${name} has schema ${version}, of a development version of Pawl, which this version cannot read: finish its runs with that version, and name another database for this one; it was left as it is.`,
    { reason: "development" },
  );
}
