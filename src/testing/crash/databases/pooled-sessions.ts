import { type PgClient, type PgClientOptions, realNetwork } from "../../../store/postgres-wire/pg-driver.ts";

type OnBroken = (error?: Error) => void;

/** What the server does at the end of a session. */
const ENDING = "ROLLBACK; SELECT pg_advisory_unlock_all(); DEALLOCATE ALL";

/**
 * The sessions that the simulated processes of an exploration have on the server, one process after the other. A new
 * session would have to be started and to read the catalogue: with new ones a schedule took twice as long.
 */
export class PooledSessions {
  readonly #idle: PgClient[] = [];
  /** All that are open, with what is called when one breaks. */
  readonly #open = new Map<PgClient, OnBroken>();

  async take(options: PgClientOptions, onBroken: OnBroken): Promise<PgClient> {
    const client = this.#idle.pop() ?? (await this.#connect(options));
    this.#open.set(client, onBroken);
    return client;
  }

  /** The transaction is rolled back and the locks are free, as at the end of a session. */
  async give(client: PgClient): Promise<void> {
    if (!this.#open.has(client)) return;
    this.#open.set(client, () => undefined);
    try {
      await client.query({ text: ENDING });
      this.#idle.push(client);
    } catch {
      // It is broken, and so it has ended too.
      client.connection.stream.destroy();
    }
  }

  /** Ends all of them. */
  async end(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#open.keys()].map((client) => client.end().catch(() => undefined)));
  }

  async #connect(options: PgClientOptions): Promise<PgClient> {
    const client = await realNetwork.connect(options);
    const onBroken = (error?: Error) => {
      const told = this.#open.get(client);
      this.#open.delete(client);
      told?.(error);
    };
    client.on("error", onBroken);
    client.on("end", onBroken);
    return client;
  }
}
