import type { Answers, Network, PgClient, PgClientOptions } from "../../../store/postgres-wire/pg-driver.ts";
import type { Statement } from "../../../store/sql/planned/server-session.ts";
import type { LiveCondition, StoreActivity } from "./crash-database.ts";
import type { Delivery } from "./delivery.ts";
import type { PooledSessions } from "./pooled-sessions.ts";

/** What happens to the next commit that is sent. */
type CommitFault =
  /** The connection breaks before the commit arrives. */
  | "lost"
  /** It is done, and the connection breaks before its answer arrives. */
  | "answer-lost";

/** A connection of the process. */
type OpenConnection = {
  readonly session: PgClient;
  /** Resolves when its transaction may begin; null outside of one that writes. */
  begun: Promise<void> | null;
  /** The transaction only reads, and others need not wait for it. */
  isReading: boolean;
  /** The transaction has changed something. */
  hasWritten: boolean;
  /** The transaction is about live parts. */
  isLive: boolean;
};

const IS_ABOUT_LIVE = /\blive_(parts|viewers)\b/;
const IS_WRITE = /^(INSERT|UPDATE|DELETE|WITH changed)\b/;

/**
 * The connections of one process to a real server. They count as activity while an answer is missing. The network can
 * fail, and so can the server behind it.
 */
export class SimulatedNetwork implements Network {
  readonly #sessions: PooledSessions;
  readonly #delivery: Delivery;
  readonly #activity: StoreActivity;
  readonly #live: LiveCondition;
  readonly #open = new Map<PgClient, OpenConnection>();
  #nextCommit: CommitFault | null = null;
  #isServerFull = false;
  #isCut = false;

  constructor(
    sessions: PooledSessions,
    delivery: Delivery,
    activity: StoreActivity,
    live: LiveCondition = "works",
  ) {
    this.#live = live;
    this.#sessions = sessions;
    this.#delivery = delivery;
    this.#activity = activity;
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
    await Promise.all([...this.#open.keys()].map((client) => client.end()));
  }

  connect(options: PgClientOptions): Promise<PgClient> {
    return this.#ask(null, async () => {
      // What is left of a dead process must not reach the sessions of others.
      if (this.#isCut) throw new Error("The process is dead.");
      const listeners: ((error?: Error) => void)[] = [];
      const session = await this.#sessions.take(options, (error) => {
        this.#closed(client);
        for (const listener of listeners) listener(error);
      });
      const client: PgClient = {
        connect: () => Promise.resolve(),
        query: session.query.bind(session),
        end: () => this.#end(client),
        on: (_, listener) => listeners.push(listener),
        processID: session.processID,
        connection: session.connection,
      };
      this.#open.set(client, { session, begun: null, isReading: false, hasWritten: false, isLive: false });
      return client;
    });
  }

  exchange(
    client: PgClient,
    statements: readonly Statement[],
    send: () => Promise<Answers>,
  ): Promise<Answers> {
    const connection = this.#open.get(client);
    if (connection === undefined) return Promise.reject(broken());
    const texts = statements.map(({ text }) => text);
    // All statements of one transaction come together, so nothing of it is left open.
    if (this.#live === "fails" && texts.some((text) => IS_ABOUT_LIVE.test(text)))
      return Promise.reject(new Error("There is no table of live parts."));
    const begin = texts.find((text) => text.startsWith("BEGIN"));
    if (begin !== undefined) {
      connection.isReading = begin.includes("READ ONLY");
      connection.hasWritten = false;
      connection.isLive = false;
    }
    connection.isLive ||= texts.some((text) => IS_ABOUT_LIVE.test(text));
    connection.hasWritten ||= texts.some((text) => IS_WRITE.test(text));
    if (begin !== undefined && !connection.isReading) connection.begun = this.#delivery.begin(connection);
    const isCommit = texts.includes("COMMIT") && !connection.isReading;
    const answers = this.#ask(connection.begun, () => {
      // It may have ended while this waited, and another process may have the session by now.
      if (this.#open.get(client) !== connection) return Promise.reject(broken());
      return isCommit && connection.hasWritten ? this.#commit(connection, send) : send();
    });
    if (isCommit || texts.includes("ROLLBACK")) {
      connection.begun = null;
      const end = () => this.#delivery.end(connection);
      answers.then(end, end);
    }
    return answers;
  }

  /** Sends a commit of a process, unless something fails. */
  async #commit({ session, isLive }: OpenConnection, send: () => Promise<Answers>): Promise<Answers> {
    // Live parts come whenever they do: the fault is for a commit of the run.
    const fault = isLive ? null : this.#nextCommit;
    if (!isLive) this.#nextCommit = null;
    if (fault === null && this.#isServerFull)
      throw Object.assign(new Error("could not extend file: No space left on device"), { code: "53100" });
    if (fault === null) return send();
    if (fault === "answer-lost") await send();
    session.connection.stream.destroy();
    throw broken();
  }

  #end(client: PgClient): Promise<void> {
    const connection = this.#open.get(client);
    if (connection === undefined) return Promise.resolve();
    this.#closed(client);
    return this.#ask(null, () => this.#sessions.give(connection.session));
  }

  #closed(client: PgClient): void {
    const connection = this.#open.get(client);
    this.#open.delete(client);
    if (connection !== undefined) this.#delivery.end(connection);
  }

  /** Asks the server, once the transaction has begun. */
  async #ask<T>(begun: Promise<void> | null, ask: () => Promise<T>): Promise<T> {
    this.#activity.inFlight += 1;
    try {
      if (begun !== null) await begun;
      const answer = this.#delivery.inOrder(ask);
      this.#activity.lastAnswer = Promise.allSettled([answer]);
      return await answer;
    } finally {
      this.#activity.inFlight -= 1;
    }
  }
}

function broken(): Error {
  return Object.assign(new Error("The simulated network broke."), { code: "ECONNRESET" });
}
