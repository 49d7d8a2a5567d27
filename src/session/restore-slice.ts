import { SnapshotRestoreError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import type { Slice } from "./slice.ts";
import { checkValue } from "./slice-value.ts";

export type VersionedValues = { readonly version: number; readonly values: readonly Json[] };

/** Stored slices, by name. */
export type StoredSlices = { readonly [name: string]: VersionedValues };

/** The values of a stored slice, migrated to the slice's current version and checked against its schema. */
export function restoreSlice(slice: Slice, stored: VersionedValues): readonly Json[] {
  const values = migrate(slice, stored);
  return Object.freeze(values.map((value, index) => restoreValue(slice, value, index, values.length)));
}

function restoreValue(slice: Slice, value: unknown, index: number, length: number): Json {
  const checked = checkValue(slice, value, index, length);
  if (checked.ok) return checked.value;
  throw new SnapshotRestoreError(
    `A stored value does not fit slice ${slice.name}: ${checked.path}: ${checked.why}; raise the slice's version and give it a migration, or start fresh.`,
    { reason: "bad_value", slice: slice.name },
  );
}

/** One version at a time: values of version 1 are migrated to 2 and then to 3. */
function migrate(slice: Slice, stored: VersionedValues): readonly Json[] {
  if (stored.version > slice.version) {
    throw new SnapshotRestoreError(
      `Slice ${slice.name} was stored in version ${stored.version}, and this program knows it up to ${slice.version}: run the newer program, or start fresh.`,
      { reason: "slice_version", slice: slice.name },
    );
  }
  let { values } = stored;
  for (let target = stored.version + 1; target <= slice.version; target++)
    values = migrateTo(slice, target, values);
  return values;
}

function migrateTo(slice: Slice, target: number, values: readonly Json[]): readonly Json[] {
  const migration = slice.migrations[target];
  if (migration === undefined) {
    throw new SnapshotRestoreError(
      `Slice ${slice.name} was stored in version ${target - 1} and has no migration to ${target}: give it one, or start fresh.`,
      { reason: "slice_version", slice: slice.name },
    );
  }
  let migrated: unknown;
  try {
    migrated = migration(values);
  } catch (error) {
    throw migrationFailed(slice, target, error instanceof Error ? error.message : String(error), error);
  }
  if (!Array.isArray(migrated)) throw migrationFailed(slice, target, "it returned no array");
  return migrated as readonly Json[];
}

function migrationFailed(slice: Slice, target: number, why: string, cause?: unknown): SnapshotRestoreError {
  return new SnapshotRestoreError(
    `The migration of slice ${slice.name} to version ${target} failed: ${why}; fix it, or start fresh.`,
    { reason: "migration", slice: slice.name },
    { cause },
  );
}
