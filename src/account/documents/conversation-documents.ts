import type { ExchangeStory } from "../../export/exchanges.ts";
import { isoTime } from "../../export/figures.ts";
import type { MessageRecord, WaitRecord } from "../../store/store.ts";
import type { WithIsoTimes } from "../iso-times.ts";

/** What a run waits for, with its answer. */
export type WaitDocument = WithIsoTimes<WaitRecord, "createdAt" | "answeredAt">;

export function waitDocument(wait: WaitRecord): WaitDocument {
  return { ...wait, createdAt: isoTime(wait.createdAt), answeredAt: isoTime(wait.answeredAt) };
}

/** A message to a run. */
export type MessageDocument = WithIsoTimes<MessageRecord, "sentAt" | "settledAt">;

export function messageDocument(message: MessageRecord): MessageDocument {
  return { ...message, sentAt: isoTime(message.sentAt), settledAt: isoTime(message.settledAt) };
}

type Said = ExchangeStory["said"][number];

/** An exchange of a conversation, with what was said in it. */
export type ExchangeDocument = WithIsoTimes<Omit<ExchangeStory, "said">, "beganAt" | "endedAt"> & {
  readonly said: readonly WithIsoTimes<Said, "sentAt">[];
};

export function exchangeDocument(story: ExchangeStory): ExchangeDocument {
  return {
    ...story,
    beganAt: isoTime(story.beganAt),
    endedAt: isoTime(story.endedAt),
    said: story.said.map((each) => ({ ...each, sentAt: isoTime(each.sentAt) })),
  };
}
