import { setTimeout as sleep } from "node:timers/promises";
import type { SqlScript } from "../script.ts";
import { COMMIT, RECONNECT, type ServerSession } from "./server-session.ts";

const MOST = 3;

/** A few sessions for reading. Each script sees one state of the database. */
export class Readers {
  readonly #connect: () => Promise<ServerSession>;
  readonly #isConnectionLost: (error: unknown) => boolean;
  readonly #idle: ServerSession[] = [];
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #isEnded = false;

  constructor(connect: () => Promise<ServerSession>, isConnectionLost: (error: unknown) => boolean) {
    this.#connect = connect;
    this.#isConnectionLost = isConnectionLost;
  }

  /** A script that was cut off is run again: it has changed nothing. A server that restarts is waited for. */
  async run<T>(script: () => SqlScript<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#runOnce(script());
      } catch (error) {
        if (!this.#isConnectionLost(error) || tries >= RECONNECT.tries || this.#isEnded) throw error;
        if (tries > 1) await sleep(RECONNECT.everyMs);
      }
    }
  }

  async #runOnce<T>(script: SqlScript<T>): Promise<T> {
    const session = await this.#take();
    try {
      return await inSnapshot(session, script);
    } finally {
      this.#give(session);
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all(this.#idle.splice(0).map((session) => session.end()));
  }

  async #take(): Promise<ServerSession> {
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
          // Another one may try: no session may be left to wait for.
          this.#waiting.shift()?.();
          throw error;
        }
      } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #give(session: ServerSession): void {
    if (this.#isEnded) void session.end();
    else this.#idle.push(session);
    this.#waiting.shift()?.();
  }
}

async function inSnapshot<T>(session: ServerSession, script: SqlScript<T>): Promise<T> {
  let before = session.beginSnapshot;
  try {
    let step = script.next();
    while (step.done !== true) {
      const answers = await session.exchange([...before, step.value]);
      before = [];
      step = script.next(answers.at(-1) ?? []);
    }
    return step.value;
  } finally {
    // Nobody waits for it but the next script in this session.
    if (before.length === 0) session.exchange([COMMIT]).catch(() => undefined);
  }
}
