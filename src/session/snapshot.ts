import { isJson } from "../core/canonical-json.ts";
import { SnapshotRestoreError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { frozenJson } from "./frozen-json.ts";
import type { StoredSlices, VersionedValues } from "./restore-slice.ts";

/** The metadata of a session in its snapshot. */
export type SessionMetadata = {
  readonly id: string;
  readonly createdAt: number;
  readonly tags: { readonly [key: string]: string };
  readonly parent: string | null;
  readonly children: readonly string[];
};

/**
 * The state slices of a session and its metadata at one moment, as JSON: no events, no reducers, no observers. The session
 * that restores it must have the slices.
 *
 * @example
 * const text = JSON.stringify(session.snapshot());
 * session.rollback(Snapshot.fromJSON(text));
 */
export class Snapshot {
  static readonly VERSION = 1;

  readonly session: SessionMetadata;
  readonly slices: StoredSlices;

  constructor(session: SessionMetadata, slices: StoredSlices) {
    this.session = frozenJson(session) as SessionMetadata;
    this.slices = Object.freeze(
      Object.fromEntries(Object.entries(slices).map(([name, slice]) => [name, frozenSlice(slice)])),
    );
  }

  toJSON(): JsonObject {
    return { version: Snapshot.VERSION, session: this.session, slices: this.slices };
  }

  /** From its text, or from the parsed text. Unknown top-level keys are ignored. */
  static fromJSON(json: unknown): Snapshot {
    const root = typeof json === "string" ? parse(json) : json;
    if (!isJson(root) || !isJsonObject(root)) throw badJson("it is not a JSON object");
    const { version, session, slices } = root;
    if (!isWholeFromOne(version)) throw badJson("it has no version");
    if (version !== Snapshot.VERSION) {
      throw new SnapshotRestoreError(
        `The snapshot is of version ${version}, and this program reads version ${Snapshot.VERSION}: use the program that wrote it, or start fresh.`,
        { reason: "version", slice: null },
      );
    }
    return new Snapshot(readMetadata(session), readSlices(slices));
  }
}

/** Values from a session are frozen already, and are kept as they are, so that `===` finds no change. */
function frozenSlice({ version, values }: VersionedValues): VersionedValues {
  const frozen = Object.isFrozen(values) ? values : (frozenJson(values) as readonly Json[]);
  return Object.freeze({ version, values: frozen });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badJson(error instanceof Error ? error.message : String(error), error);
  }
}

function readMetadata(session: Json | undefined): SessionMetadata {
  if (!isJsonObject(session)) throw badJson("its session is not an object");
  const { id, createdAt, tags, parent, children } = session;
  if (typeof id !== "string") throw badJson("session.id is not a text");
  if (typeof createdAt !== "number") throw badJson("session.createdAt is not a number");
  if (!isJsonObject(tags) || !Object.values(tags).every(isText)) throw badJson("session.tags are not texts");
  if (parent !== null && !isText(parent)) throw badJson("session.parent is neither a text nor null");
  if (!Array.isArray(children) || !children.every(isText))
    throw badJson("session.children is not a list of texts");
  return { id, createdAt, tags: tags as SessionMetadata["tags"], parent, children };
}

function readSlices(slices: Json | undefined): StoredSlices {
  if (!isJsonObject(slices)) throw badJson("its slices are not an object");
  return Object.fromEntries(Object.entries(slices).map(([name, slice]) => [name, readSlice(name, slice)]));
}

function readSlice(name: string, slice: Json): VersionedValues {
  if (!isJsonObject(slice)) throw badJson(`slice ${JSON.stringify(name)} is not an object`);
  const { version, values } = slice;
  if (!isWholeFromOne(version)) throw badJson(`slice ${JSON.stringify(name)} has no version`);
  if (!Array.isArray(values)) throw badJson(`the values of slice ${JSON.stringify(name)} are not a list`);
  return { version, values };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isWholeFromOne(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

function badJson(why: string, cause?: unknown): SnapshotRestoreError {
  return new SnapshotRestoreError(
    `The snapshot cannot be read: ${why}; set it aside and start fresh.`,
    { reason: "bad_json", slice: null },
    { cause },
  );
}
