import type {
  PgClient,
  PgClientOptions,
  PgModule,
  PgQuery,
  PgResult,
} from "../../../store/postgres/pg-driver.ts";
import type { StoreActivity } from "./crash-database.ts";
import type { Delivery } from "./delivery.ts";
import type { ServerSession, ServerSessions } from "./server-sessions.ts";

/** What happens to the next commit that is sent. */
type CommitFault =
  /** The connection breaks before the commit arrives. */
  | "lost"
  /** It is done, and the connection breaks before its answer arrives. */
  | "answer-lost";

/**
 * The connections of one process to a real server. They count as activity while an answer is missing. The network can
 * fail, and so can the server behind it.
 */
export class SimulatedNetwork {
  readonly #sessions: ServerSessions;
  readonly #activity: StoreActivity;
  readonly #delivery: Delivery;
  readonly #open = new Set<SimulatedClient>();
  #nextCommit: CommitFault | null = null;
  #isServerFull = false;
  #isCut = false;

  constructor(sessions: ServerSessions, delivery: Delivery, activity: StoreActivity) {
    this.#sessions = sessions;
    this.#delivery = delivery;
    this.#activity = activity;
  }

  /** The package `pg`, with connections through this network. */
  async load(): Promise<PgModule> {
    const { types } = await this.#sessions.load();
    return { Client: clientsOf(this), types };
  }

  /** The next commit is cut off, and after it the server has no room for another one. */
  fail(commit: CommitFault): void {
    this.#nextCommit = commit;
    this.#isServerFull = true;
  }

  recover(): void {
    this.#nextCommit = null;
    this.#isServerFull = false;
  }

  /** Ends all sessions, as the system does for a killed process. */
  async cut(): Promise<void> {
    this.#isCut = true;
    await Promise.all([...this.#open].map((client) => client.end()));
  }

  async open(client: SimulatedClient, options: PgClientOptions): Promise<ServerSession> {
    // What is left of it must not reach the sessions of others.
    if (this.#isCut) throw new Error("The process is dead.");
    const session = await this.#sessions.take(options);
    this.#open.add(client);
    return session;
  }

  closed(client: SimulatedClient): void {
    this.#open.delete(client);
    this.endTransaction(client);
  }

  beginTransaction(client: SimulatedClient): Promise<void> {
    return this.#delivery.begin(client);
  }

  endTransaction(client: SimulatedClient): void {
    this.#delivery.end(client);
  }

  /** Sends a commit of a process, unless something fails. */
  async commit({ client, destroy }: ServerSession, query: PgQuery): Promise<PgResult> {
    const fault = this.#nextCommit;
    this.#nextCommit = null;
    if (fault === null && !this.#isServerFull) return client.query(query);
    if (fault === null) {
      await client.query({ text: "ROLLBACK" });
      throw Object.assign(new Error("could not extend file: No space left on device"), { code: "53100" });
    }
    if (fault === "answer-lost") await client.query(query);
    destroy();
    throw Object.assign(new Error("The simulated network broke."), { code: "ECONNRESET" });
  }

  /** Asks the server, once `begun`. */
  async ask<T>(begun: Promise<void> | null, work: () => Promise<T>): Promise<T> {
    this.#activity.inFlight += 1;
    try {
      // Not even a turn later than necessary: statements are sent in their order.
      if (begun !== null) await begun;
      const answer = this.#delivery.inOrder(work);
      this.#activity.lastAnswer = Promise.allSettled([answer]);
      return await answer;
    } finally {
      this.#activity.inFlight -= 1;
    }
  }
}

function clientsOf(network: SimulatedNetwork): PgModule["Client"] {
  return class extends SimulatedClient {
    constructor(options: PgClientOptions) {
      super(network, options);
    }
  };
}

/** A connection through a simulated network. */
class SimulatedClient implements PgClient {
  readonly #network: SimulatedNetwork;
  readonly #options: PgClientOptions;
  readonly #listeners: ((error?: Error) => void)[] = [];
  #session: ServerSession | null = null;
  /** Resolves when the transaction may begin; null outside of one that writes. */
  #begun: Promise<void> | null = null;
  #isReading = false;
  #isHeld = false;

  constructor(network: SimulatedNetwork, options: PgClientOptions) {
    this.#network = network;
    this.#options = options;
  }

  get processID(): number | null {
    return this.#session?.client.processID ?? null;
  }

  get connection(): PgClient["connection"] {
    return this.#required.client.connection;
  }

  connect(): Promise<unknown> {
    return this.#network.ask(null, async () => {
      this.#session = await this.#network.open(this, this.#options);
      this.#session.onBroken((error) => {
        this.#network.closed(this);
        for (const listener of this.#listeners) listener(error);
      });
    });
  }

  query(query: PgQuery): Promise<PgResult> {
    const { text } = query;
    if (text.startsWith("BEGIN")) this.#isReading = text.includes("READ ONLY");
    if (text.startsWith("BEGIN") && !this.#isReading) this.#begun = this.#network.beginTransaction(this);
    const isCommit = text === "COMMIT" && !this.#isReading;
    const answer = this.#network.ask(this.#begun, async () => {
      const session = this.#required;
      this.#sendWithOthers(session);
      return isCommit ? this.#network.commit(session, query) : session.client.query(query);
    });
    if (isCommit || text === "ROLLBACK") this.#endTransaction(answer);
    return answer;
  }

  #endTransaction(answer: Promise<unknown>): void {
    this.#begun = null;
    const end = () => this.#network.endTransaction(this);
    answer.then(end, end);
  }

  end(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    this.#network.closed(this);
    return this.#network.ask(null, async () => session?.end());
  }

  on(_: "error" | "end", listener: (error?: Error) => void): unknown {
    return this.#listeners.push(listener);
  }

  /** What is sent in one tick leaves together: a third of the time went into small writes. */
  #sendWithOthers({ client }: ServerSession): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => {
      this.#isHeld = false;
      stream.uncork();
    });
  }

  get #required(): ServerSession {
    if (this.#session !== null) return this.#session;
    throw Object.assign(new Error("The connection was closed."), { code: "ECONNRESET" });
  }
}
