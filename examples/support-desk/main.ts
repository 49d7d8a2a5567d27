/**
 * A support desk: a payment service, an HTTP server and two workers, each in a process of its own, on one SQLite file.
 *
 *   node examples/support-desk/main.ts
 *
 * What to look at: desk.ts is the product, without a word about processes; server.ts and worker.ts run it. Nothing is kept in
 * memory between the steps of a ticket, so each of the processes may be killed at any time: test/examples/support-desk.test.ts
 * does that, and reads the payment service's own log.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compare } from "../demo.ts";
import { ExampleProcess } from "../example-process.ts";
import { PaymentService } from "./payment-service.ts";

type TicketAnswer = {
  readonly status: string;
  readonly answer: string | null;
  readonly waitsFor: readonly string[];
  readonly questions: readonly { readonly waitId: string; readonly question: string }[];
};

const folder = mkdtempSync(join(tmpdir(), "pawl-desk-"));
const DATABASE = `file:${join(folder, "desk.db")}`;
const SERVER = new URL("./server.ts", import.meta.url);
const WORKER = new URL("./worker.ts", import.meta.url);
const server = await ExampleProcess.start(SERVER, { DATABASE, PORT: "0" });
const desk = `http://127.0.0.1:${(JSON.parse(server.firstLine) as { port: number }).port}`;
const payments = await PaymentService.listen(0, { webhook: `${desk}/webhooks/payments`, settleMs: 300 });
const workers = await Promise.all(
  ["1", "2"].map(() => ExampleProcess.start(WORKER, { DATABASE, PAYMENTS: payments.url })),
);

async function post(path: string, body: object): Promise<Response> {
  return fetch(`${desk}${path}`, { method: "POST", body: JSON.stringify(body) });
}

/** Follows a ticket until it has an answer, or a person is asked. */
async function follow(id: string): Promise<TicketAnswer> {
  for (let last = ""; ; await sleep(20)) {
    const ticket = (await (await fetch(`${desk}/tickets/${id}`)).json()) as TicketAnswer;
    const now = [ticket.status, ...ticket.waitsFor].join(", for: ");
    if (now !== last) console.log(`  ${id} is ${now}`);
    last = now;
    if (ticket.questions.length > 0 || ["succeeded", "failed", "cancelled"].includes(ticket.status))
      return ticket;
  }
}

async function send(id: string, cents: number): Promise<void> {
  const ticket = { id, tenant: "acme", customer: "ann", order: `order-${id}`, cents, words: "It is broken." };
  const response = await post("/tickets", ticket);
  console.log(`  POST /tickets ${response.status}: ${(await response.text()).trim()}`);
}

try {
  console.log("Ann asks for 40.00. Nobody has to allow that.");
  await send("small", 4_000);
  const small = await follow("small");
  console.log(`  Ann reads: ${small.answer}`);

  console.log("\nAnn asks for 250.00, and sends it twice.");
  await send("large", 25_000);
  await send("large", 25_000);
  const [question] = (await follow("large")).questions;
  console.log(`  asked: ${question?.question}`);
  console.log(
    "\nMeanwhile a worker is killed: nothing holds the run, so nothing happens to it. Bea allows the refund.",
  );
  await workers[0]?.kill();
  const approved = await post(`/waits/${encodeURIComponent(question?.waitId ?? "")}/approve`, { by: "bea" });
  console.log(`  POST /waits/…/approve ${approved.status}`);
  const large = await follow("large");
  console.log(`  Ann reads: ${large.answer}`);
  await payments.delivered();
  const webhooks = payments.log.filter((entry) => entry.did === "webhook" && entry.status === 200);
  compare(
    [
      ["refunds, by the payment service's log", 2, payments.refunds.length],
      ["webhooks accepted", 2, webhooks.length],
      ["tickets answered", 2, [small, large].filter(({ status }) => status === "succeeded").length],
    ],
    "Two tickets, two refunds, two answers.",
  );
} finally {
  await Promise.all([server, ...workers].map((each) => each.stop()));
  await payments.close();
  rmSync(folder, { recursive: true, force: true });
}
