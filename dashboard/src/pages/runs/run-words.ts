import type { RunHead } from "../../api/documents.ts";
import { counted } from "../../parts/money-words.ts";
import { durationWords } from "../../parts/time-words.ts";

/** What is going on in a run, in one line. */
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
  return status === "queued" ? "until a worker takes it" : "waits";
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}
