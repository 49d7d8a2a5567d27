import { createHash } from "node:crypto";
import type { Json } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import type {
  ArtifactRecord,
  EventRecord,
  ModelCallRecord,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  TurnRecord,
  Verification,
} from "../store/store.ts";
import { PHASES } from "./job-pipeline.ts";
import { type EffectCounts, type ProcessLife, REPORT_FILES } from "./killed-job.ts";
import type { DemoServices } from "./outside.ts";
import type { WorkerMessage } from "./worker-order.ts";

/** What the store recorded of the run. */
export type Ledger = {
  readonly steps: readonly StepRecord[];
  readonly calls: readonly ToolCallRecord[];
  readonly tries: readonly ToolCallAttempt[];
  readonly turns: readonly TurnRecord[];
  readonly modelCalls: readonly ModelCallRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly events: readonly EventRecord[];
  readonly verification: Verification;
};

export async function readLedger(reader: StoreReader, runId: string): Promise<Ledger> {
  return {
    steps: await reader.listSteps(runId),
    calls: await reader.listToolCalls(runId),
    tries: await reader.listToolCallAttempts(runId),
    turns: await reader.listTurns(runId),
    modelCalls: await reader.listModelCalls(runId),
    artifacts: await reader.listArtifacts(runId),
    events: await reader.listEvents(runId),
    verification: await reader.verify(runId),
  };
}

/** One kind of effect: how often it was wanted, how often the services saw it, and how often restarting would have caused it. */
export type TallyRow = {
  readonly what: string;
  readonly wanted: number;
  readonly seen: number;
  readonly startingOver: number;
  /** The reason for a difference, or for a request without an effect. */
  readonly note: string | null;
  readonly isRight: boolean;
};

/** The outcome of the demo. Everything in it must be right. */
export type Tally = {
  readonly rows: readonly TallyRow[];
  /** Other violations. */
  readonly problems: readonly string[];
};

export function tallyOf(outside: DemoServices, lives: readonly ProcessLife[], ledger: Ledger): Tally {
  return {
    rows: [
      pagesRow(outside.site.requests, lives, ledger),
      modelCallsRow(lives, ledger),
      ...onceOnlyRows(outside, lives, ledger),
    ],
    problems: [
      ...unfinished(ledger),
      ...doneAgain(lives),
      ...fetchedAgain(outside.site.requests, ledger),
      ...changed(outside, ledger),
    ],
  };
}

type OnceOnlyEffect = Pick<TallyRow, "what" | "wanted" | "seen" | "note"> & {
  readonly key: keyof EffectCounts;
};

/** Effects that must not be repeated, whatever a kill interrupts. */
function onceOnlyRows(
  { uploads, mail, notifications }: DemoServices,
  lives: readonly ProcessLife[],
  { events }: Ledger,
): TallyRow[] {
  const files = REPORT_FILES.length;
  const kept = events.filter(({ type }) => type === "artifact.kept").length;
  const stored = uploads.objects.size;
  const accepted = mail.accepted.length;
  const shown = notifications.shown.size;
  const uploadNote = duplicatesNote(uploads.requests.length - stored);
  const shownNote = duplicatesNote(notifications.requests.length - shown);
  const looked = mail.lookUps.length;
  const mailNote = looked > 0 ? `looked up ${times(looked)} by the Message-ID` : null;
  const effects: readonly OnceOnlyEffect[] = [
    { what: "report files", key: "files", wanted: files, seen: kept, note: null },
    { what: "uploads", key: "uploads", wanted: files, seen: stored, note: uploadNote },
    { what: "mails", key: "mails", wanted: 1, seen: accepted, note: mailNote },
    { what: "notifications", key: "notifications", wanted: 1, seen: shown, note: shownNote },
  ];
  return effects.map(({ what, key, wanted, seen, note }) => ({
    what,
    wanted,
    seen,
    startingOver: startingOver(lives, key),
    note,
    isRight: seen === wanted,
  }));
}

function duplicatesNote(duplicates: number): string | null {
  return duplicates > 0 ? `sent ${times(duplicates)} more, and deduplicated by the key` : null;
}

/** Without Pawl, each process would start from the beginning and repeat what was done by the time it was killed. */
function startingOver(lives: readonly ProcessLife[], key: keyof EffectCounts): number {
  return lives.reduce((sum, { done }) => sum + done[key], 0);
}

/** Only a read that was interrupted before its receipt is repeated. */
function pagesRow(
  requests: readonly string[],
  lives: readonly ProcessLife[],
  { calls, tries }: Ledger,
): TallyRow {
  const receipts = calls.filter(({ tool, status }) => tool === "fetch_page" && status === "succeeded");
  const ids = new Set(receipts.map(({ toolCallId }) => toolCallId));
  const lost = tries.filter(({ toolCallId }) => ids.has(toolCallId)).length;
  return repeatable(
    { what: "pages read", key: "pages", wanted: receipts.length, seen: requests.length, lost },
    lives,
  );
}

