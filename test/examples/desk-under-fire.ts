import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { ExampleProcess } from "../../examples/example-process.ts";
import { PaymentService } from "../../examples/support-desk/payment-service.ts";
import { pick, seededRandom } from "../../src/testing/crash/seeded-random.ts";
import { freePort } from "../store/postgres/postgres-server.ts";

/** A ticket that a customer has sent, and how it has to end. */
export type SentTicket = { readonly id: string; readonly ends: "refunded" | "denied" | "free" };

/** Customers who wait for an answer, at the most: on a slow machine more of them would only wait in line for longer. */
const MOST_WAITING = 60;

type Load = { readonly forMs: number; readonly ticketEveryMs: number; readonly killEveryMs: number };

const CUSTOMERS = ["ann", "bob", "cleo", "dan", "eve"];
const DESK = new URL("../../examples/support-desk/", import.meta.url);
export const DESK_SERVER = new URL("server.ts", DESK);
const DESK_WORKER = new URL("worker.ts", DESK);
const SERVER = 0;
const WORKERS = [1, 2];
const ENDED = ["succeeded", "failed", "cancelled"];

type TicketAnswer = {
  readonly status: string;
  readonly questions: readonly { readonly waitId: string }[];
};

/** The desk in its processes, with customers, a person who decides, and kills. The same seed has the same plan. */
export class DeskUnderFire {
  readonly tickets: SentTicket[] = [];
  readonly kills = { server: 0, worker: 0 };
  readonly payments: PaymentService;
  /** Requests of clients that got no answer, since the server was killed. */
  lostAnswers = 0;
  readonly #url: string;
  readonly #random: () => number;
  readonly #when: () => number;
  readonly #start: readonly (() => Promise<ExampleProcess>)[];
  readonly #processes: ExampleProcess[];
  readonly #unfinished = new Set<Promise<void>>();
  #waiting = 0;

  private constructor(
    url: string,
    payments: PaymentService,
    seed: number,
    start: readonly (() => Promise<ExampleProcess>)[],
    processes: ExampleProcess[],
  ) {
    this.#url = url;
    this.payments = payments;
    this.#random = seededRandom(seed);
    // Of its own: how often tickets arrive depends on the machine.
    this.#when = seededRandom(seed + 1);
    this.#start = start;
    this.#processes = processes;
  }

  static async start(DATABASE: string, seed: number): Promise<DeskUnderFire> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const chance = seededRandom(seed + 2);
    const payments = await PaymentService.listen(0, {
      webhook: `${url}/webhooks/payments`,
      settleMs: 60,
      // A worker that is killed meanwhile cannot know that the money has moved.
      answerMs: () => chance() * 500,
      copies: () => 1 + Math.floor(chance() * 3),
    });
    const worker = () => ExampleProcess.start(DESK_WORKER, { DATABASE, PAYMENTS: payments.url });
    const start = [() => ExampleProcess.start(DESK_SERVER, { DATABASE, PORT: String(port) }), worker, worker];
    const processes = await Promise.all(start.map((each) => each()));
    const desk = new DeskUnderFire(url, payments, seed, start, processes);
    onTestFinished(async () => {
      await Promise.all(desk.#processes.map((each) => each.kill()));
      await payments.close();
    });
    return desk;
  }

  /** Tickets arrive, and processes are killed and started again. */
  async fire({ forMs, ticketEveryMs, killEveryMs }: Load): Promise<void> {
    const until = Date.now() + forMs;
    const arrive = async () => {
      for (; Date.now() < until; await sleep(ticketEveryMs)) if (this.#waiting < MOST_WAITING) this.#send();
    };
    const kill = async () => {
      while (Date.now() < until) {
        await sleep(killEveryMs * (0.5 + this.#when()));
        // Each second one is the server: both kinds are killed, however short the load is.
        const isServer = this.kills.server < this.kills.worker;
        await this.#kill(isServer ? SERVER : pick(this.#when, WORKERS));
      }
    };
    await Promise.all([arrive(), kill()]);
  }

  /** Every ticket has ended, and every webhook was accepted. */
  async finish(): Promise<void> {
    await Promise.all(this.#unfinished);
    await this.payments.delivered();
    await Promise.all(this.#processes.map((each) => each.stop()));
  }

  async #kill(index: number): Promise<void> {
    await this.#processes[index]?.kill();
    this.kills[index === SERVER ? "server" : "worker"]++;
    const start = this.#start[index];
    if (start !== undefined) this.#processes[index] = await start();
  }

  #send(): void {
    const id = `t-${this.tickets.length + 1}`;
    const kind = pick(this.#random, [
      "small",
      "small",
      "small",
      "large",
      "large",
      "refused",
      "free",
    ] as const);
    const ends = kind === "refused" ? "denied" : kind === "free" ? "free" : "refunded";
    const isLarge = kind === "large" || kind === "refused";
    const ticket = {
      id,
      tenant: "acme",
      customer: pick(this.#random, CUSTOMERS),
      order: kind === "free" ? `free-${id}` : `order-${id}`,
      cents: isLarge ? 25_000 : 4_000,
      words: "It is broken.",
    };
    this.tickets.push({ id, ends });
    const copies = this.#random() < 0.3 ? 2 : 1;
    const sent = Promise.all(Array.from({ length: copies }, () => this.#post("/tickets", ticket, [202])));
    this.#waiting++;
    const followed = sent
      .then(() => this.#follow(id, ends === "denied" ? "deny" : "approve"))
      .finally(() => this.#waiting--);
    this.#unfinished.add(followed);
    followed.catch(() => undefined); // `finish` reports it.
  }

  /** Until the ticket has ended; answers the question about it, if there is one. */
  async #follow(id: string, verb: "approve" | "deny"): Promise<void> {
    let last: TicketAnswer | null = null;
    for (const until = Date.now() + 90_000; Date.now() < until; await sleep(150)) {
      const ticket = (await this.#request("GET", `/tickets/${id}`, null))?.body as TicketAnswer | undefined;
      if (ticket === undefined) continue;
      last = ticket;
      if (ENDED.includes(ticket.status)) return;
      // 409: an earlier attempt has answered it, and its response was lost.
      for (const { waitId } of ticket.questions)
        await this.#post(
          `/waits/${encodeURIComponent(waitId)}/${verb}`,
          { by: "bea", why: "Not again." },
          [200, 409],
        );
    }
    throw new Error(`Ticket ${id} has not ended within 90 seconds: ${JSON.stringify(last)}`);
  }

  /** Tries until the server has answered with one of these. */
  async #post(path: string, body: object, expected: readonly number[]): Promise<void> {
    for (let tries = 1; tries < 300; tries++) {
      const answer = await this.#request("POST", path, JSON.stringify(body));
      if (answer !== null && expected.includes(answer.status)) return;
      if (answer !== null) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      await sleep(100);
    }
    throw new Error(`POST ${path}: the server has not answered.`);
  }

  /** Null if the server did not answer, or could not. */
  async #request(
    method: string,
    path: string,
    body: string | null,
  ): Promise<{ readonly status: number; readonly body: unknown } | null> {
    try {
      const response = await fetch(`${this.#url}${path}`, { method, body });
      return { status: response.status, body: await response.json() };
    } catch {
      this.lostAnswers++;
      return null;
    }
  }
}
