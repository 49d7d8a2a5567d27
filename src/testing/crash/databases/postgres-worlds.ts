import { randomBytes } from "node:crypto";
import { StoreUnavailableError } from "../../../core/errors.ts";
import { PostgresStore, type PostgresStoreOptions } from "../../../store/postgres/postgres-store.ts";
import { loadPg, type PgClient } from "../../../store/postgres-wire/pg-driver.ts";
import type { Store } from "../../../store/store.ts";
import type {
  CrashDatabase,
  LiveCondition,
  MachineClocks,
  ProcessClock,
  ProcessStore,
  StoreActivity,
  WorldAddress,
  WorldDatabase,
} from "./crash-database.ts";
import { Delivery } from "./delivery.ts";
import { PooledSessions } from "./pooled-sessions.ts";
import { SimulatedNetwork } from "./simulated-network.ts";

/** The beginning of the names of all schemas that the explorer makes. */
const SCHEMA_PREFIX = "pawl_explorer_";

/**
 * Schemas of the explorer's own in a database. Each is made once, by the migrations, and emptied after each world: that
 * takes 6 ms, and making one 60.
 */
export async function postgresWorlds(url: string): Promise<CrashDatabase> {
  const administration = await Administration.connect(url);
  const sessions = new PooledSessions();
  const prefix = `${SCHEMA_PREFIX}${randomBytes(6).toString("hex")}`;
  const schemas: string[] = [];
  const free: string[] = [];
  return {
    kind: "postgres",
    newWorld: async () => {
      let schema = free.pop();
      if (schema === undefined) {
        schema = `${prefix}_${schemas.length + 1}`;
        schemas.push(schema);
        await (await PostgresStore.open(url, optionsFor(schema))).close();
      }
      const own = schema;
      return new PostgresWorld(url, own, sessions, async () => {
        await administration.empty(own);
        free.push(own);
      });
    },
    remove: async () => {
      try {
        await sessions.end();
        for (const schema of schemas) await administration.drop(schema);
      } finally {
        await administration.end();
      }
    },
  };
}

function optionsFor(schema: string): PostgresStoreOptions {
  // No crash here is one of the server, and nothing here is secret.
  return {
    schema,
    acceptLostCommits: true,
    redactionKey: "00".repeat(32),
    // The explorer decides what is sent, and when.
    readySignals: false,
    dispatch: "signals",
  };
}

const MOST_READS = 5;

/** A schema of one world. */
export class PostgresWorld implements WorldDatabase {
  readonly kind = "postgres";
  readonly address: WorldAddress;
  readonly #url: string;
  readonly #schema: string;
  readonly #sessions: PooledSessions;
  readonly #delivery = new Delivery();
  readonly #onRemove: () => Promise<void>;

  constructor(url: string, schema: string, sessions: PooledSessions, onRemove: () => Promise<void>) {
    this.#url = url;
    this.#schema = schema;
    this.#sessions = sessions;
    this.#onRemove = onRemove;
    this.address = { kind: "postgres", url, schema };
  }

  observe(clocks: MachineClocks): Promise<Store> {
    return this.#open(
      clocks,
      new SimulatedNetwork(this.#sessions, this.#delivery, { inFlight: 0, lastAnswer: null }),
    );
  }

  async open(
    clocks: MachineClocks & ProcessClock,
    activity: StoreActivity,
    live: LiveCondition = "works",
  ): Promise<ProcessStore> {
    const network = new SimulatedNetwork(this.#sessions, this.#delivery, activity, live);
    const store = await this.#open(clocks, network);
    return {
      store,
      beforeWrite: () => undefined,
      fail: (phase) => network.fail(phase === "before" ? "lost" : "answer-lost"),
      recover: () => network.recover(),
      vanish: async () => {
        await network.cut();
        await store.vanish();
      },
    };
  }

  async read<T>(work: (store: Store) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#readOnce(work);
      } catch (error) {
        // A busy machine may not accept a connection in time, beside processes that are started and killed.
        if (tries >= MOST_READS || !StoreUnavailableError.isInstance(error)) throw error;
      }
    }
  }

  remove(): Promise<void> {
    return this.#onRemove();
  }

  async #readOnce<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await PostgresStore.open(this.#url, { ...optionsFor(this.#schema), readOnly: true });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  #open(clocks: MachineClocks & Partial<ProcessClock>, network: SimulatedNetwork): Promise<PostgresStore> {
    return PostgresStore.open(this.#url, { ...optionsFor(this.#schema), ...clocks }, network);
  }
}

/** The connection that empties and drops schemas. */
class Administration {
  readonly #client: PgClient;
  readonly #emptying = new Map<string, string>();

  private constructor(client: PgClient) {
    this.#client = client;
  }

  static async connect(url: string): Promise<Administration> {
    const { Client } = await loadPg();
    const client = new Client({ connectionString: url, application_name: "pawl explorer" });
    client.on("error", () => undefined);
    await client.connect();
    return new Administration(client);
  }

  /** Deleting a few rows is five times as fast as TRUNCATE, which makes new files. */
  async empty(schema: string): Promise<void> {
    let text = this.#emptying.get(schema);
    if (text === undefined) {
      const { rows } = await this.#client.query({
        text: "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'",
        values: [schema],
      });
      text = rows.map(({ tablename }) => `DELETE FROM "${schema}"."${String(tablename)}"`).join("; ");
      this.#emptying.set(schema, text);
    }
    await this.#client.query({ text });
  }

  async drop(schema: string): Promise<void> {
    await this.#client.query({ text: `DROP SCHEMA IF EXISTS "${schema}" CASCADE` });
  }

  async end(): Promise<void> {
    await this.#client.end();
  }
}
