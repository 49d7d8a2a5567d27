import type { MailCounts } from "../../account/run-mail.ts";
import type { RunRecord } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { counted, formatMoment } from "./format.ts";
import type { Fact } from "./table.ts";

// Where a run waits for a worker, and what is in its mailbox.

/** What was set of how a run is queued, found and reached; nothing of one that was started in the usual way. */
export function placeFacts(run: RunRecord, mail: MailCounts, now: number): readonly Fact[] {
  const { status, priority, stalls, readyAt, wakeAt, workerVersion } = run;
  const facts: readonly (readonly [string, string | null])[] = [
    ["queue", placeText(run)],
    ["priority", priority === 0 ? null : String(priority)],
    ["metadata", metadataText(run)],
    ["wakes", wakeAt === null ? null : formatMoment(wakeAt, now)],
    ["ready", status !== "queued" || wakeAt !== null ? null : readyText(readyAt, now)],
    ["version", workerVersion === null ? null : `of its worker: ${cleanLine(workerVersion)}`],
    ["stalls", stalls === 0 ? null : `${counted(stalls, "worker")} died in it since its last commit`],
    ["mailbox", mailText(mail)],
  ];
  return facts.flatMap(([label, text]) => (text === null ? [] : [[label, text] as const]));
}

function readyText(readyAt: number | null, now: number): string {
  return readyAt === null ? "no: a fork waits until it is resumed" : `since ${formatMoment(readyAt, now)}`;
}

/** The queue with the key, unless they are the usual ones. */
export function placeText({ queue, concurrencyKey }: RunRecord): string | null {
  if (concurrencyKey !== null) return cleanLine(`${queue}, limited with others by ${concurrencyKey}`);
  return queue === "default" ? null : cleanLine(queue);
}

/** `tenant=acme, tag=new, tag=old`. */
export function metadataText({ metadata }: RunRecord): string | null {
  const pairs = Object.entries(metadata ?? {}).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => `${name}=${value}`),
  );
  return pairs.length === 0 ? null : cleanLine(pairs.join(", "));
}

function mailText(mail: MailCounts): string | null {
  if (mail.size === 0) return null;
  return (["waiting", "taken", "returned", "withdrawn"] as const)
    .flatMap((status) => (mail.has(status) ? [`${mail.get(status) ?? 0} ${status}`] : []))
    .join(", ");
}
