import { realpathSync } from "node:fs";
import { LiveBuffer, type LiveTimers } from "../live/live-buffer.ts";
import { MemoryLive } from "../live/memory-live.ts";
import { isNeeded } from "../sql/intents/run-interruption.ts";
import { latestVersion, newerSchema } from "../sql/migration.ts";
import { NO_NOTES, type SentNotes } from "../sql/owners.ts";
import { SqlStore } from "../sql/sql-store.ts";
import { type SqlStoreOptions, storeParts } from "../sql/store-options.ts";
import { Database } from "./database.ts";
import { MIGRATIONS } from "./embedded-migrations.ts";
import { LiveFile } from "./live-file.ts";
import { migrate, schemaVersion } from "./migrate.ts";
import { type Doorbell, idOf, OwnerFiles, OwnerLock } from "./owner-lock.ts";
import { readSentMarks, SentMarks } from "./sent-marks.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { whileBusy } from "./while-busy.ts";

export type SqliteStoreOptions = SqlStoreOptions & {
  /** Replaces the system's sockets, for simulated machines in tests. */
  readonly doorbell?: Doorbell;
};

/** The store on one SQLite file: the default. Processes on the same machine may share the file. */
export class SqliteStore extends SqlStore {
  private constructor(database: Database, lock: OwnerLock, options: SqliteStoreOptions) {
    const path = pathOf(database);
    const marks = makeMarks(path, lock);
    const parts = storeParts(lock, notesIn(path, marks), options);
    const { now = Date.now, onCommit = () => undefined } = options;
    const live = liveIn(path, database.isReadOnly, options.liveTimers);
    super(
      new SqliteDriver({ database, lock, marks, leases: parts.leases, now, onCommit, path, live }),
      parts,
    );
  }

  /** Opens or creates the file. Waits for another process that is doing the same. */
  static async open(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
    const database = await whileBusy(file, () => Database.open(file));
    try {
      await whileBusy(file, () => migrate(database, (options.now ?? Date.now)()));
      const lock = await OwnerLock.take(file, options.doorbell);
      try {
        await lock.sweep((ownerId) => database.runScript(isNeeded(ownerId)));
        return new SqliteStore(database, lock, options);
      } catch (error) {
        await lock.release();
        throw error;
      }
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Opens the file for reading; null if it has to be opened for writing first, to create or migrate it. */
  static async openReadOnly(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore | null> {
    const database = await whileBusy(file, () => Database.openReadOnly(file));
    if (database === null) return null;
    try {
      const version = await whileBusy(file, () => schemaVersion(database));
      const known = latestVersion(MIGRATIONS);
      if (version > known) throw newerSchema(database.file, version, known);
      if (version === known) {
        const store = new SqliteStore(database, OwnerLock.watch(file), options);
        // Fails here, and not later, if the schema is not ours.
        await store.getRun("");
        return store;
      }
    } catch (error) {
      database.close();
      throw error;
    }
    database.close();
    return null;
  }
}

/** The real path of the database: other processes look for its sidecar files there. */
function pathOf({ file }: Database): string {
  return file === ":memory:" ? file : realpathSync(file);
}

/** The file of live parts is opened when there is something to write or to read. */
function liveIn(path: string, isReadOnly: boolean, timers: LiveTimers | undefined): LiveBuffer {
  return new LiveBuffer(
    path === ":memory:" ? new MemoryLive() : new LiveFile(`${path}-live`, { isReadOnly }),
    timers,
  );
}

/** Marks are useful only with a lock that shows whether their owner lives. */
function makeMarks(path: string, lock: OwnerLock): SentMarks | null {
  if (lock.id === null || !lock.isHeld) return null;
  return SentMarks.make(new OwnerFiles(path).marksFile(lock.id));
}

/** The notes of this store, and those of dead processes beside the same database. */
function notesIn(path: string, marks: SentMarks | null): SentNotes {
  const files = path === ":memory:" ? null : new OwnerFiles(path);
  return {
    get identity() {
      return marks?.isOn === true ? marks.identity : null;
    },
    write: (runId, epoch, effect) => marks === null || marks.write(runId, epoch, effect),
    retire: (runId, effect) => marks?.retire(runId, effect),
    withdraw: (runId, effect) => marks?.withdraw(runId, effect),
    notesOf: (owner, identity) => {
      const id = idOf(owner);
      return files === null || id === null
        ? NO_NOTES.notesOf(owner, identity)
        : readSentMarks(files.marksFile(id), identity);
    },
  };
}
