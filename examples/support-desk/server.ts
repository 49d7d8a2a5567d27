/**
 * The desk's HTTP server. It executes nothing: it enqueues, reads, and delivers answers and messages, so it may die at any time.
 *
 *   POST /tickets               202 with the run id; the same ticket again is the same run
 *   GET  /tickets/:id           the status, the answer, and the questions that are open
 *   POST /waits/:id/approve     { "by": "ann" }
 *   POST /waits/:id/deny        { "by": "ann", "why": "…" }
 *   POST /webhooks/payments     { "id": "evt-1", "type": "refund.settled", "ticket": "t-1", "cents": 4000 }
 */
import { createServer, type IncomingMessage } from "node:http";
import { z } from "zod";
import {
  AlreadySettledError,
  ConfigurationError,
  MessageRefusedError,
  openStore,
  ResumeError,
  Runner,
  type RunRecord,
  StoreUnavailableError,
  WaitNotFoundError,
} from "../../src/index.ts";
import { addressOf, refundPipeline, Ticket } from "./desk.ts";

const { DATABASE = "file:desk.db", PORT = "8080" } = process.env;
const store = await openStore(DATABASE);
const runner = new Runner(refundPipeline("http://unused.invalid"), { store, identity: "required" });

type Answer = { readonly status: number; readonly body: object };

const MOST_BYTES = 100_000;

/** An error that the client can do something about. */
class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function postTicket(body: unknown): Promise<Answer> {
  const ticket = Ticket.parse(body);
  const { id, tenant, customer } = ticket;
  const { runId, existed } = await runner.enqueue(ticket, {
    key: id,
    address: addressOf(id),
    metadata: { tenant, customer, ticket: id },
    context: { customer },
    concurrencyKey: customer,
    startedBy: { by: customer },
  });
  return { status: 202, body: { runId, existed } };
}

async function runOf(ticket: string): Promise<RunRecord> {
  const [run] = await store.listRuns({ pipeline: "refund", metadata: { ticket }, limit: 1 });
  if (run === undefined) throw new HttpError(404, `There is no ticket ${ticket}.`);
  return run;
}

async function getTicket(ticket: string): Promise<Answer> {
  const { runId, status, output, error } = await runOf(ticket);
  const waits = (await store.listWaits(runId)).filter((wait) => wait.status === "open");
  const questions = waits.filter(({ kind }) => kind === "approval");
  return {
    status: 200,
    body: {
      status,
      answer: output,
      error,
      waitsFor: waits.map(({ kind }) => kind),
      questions: questions.map(({ waitId, question }) => ({ waitId, question })),
    },
  };
}

const Approval = z.object({ by: z.string().min(1) });
const Denial = Approval.extend({ why: z.string().min(1) });

/** Who answers is taken on trust here. A product knows it from a session: `{ authenticated: { name, by: "oidc", id } }`. */
async function postAnswer(waitId: string, what: string, body: unknown): Promise<Answer> {
  if (what === "approve") await store.approve(waitId, Approval.parse(body));
  else {
    const { by, why } = Denial.parse(body);
    await store.deny(waitId, why, { by });
  }
  return { status: 200, body: { waitId } };
}

const Webhook = z.object({
  id: z.string().min(1).max(200),
  type: z.literal("refund.settled"),
  ticket: z.string(),
  cents: z.number(),
});

/**
 * Durable when it answers 200. Its id is the provider's own, so a redelivery changes nothing. 404 and 409 make the provider
 * try again: the ticket is not there (yet), or its run has ended without this message.
 */
async function postWebhook(body: unknown): Promise<Answer> {
  const { id, type, ticket, cents } = Webhook.parse(body);
  const message = { event: type, data: { ticket, cents } };
  const send = (to: Parameters<typeof runner.send>[0]) =>
    runner.send(to, message, { id, by: "payment service" });
  const receipt = await send({ address: addressOf(ticket) }).catch(async (error: unknown) => {
    if (!MessageRefusedError.isInstance(error) || error.details.reason !== "no_address") throw error;
    // A run that has ended has no address. It still knows which messages it has had.
    return send((await runOf(ticket)).runId);
  });
  const { status, duplicate, reason } = receipt;
  return { status: status === "returned" ? 409 : 200, body: { status, duplicate, reason } };
}

async function route(request: IncomingMessage): Promise<Answer> {
  const [, what = "", id = "", more = "", ...rest] = pathOf(request);
  const is = (...parts: readonly string[]) => parts.includes([what, more].join("/")) && rest.length === 0;
  if (is("tickets/") && id !== "") return on(request, "GET", () => getTicket(id));
  if (is("tickets/")) return on(request, "POST", async () => postTicket(await bodyOf(request)));
  if (is("waits/approve", "waits/deny"))
    return on(request, "POST", async () => postAnswer(id, more, await bodyOf(request)));
  if (is("webhooks/") && id === "payments")
    return on(request, "POST", async () => postWebhook(await bodyOf(request)));
  throw new HttpError(404, "There is nothing here.");
}

function pathOf({ url = "/" }: IncomingMessage): readonly string[] {
  try {
    return (url.split("?")[0] ?? "").split("/").map(decodeURIComponent);
  } catch {
    throw new HttpError(400, "The address cannot be decoded.");
  }
}

function on(request: IncomingMessage, method: string, answer: () => Promise<Answer>): Promise<Answer> {
  if (request.method === method) return answer();
  throw new HttpError(405, `Use ${method}.`);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Read to its end all the same: a client that is still sending would not see the answer.
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  }
  if (bytes > MOST_BYTES) throw new HttpError(413, `Send at most ${MOST_BYTES} bytes.`);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new HttpError(400, "The body is not JSON.");
  }
}

function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  if (error instanceof z.ZodError || ConfigurationError.isInstance(error)) return 400;
  if (WaitNotFoundError.isInstance(error)) return 404;
  // It was answered before, the ticket has other contents, or the message's id has.
  if (AlreadySettledError.isInstance(error) || ResumeError.isInstance(error)) return 409;
  if (MessageRefusedError.isInstance(error)) return 409;
  return StoreUnavailableError.isInstance(error) ? 503 : 500;
}

function failure(error: unknown): Answer {
  const status = statusOf(error);
  if (status === 500) console.error(error);
  const said = error instanceof z.ZodError ? z.prettifyError(error) : String((error as Error).message);
  return { status, body: { error: status === 500 ? "Something went wrong here." : said } };
}

const server = createServer((request, response) => {
  void route(request)
    .catch(failure)
    .then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
    });
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(JSON.stringify(server.address())));

process.once("SIGTERM", () => {
  server.close();
  void store.close().then(() => process.exit(0));
});
