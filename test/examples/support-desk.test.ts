// The support desk of the examples, in real processes that are killed: its payment service is the witness.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { ExampleProcess } from "../../examples/example-process.ts";
import { openStore, type Store } from "../../src/index.ts";
import { IS_FULL_TEST } from "../full-test.ts";
import { startPostgres } from "../store/postgres/postgres-server.ts";
import { DESK_SERVER, DeskUnderFire, type SentTicket } from "./desk-under-fire.ts";

const LOAD = IS_FULL_TEST
  ? { forMs: 75_000, ticketEveryMs: 150, killEveryMs: 1_500 }
  : { forMs: 4_000, ticketEveryMs: 120, killEveryMs: 600 };
const SEED = Number(process.env.DESK_SEED ?? 7);
const TIMEOUT = { timeout: LOAD.forMs + 120_000 };

async function check(database: string, context: TestContext, load = LOAD): Promise<void> {
  const desk = await DeskUnderFire.start(database, SEED);
  await desk.fire(load);
  await desk.finish();
  const store = await openStore(database);
  onTestFinished(() => store.close());
  for (const ticket of desk.tickets) await checkTicket(store, ticket);
  const refunded = desk.tickets.filter(({ ends }) => ends === "refunded").map(({ id }) => id);
  expect(desk.payments.refunds.toSorted()).toEqual(refunded.toSorted());
  expect(await store.listOpenWaits()).toEqual([]);
  expect(await store.listAbandoned()).toEqual([]);
  expect((await store.countReady()).filter(({ pipeline }) => pipeline === "refund")).toEqual([]);
  expect(await store.checkIntegrity()).toEqual([]);
  report(desk, context);
}

/** It has its answer, its message was taken once, and its rows are what was written. */
async function checkTicket(store: Store, { id, ends }: SentTicket): Promise<void> {
  const runs = await store.listRuns({ pipeline: "refund", metadata: { ticket: id } });
  expect([id, runs.map(({ status }) => status)]).toEqual([id, ["succeeded"]]);
  for (const { runId, output } of runs) {
    const answers = {
      refunded: /^Your refund re-\d+ is on your account\.$/,
      denied: /A person denied refund: Not again\.$/,
      free: /The order was free\.$/,
    };
    expect([id, output]).toEqual([id, expect.stringMatching(answers[ends])]);
    const messages = (await store.listMessages(runId)).map(({ status }) => status);
    expect([id, messages]).toEqual([id, ends === "refunded" ? ["taken"] : []]);
    expect([id, (await store.verify(runId)).problems]).toEqual([id, []]);
  }
}

/** What happened; and that something did. */
function report({ kills, tickets, payments, lostAnswers }: DeskUnderFire, context: TestContext): void {
  const count = (is: (entry: (typeof payments.log)[number]) => boolean) => payments.log.filter(is).length;
  const accepted = count((entry) => entry.did === "webhook" && entry.status === 200);
  const retried = count((entry) => entry.did === "webhook" && entry.status !== 200);
  const repeated = count(({ did }) => did === "repeated");
  for (const ends of ["refunded", "denied", "free"] as const)
    expect([ends, tickets.some((ticket) => ticket.ends === ends)]).toEqual([ends, true]);
  expect(kills.server).toBeGreaterThan(0);
  expect(kills.worker).toBeGreaterThan(0);
  if (tickets.length > 400) expect(repeated).toBeGreaterThan(0);
  expect(accepted).toBeGreaterThan(payments.refunds.length);
  void context.annotate(
    `seed ${SEED}: ${kills.server} servers and ${kills.worker} workers killed, ${tickets.length} tickets, ${payments.refunds.length} refunds, ${repeated} repeated and dropped by key, ${accepted} webhooks accepted after ${retried} failed attempts, ${lostAnswers} requests of clients without an answer`,
  );
}

describe("a support desk whose server and workers are killed", () => {
  it("on SQLite answers every ticket and refunds each once", TIMEOUT, async (context) => {
    await check(`file:${join(newFolder(), "desk.db")}`, context);
  });

  it.runIf(IS_FULL_TEST)(
    "on PostgreSQL answers every ticket and refunds each once",
    TIMEOUT,
    async (context) => {
      const server = await startPostgres();
      onTestFinished(() => server.stop());
      // Its commits take longer, and a customer's tickets are worked on one at a time: more would only wait in line.
      const load = { ...LOAD, ticketEveryMs: 800 };
      await check(`${server.url}?schema=${server.newSchema()}`, context, load);
    },
  );
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-desk-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const TICKET = { id: "t-1", tenant: "acme", customer: "ann", order: "o-1", cents: 4_000, words: "Broken." };
const WEBHOOK = { id: "evt-1", type: "refund.settled", ticket: "t-1", cents: 4_000 };

const REQUESTS: readonly [method: string, path: string, body: string | object | null, status: number][] = [
  ["POST", "/webhooks/payments", WEBHOOK, 404],
  ["GET", "/tickets/t-1", null, 404],
  ["POST", "/tickets", "{", 400],
  ["POST", "/tickets", { ...TICKET, cents: -1 }, 400],
  ["POST", "/tickets", { ...TICKET, id: "a b" }, 400],
  ["POST", "/tickets", { ...TICKET, words: "x".repeat(200_000) }, 413],
  ["POST", "/tickets", TICKET, 202],
  ["POST", "/tickets", TICKET, 202],
  ["POST", "/tickets", { ...TICKET, cents: 5_000 }, 409],
  ["GET", "/tickets/t-1", null, 200],
  ["GET", "/tickets/%", null, 400],
  ["PUT", "/tickets/t-1", TICKET, 405],
  ["GET", "/tickets", null, 405],
  ["GET", "/tickets/t-1/more/parts", null, 404],
  ["POST", "/waits/none~1/approve", { by: "bea" }, 404],
  ["POST", "/waits/none~1/approve", {}, 400],
  ["POST", "/waits/none~1/deny", { by: "bea" }, 400],
  ["POST", "/waits/none~1/forget", { by: "bea" }, 404],
  ["POST", "/webhooks/payments", { ...WEBHOOK, type: "refund.lost" }, 400],
  ["POST", "/webhooks/payments", WEBHOOK, 200],
  ["POST", "/webhooks/payments", WEBHOOK, 200],
  ["POST", "/webhooks/payments", { ...WEBHOOK, cents: 1 }, 409],
];

it("the server of the desk answers each request with an honest status", TIMEOUT, async () => {
  const server = await ExampleProcess.start(DESK_SERVER, {
    DATABASE: `file:${join(newFolder(), "desk.db")}`,
    PORT: "0",
  });
  onTestFinished(() => server.stop());
  const { port } = JSON.parse(server.firstLine) as { port: number };
  for (const [method, path, given, status] of REQUESTS) {
    const body = typeof given === "string" || given === null ? given : JSON.stringify(given);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, body });
    const text = await response.text();
    expect([method, path, response.status, text]).toEqual([method, path, status, expect.any(String)]);
    expect(text).toMatch(status < 400 ? /^\{/ : /"error":"./);
  }
});
