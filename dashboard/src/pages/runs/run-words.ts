import type { RunHead } from "../../api/documents.ts";
import { counted } from "../../words/money-words.ts";
import { durationWords } from "../../words/time-words.ts";

/** What happens in a run, in one line. */
export function runWords(head: RunHead, now: number): string {
  const step = head.currentStep ?? "";
  switch (head.status) {
    case "waiting":
      return head.firstWait === null
        ? joined(step, sleepWords(head, now))
        : `asks: ${head.firstWait.question}`;
    case "failed":
      return [head.errorCode, head.errorMessage].filter((part) => part !== null).join(": ");
    case "interrupted":
      return joined(step, `life ${head.life} ended, no worker has it`);
    case "running":
      return joined(step, head.owner ?? "");
    case "queued":
      return sleepWords(head, now);
    case "succeeded":
    case "cancelled":
      return counted(head.toolCalls, "tool call");
    case "moved":
      return "continues in another store";
  }
}

function sleepWords({ wakeAt, readyAt, status }: RunHead, now: number): string {
  const until = Date.parse(wakeAt ?? readyAt ?? "");
  if (until > now) return `sleeps for ${durationWords(until - now)}`;
  if (status !== "queued") return "waits";
  return readyAt === null ? "a fork that was not started" : "waits for a worker";
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
