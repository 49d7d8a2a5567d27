// The forms of what a transcript has, for a page that gets it as JSON. What has another form is shown as the JSON that it is.

import { isJsonObject } from "../../../../../src/core/json.ts";
import type {
  ShownCall,
  ShownPart,
  ShownText,
  ShownValue,
  TranscriptContent,
  TranscriptItem,
} from "./transcript-content.ts";

type Form<T> = (value: unknown) => value is T;
type Fields<T> = { readonly [Name in keyof T]: Form<T[Name]> };

const anything = (value: unknown): value is unknown => value !== undefined;
const text = (value: unknown): value is string => typeof value === "string";
const number = (value: unknown): value is number => typeof value === "number";
const yesOrNo = (value: unknown): value is boolean => typeof value === "boolean";

function orNull<T>(form: Form<T>): Form<T | null> {
  return (value): value is T | null => value === null || form(value);
}

function listOf<T>(form: Form<T>): Form<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(form);
}

function only<const T extends string>(...words: readonly T[]): Form<T> {
  return (value): value is T => words.some((word) => word === value);
}

function object<T>(fields: Fields<T>): Form<T> {
  return (value): value is T => {
    if (typeof value !== "object" || value === null) return false;
    const given = new Map<string, unknown>(Object.entries(value));
    for (const name in fields) if (!fields[name](given.get(name))) return false;
    return true;
  };
}

const shownText = object<ShownText>({ text, characters: number });

const whole = object({ kind: only("whole"), value: anything });
const beginning = object({ kind: only("beginning"), json: shownText });
const blob = object({ kind: only("blob"), blobId: text, size: number });
const shownValue = (value: unknown): value is ShownValue => whole(value) || beginning(value) || blob(value);

const call = object<ShownCall>({
  toolCallId: text,
  tool: text,
  effect: text,
  recovery: text,
  status: text,
  attempt: number,
  request: shownValue,
  result: orNull(
    object<NonNullable<ShownCall["result"]>>({
      source: text,
      errorCode: orNull(text),
      uncertain: yesOrNo,
      duplicateOf: orNull(text),
      type: text,
      value: shownValue,
    }),
  ),
});

const textPart = object({ kind: only("text", "reasoning"), text: shownText });
const callPart = object({ kind: only("call"), call });
const otherPart = object({ kind: only("other"), type: text, value: shownValue });
const part = (value: unknown): value is ShownPart => textPart(value) || callPart(value) || otherPart(value);

const file = object({ name: text, mediaType: text, size: number, hash: text });

type Kind = TranscriptContent["kind"];
type ContentOf<K extends Kind> = Extract<TranscriptContent, { readonly kind: K }>;

const CONTENT: { readonly [K in Kind]: Form<Omit<ContentOf<K>, "kind">> } = {
  user: object({
    messageNo: number,
    sentBy: text,
    mode: orNull(text),
    text: shownText,
    files: listOf(file),
  }),
  follow_up: object({ text: shownText }),
  assistant: object({ parts: listOf(part) }),
  dropped: object({}),
  calls: object({ calls: listOf(call) }),
  wait: object({
    waitId: text,
    toolCallId: orNull(text),
    question: text,
    status: text,
    matches: orNull(text),
    waitKind: text,
    dueAt: orNull(text),
  }),
  answer: object({ waitId: text, toolCallId: orNull(text), by: listOf(text), answer: anything }),
  life: object({
    number,
    owner: text,
    resumedFrom: orNull(text),
    reason: orNull(text),
    afterDeath: yesOrNo,
  }),
  fork: object({ runId: text }),
  step: object({
    what: only("begun", "entered_again", "skipped", "finished"),
    stepKind: text,
    phase: text,
    value: orNull(shownValue),
  }),
  exchange_begun: object({ exchange: number }),
  exchange_ended: object({ exchange: number, outcome: orNull(text), why: orNull(text) }),
  lineage: object({ firstTurn: orNull(number), baseTurn: orNull(number) }),
  compaction: object({ summary: shownText }),
  request: object({ what: text, by: orNull(text) }),
  artifact: object({ name: text, size: orNull(number) }),
  run: object({ what: text, code: orNull(text), by: orNull(text) }),
};

/** What an item is about; null if its fields are not those of its kind. */
export function contentOf({ kind, data }: TranscriptItem): TranscriptContent | null {
  const content = { ...(isJsonObject(data) ? data : {}), kind };
  return isContent(content) ? content : null;
}

function isContent(content: { readonly kind: Kind }): content is TranscriptContent {
  return CONTENT[content.kind](content);
}
