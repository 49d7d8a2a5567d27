import type { SqlScript } from "../sql/script.ts";
import type { Connection } from "./connection.ts";
import { isConnectionLost } from "./postgres-error.ts";

const MOST = 3;

/** A few connections for reading. Each script sees one state of the database. */
export class Readers {
  readonly #connect: () => Promise<Connection>;
  readonly #idle: Connection[] = [];
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #isEnded = false;

  constructor(connect: () => Promise<Connection>) {
    this.#connect = connect;
  }

  /** A script that was cut off is run again: it has changed nothing. */
  async run<T>(script: () => SqlScript<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const connection = await this.#take();
      try {
        return await inSnapshot(connection, script());
      } catch (error) {
        if (!isConnectionLost(error) || tries >= 3 || this.#isEnded) throw error;
      } finally {
        this.#give(connection);
      }
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.end()));
  }

  async #take(): Promise<Connection> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle !== undefined && !idle.isLost) return idle;
      if (idle !== undefined) this.#open -= 1;
      else if (this.#open < MOST) {
        this.#open += 1;
        try {
          return await this.#connect();
        } catch (error) {
          this.#open -= 1;
          throw error;
        }
      } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #give(connection: Connection): void {
    if (this.#isEnded) void connection.end();
    else this.#idle.push(connection);
    this.#waiting.shift()?.();
  }
}

async function inSnapshot<T>(connection: Connection, script: SqlScript<T>): Promise<T> {
  void connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    let step = script.next();
    while (step.done !== true) step = script.next(await connection.rows(step.value.text, step.value.values));
    return step.value;
  } finally {
    void connection.send("COMMIT");
  }
}