/** A model whose answer was not stored must be asked again. */
function modelCallsRow(lives: readonly ProcessLife[], { turns, modelCalls }: Ledger): TallyRow {
  const lost = modelCalls.filter(({ charge }) => charge?.basis === "baseline").length;
  const committed = turns.filter((turn) => turn.committed).length;
  return repeatable(
    { what: "model calls", key: "modelCalls", wanted: committed, seen: askedIn(lives).length, lost },
    lives,
  );
}

type RepeatableEffect = Pick<TallyRow, "what" | "wanted" | "seen"> & {
  readonly key: keyof EffectCounts;
  /** How often a kill interrupted it before anything was stored. */
  readonly lost: number;
};

function repeatable(
  { what, key, wanted, seen, lost }: RepeatableEffect,
  lives: readonly ProcessLife[],
): TallyRow {
  const again = seen - wanted;
  return {
    what,
    wanted,
    seen,
    startingOver: startingOver(lives, key),
    note:
      again > 0
        ? `${again} more, since a kill interrupted ${again === 1 ? "it" : "them"} before anything was stored`
        : null,
    isRight: again >= 0 && again <= lost,
  };
}

function times(count: number): string {
  return ["never", "once", "twice"][count] ?? `${count} times`;
}

function messagesOf<K extends WorkerMessage["kind"]>(
  lives: readonly Pick<ProcessLife, "messages">[],
  kind: K,
): Extract<WorkerMessage, { kind: K }>[] {
  return lives.flatMap(({ messages }) =>
    messages.filter((message): message is Extract<WorkerMessage, { kind: K }> => message.kind === kind),
  );
}

function askedIn(
  lives: readonly Pick<ProcessLife, "messages">[],
): Extract<WorkerMessage, { kind: "asked" }>[] {
  return messagesOf(lives, "asked");
}

/** A succeeded run has finished all of its phases. */
function unfinished({ steps }: Ledger): string[] {
  return PHASES.flatMap((phase) => {
    const status = steps.find(({ path }) => path === phase)?.status ?? "missing";
    return status === "succeeded" ? [] : [`${phase} is ${status} at the end instead of succeeded`];
  });
}

/** Finished steps must not be entered again, and committed turns must not be requested again. */
function doneAgain(lives: readonly ProcessLife[]): string[] {
  const problems: string[] = [];
  const [finished, committed] = [new Set<string>(), new Set<string>()];
  for (const message of lives.flatMap(({ messages }) => messages)) {
    if (message.kind === "event") {
      const { event } = message;
      if (event.type === "step.finished" || event.type === "step.skipped") finished.add(event.step);
      if (event.type === "turn.committed") committed.add(`turn ${event.turn} of ${event.step}`);
    } else if (message.kind === "halted") {
      if (message.point === "step:finished") finished.add(message.phase);
      if (message.point === "turn:committed") committed.add(`turn ${message.turn} of ${message.phase}`);
    } else if (message.kind === "asked" || message.kind === "entered") {
      if (finished.has(message.phase))
        problems.push(`${message.phase} was entered again after it was finished`);
      const turn = message.kind === "asked" ? `turn ${message.turn} of ${message.phase}` : "";
      if (committed.has(turn)) problems.push(`the model was asked for ${turn} after it was committed`);
    }
  }
  return problems;
}

/** Each page may be read once, plus once for each attempt without a receipt. */
function fetchedAgain(requests: readonly string[], { calls, tries }: Ledger): string[] {
  return [...new Set(requests)].flatMap((path) => {
    const ids = calls
      .filter(({ tool, request }) => tool === "fetch_page" && pathOf(request) === path)
      .map(({ toolCallId }) => toolCallId);
    const lost = tries.filter(({ toolCallId }) => ids.includes(toolCallId)).length;
    const seen = requests.filter((each) => each === path).length;
    return ids.length === 1 && seen <= 1 + lost
      ? []
      : [`${path} was read ${seen} times, with ${ids.length} calls and ${lost} lost attempts`];
  });
}

function pathOf(request: Json): string {
  const url = isJsonObject(request) && typeof request.url === "string" ? URL.parse(request.url) : null;
  return url?.pathname ?? "";
}

/** The services received what the run produced, and the store is intact. */
function changed({ uploads, mail }: DemoServices, { artifacts, verification }: Ledger): string[] {
  const problems = verification.problems.map(({ row, what }) => `${row}: ${what}`);
  const hashes = new Map(artifacts.map(({ name, hash }) => [name, hash]));
  for (const { name, bytes } of uploads.objects.values())
    if (sha256(bytes) !== hashes.get(name)) problems.push(`the upload of ${name} differs from the artifact`);
  for (const { raw } of mail.accepted)
    if (sha256(attachmentOf(raw)) !== hashes.get("report.pdf"))
      problems.push("the PDF in the mail differs from the artifact");
  return problems;
}

/** The only attachment of a mail. */
function attachmentOf(raw: string): Uint8Array {
  const parts = raw.split(/\r\n--[^\r\n]*(?:\r\n|$)/);
  const attachment = parts.find((part) => /^Content-Disposition: attachment/im.test(part)) ?? "";
  return Buffer.from(attachment.split("\r\n\r\n")[1] ?? "", "base64");
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
