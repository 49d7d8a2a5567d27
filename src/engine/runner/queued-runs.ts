// What a `Runner` puts into the store for workers: new runs, and messages to runs.

import { randomUUID } from "node:crypto";
import { canonicalHash } from "../../core/canonical-json.ts";
import { ConfigurationError, MessageRefusedError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { filesIn } from "../../core/message.ts";
import { kindOf } from "../../core/naming/option-names.ts";
import type { Person } from "../../core/person.ts";
import { type MessageFile, readUserMessage, readUserText } from "../../core/run/sent-message.ts";
import { assertRunId } from "../../core/step-path.ts";
import { isTextType } from "../../core/usage/said-file.ts";
import type { MessageStatus, NewMessage, QueuedRun, StopOutcome, Store } from "../../store/store.ts";
import { conversationsOf } from "../definition/conversation-step.ts";
import { shapeOf } from "../definition/pipeline/pipeline-shape.ts";
import { assertSameSpec } from "../definition/run-spec-checks.ts";
import { lookNow } from "../run/run-lookers.ts";
import { newContract } from "./new-contract.ts";
import { newRunId } from "./new-run-id.ts";
import { placeOf } from "./place-options.ts";
import {
  type Addressee,
  assertEnqueueOptions,
  assertSendOptions,
  assertStopOptions,
  type EnqueuedRun,
  type EnqueueOptions,
  type MessageReceipt,
  type MessageToRun,
  type SendOptions,
  type StopOptions,
} from "./queue-options.ts";
import { aboutRun, assertSameRun, inputAsJson } from "./run-checks.ts";
import { namedRunId } from "./run-selection.ts";
import { limitOf, type RunnerSetup, starterOf } from "./runner-options.ts";
import { assertNoSecrets } from "./secret-input.ts";

/** Stores a run for a worker. Durable when it resolves; the same id or key again is the same run. */
export async function enqueue(
  setup: RunnerSetup,
  store: Store,
  given: unknown,
  options: EnqueueOptions,
): Promise<EnqueuedRun> {
  assertEnqueueOptions(options);
  const runId = namedRunId(options, setup.root.name, setup.options.identity) ?? newRunId();
  return enqueueUnder(setup, store, runId, given, options);
}

/** The same under an id that was derived in another way than `key` is. */
export async function enqueueUnder(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  given: unknown,
  options: EnqueueOptions,
): Promise<EnqueuedRun> {
  const queued = queuedRun(setup, runId, given, options);
  const { kind, run } = await store.enqueueRun(queued);
  if (kind === "exists")
    await aboutRun(runId, async () => {
      assertSameRun(run, setup.root.name, queued.inputHash);
      const isGiven = options.spec !== undefined && queued.spec !== null && queued.spec !== undefined;
      if (isGiven) assertSameSpec(run, queued.spec);
    });
  return { runId, existed: kind === "exists" };
}

function queuedRun(setup: RunnerSetup, runId: string, given: unknown, options: EnqueueOptions): QueuedRun {
  const { root, rules, options: own } = setup;
  const input = inputAsJson(given);
  assertNoSecrets(input, rules);
  if (options.context !== undefined) assertNoSecrets(options.context, rules, "context");
  const spec = newContract(setup, options.spec, input);
  return {
    runId,
    pipeline: root.name,
    entrypoint: own.entrypoint ?? "library",
    input,
    inputHash: canonicalHash(input),
    shape: shapeOf(root),
    limit: limitOf(options.budget),
    deadline: options.deadline?.at ?? null,
    spec,
    notBefore: timeOf(options.notBefore),
    ...placeOf(options),
    ...starterOf(rules, options.startedBy ?? own.startedBy),
  };
}

function timeOf(notBefore: unknown): number | null {
  if (notBefore === undefined) return null;
  if (notBefore instanceof Date && !Number.isNaN(notBefore.getTime())) return notBefore.getTime();
  throw new ConfigurationError(
    `notBefore is ${notBefore instanceof Date ? "a Date that is no time" : kindOf(notBefore)}: give a Date.`,
  );
}

/** Sends a message to a run. */
export async function send(
  setup: RunnerSetup,
  store: Store,
  to: Addressee,
  given: MessageToRun,
  options: SendOptions,
): Promise<MessageReceipt> {
  assertSendOptions(options);
  const message = messageOf(setup, given, options);
  if (typeof to === "string") {
    assertRunId(to);
    const start = options.orStart === undefined ? undefined : runToStart(setup, to, options.orStart);
    const sent = await aboutRun(to, () => store.sendMessage(to, message, start));
    lookNow(store, to);
    return receiptOf(message, sent);
  }
  const address: unknown = to?.address;
  if (typeof address !== "string" || address.trim() === "")
    throw new ConfigurationError(
      `A message goes to ${kindOf(to)}: give the id of the run, or { address: "invoice:7" }.`,
    );
  if (options.orStart?.address !== undefined)
    throw new ConfigurationError(
      "A message to an address was given another one in orStart: the first argument of send is the address of the run.",
    );
  return sendTo(setup, store, address, message, options);
}

/** Of two senders that start the run of an address at once, the second one sends to the run of the first. */
async function sendTo(
  setup: RunnerSetup,
  store: Store,
  address: string,
  message: NewMessage,
  { orStart }: SendOptions,
): Promise<MessageReceipt> {
  for (let tries = 1; ; tries++) {
    const found = await store.findAddress(address);
    if (found === null && orStart === undefined)
      throw new MessageRefusedError(
        `No run is reached by ${JSON.stringify(address)}: it has ended, or has not begun; send it again later, or give orStart.`,
        { reason: "no_address" },
      );
    const runId = found ?? newRunId();
    const start =
      found === null && orStart !== undefined ? runToStart(setup, runId, { ...orStart, address }) : undefined;
    try {
      const sent = await aboutRun(runId, () => store.sendMessage(runId, message, start));
      lookNow(store, runId);
      return receiptOf(message, sent);
    } catch (error) {
      const isTaken = start !== undefined && (await store.findAddress(address)) !== null;
      if (!isTaken || tries > 3) throw error;
    }
  }
}

function runToStart(
  setup: RunnerSetup,
  runId: string,
  { input = null, ...options }: NonNullable<SendOptions["orStart"]>,
): QueuedRun {
  return queuedRun(setup, runId, input, options);
}

function messageOf({ rules, root }: RunnerSetup, given: unknown, { id, by, mode }: SendOptions): NewMessage {
  const { event, body, files = [] } = contentsOf(given);
  assertNoSecrets(body, rules, "message");
  for (const text of textsOf(body, files)) assertNoSecrets(text, rules, "message");
  const person: Person = typeof by === "string" ? { by } : (by ?? {});
  const modes = event === null ? { mode: mode ?? conversationsOf(root)[0]?.whileBusy ?? "queue" } : {};
  return {
    id: id ?? randomUUID(),
    event,
    body,
    ...(files.length === 0 ? {} : { files }),
    by: person,
    ...modes,
  };
}

/** Files that are texts are stored as they are, like the message itself. */
function textsOf(body: Json, files: readonly MessageFile[]): readonly string[] {
  const texts = new Set(
    filesIn(body).flatMap(({ mediaType, blobId }) => (isTextType(mediaType) ? [blobId] : [])),
  );
  return files.flatMap(({ blobId, bytes }) =>
    texts.has(blobId) ? [Buffer.from(bytes).toString("utf8")] : [],
  );
}

function contentsOf(given: unknown): Pick<NewMessage, "event" | "body" | "files"> {
  if (typeof given === "string") return { event: null, body: readUserText(given) };
  if (typeof given === "object" && given !== null && "parts" in given)
    return { event: null, ...readUserMessage(given) };
  if (typeof given === "object" && given !== null && "event" in given) {
    const { event, data = null, ...others } = given as { event: unknown; data?: Json };
    const [other] = Object.keys(others);
    if (typeof event === "string" && other === undefined) return { event, body: data };
    if (other !== undefined)
      throw new ConfigurationError(
        `The message has ${JSON.stringify(other)}: give { event, data }, with everything else in data.`,
      );
  }
  throw new ConfigurationError(
    `The message is ${kindOf(given)}: give a text, { parts: [ … ] }, or an event such as { event: "payment.confirmed", data: { … } }.`,
  );
}

type Sent = Awaited<ReturnType<Store["sendMessage"]>>;

function receiptOf(
  { id }: NewMessage,
  { runId, isDuplicate, hasStarted, status, reason }: Sent,
): MessageReceipt {
  return { runId, messageId: id, duplicate: isDuplicate, started: hasStarted, status, reason };
}

/** Asks to end the present exchange of a run. */
export async function stop(store: Store, runId: string, options: StopOptions): Promise<StopOutcome> {
  assertRunId(runId);
  assertStopOptions(options);
  const { by } = options;
  const person: Person = typeof by === "string" ? { by } : (by ?? {});
  const outcome = await aboutRun(runId, () => store.requestStop(runId, person));
  lookNow(store, runId);
  return outcome;
}

/** Withdraws a message, unless a call has taken it. */
export function unsend(store: Store, runId: string, messageId: string): Promise<MessageStatus> {
  assertRunId(runId);
  return aboutRun(runId, () => store.withdrawMessage(runId, messageId));
}
