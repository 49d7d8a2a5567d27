/**
 * The database of a store, as far as checks of an installation look at it. It has paths, names of roles and settings in it: for
 * the people who operate the store.
 */
export type DatabaseReport =
  | {
      readonly database: "sqlite";
      /** The real path of the file; null for a database in memory. */
      readonly file: string | null;
      readonly schemaVersion: number;
      readonly knownVersion: number;
    }
  | { readonly database: "postgres"; readonly server: ServerReport };

/** What a PostgreSQL server says about itself, as far as the role may see it. Nothing is created or changed. */
export type ServerReport = {
  readonly version: string;
  /** 180004 for 18.4. */
  readonly versionNumber: number;
  readonly role: string;
  readonly schema: string;
  /** The schema of the tables: 0 if there are none, null if the role may not see it. */
  readonly schemaVersion: number | null;
  readonly knownVersion: number;
  readonly isReplica: boolean;
  /** Another program is between this process and the server, and shares its sessions. */
  readonly isPooled: boolean;
  /** Settings as a new session has them: `fsync`, `synchronous_commit`, … */
  readonly settings: Readonly<Record<string, string>>;
  readonly replicas: number;
  readonly sessions: { readonly used: number; readonly most: number; readonly hidden: number };
  /** The oldest transaction that is open in a session that the role may see, in seconds. */
  readonly oldestTransactionSeconds: number;
  readonly preparedTransactions: number;
  readonly unusedSlots: number;
  /** The server's clock minus that of this process, give or take half of the round trip. */
  readonly clockOffMs: number;
  readonly roundTripMs: number;
  /** What the role may not do with the tables: `INSERT on events`. */
  readonly missingRights: readonly string[];
  readonly tables: readonly TableReport[];
  readonly jobs: JobsReport;
};

/** A table: its size, and how many of its rows are alive, dead, and written in place. */
export type TableReport = {
  readonly table: string;
  readonly bytes: number;
  readonly live: number;
  readonly dead: number;
  readonly updates: number;
  readonly hotUpdates: number;
};

/** What there is of the jobs that wake workers. */
export type JobsReport = {
  readonly schema: string;
  /** True if the package graphile-worker is installed beside this Pawl. */
  readonly isInstalled: boolean;
  readonly state: JobsState;
  /** True if this role may create the tables where they are missing. */
  readonly mayCreate: boolean;
  /** The version of the tables, and the number of jobs; null unless they are usable. */
  readonly tables: {
    readonly version: number;
    readonly waiting: number;
    /** Should have come a minute ago or more. */
    readonly overdue: number;
  } | null;
};

/** What there is of the jobs of a store. */
export type JobsState =
  | "missing"
  /** The tables are there, but this role may not use them. */
  | "forbidden"
  | "usable";
