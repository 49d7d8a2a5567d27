import { isCancel, select, text } from "@clack/prompts";
import { AlreadySettledError, ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Settlement } from "../../core/wait.ts";
import type { Person, Store, WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine, cleanText, wrap } from "../context/terminal-text.ts";
import { needsMore, stillNeeded, userOf } from "./acting-person.ts";
import { paint } from "./format.ts";
import { choicesOf, hiddenBecause } from "./wait-hints.ts";

/** Puts questions to whoever sits at the terminal, and what they say into the store. */
export type Desk = {
  readonly context: CliContext;
  readonly store: Store;
  /** Takes the question away, unanswered. */
  readonly signal: AbortSignal;
};

/** Whether somebody sits there who can be asked. */
export function canAsk({ stdin, stderr }: CliContext): boolean {
  return stdin.isTerminal && stderr.isTerminal;
}

/** Asks for each wait in turn. True where all of them have their answer, so that the run can go on. */
export async function askPerson(desk: Desk, waits: readonly WaitRecord[]): Promise<boolean> {
  let allAnswered = true;
  for (const wait of waits) {
    show(desk.context, wait);
    if (!(await answered(desk, wait))) allAnswered = false;
    if (desk.signal.aborted) return false;
  }
  return allAnswered;
}

async function answered(desk: Desk, wait: WaitRecord): Promise<boolean> {
  try {
    return await QUESTIONS[wait.kind](desk, wait);
  } catch (error) {
    if (!AlreadySettledError.isInstance(error)) throw error;
    desk.context.stderr.write(`${cleanText(error.message)}\n`);
    return true;
  }
}

type Question = (desk: Desk, wait: WaitRecord) => Promise<boolean>;

const QUESTIONS: { readonly [K in WaitRecord["kind"]]: Question } = {
  approval: async (desk, { waitId, runId }) => {
    const said = await choose(desk, "May it run?", { approve: "Yes, with just these arguments", deny: "No" });
    if (said === "approve") return approved(desk, waitId, runId);
    if (said !== "deny") return false;
    const why = await ask(desk, "Why not? Whoever asked for it is told.", needed);
    return why !== null && done(desk.store.deny(waitId, why, person(desk)));
  },

  in_doubt: (desk, wait) => settleIt(desk, wait, "What became of it?", SETTLEMENTS),

  escalation: async (desk, wait) => {
    const ways = { ...SETTLEMENTS, answer: "Tell whoever asked for it" };
    return settleIt(desk, wait, "What is to be done?", ways);
  },

  question: async (desk, { waitId, subject }) => {
    const value = await askFor(desk, choicesOf(subject));
    return value !== null && done(desk.store.answer(waitId, value, person(desk)));
  },

  budget: async (desk, { waitId, subject }) => {
    const said = await choose(desk, "May it use more?", {
      more: "Yes, set a new limit",
      less: "No, give up",
    });
    if (said === "less") {
      const why = await ask(desk, "Why? It is kept with the run.", needed);
      return why !== null && done(desk.store.deny(waitId, why, person(desk)));
    }
    if (said !== "more") return false;
    const limit = await ask(desk, `The new ${nameOf(subject.budget)}:`, (given) =>
      limitProblem(given, subject.used),
    );
    return limit !== null && done(desk.store.answer(waitId, Number(limit), person(desk)));
  },
};

/** False where others have to approve it too, or this person may not. */
async function approved(desk: Desk, waitId: string, runId: string): Promise<boolean> {
  const { context, store } = desk;
  const say = (text: string) => context.stderr.write(`${cleanText(text)}\n`);
  try {
    await store.approve(waitId, person(desk));
  } catch (error) {
    if (!AlreadySettledError.isInstance(error) && !ConfigurationError.isInstance(error)) throw error;
    say(error.message);
  }
  const left = (await store.listWaits(runId)).find((wait) => wait.waitId === waitId);
  if (left?.status === "open") say(stillNeeded(left));
  return left?.status !== "open";
}

const SETTLEMENTS = {
  succeeded: "It happened",
  retry: "It did not happen: run it again",
  failed: "It did not happen, and is not to",
} as const;

async function settleIt(
  desk: Desk,
  { toolCallId, waitId }: WaitRecord,
  message: string,
  ways: { readonly [way: string]: string },
): Promise<boolean> {
  const said = await choose(desk, message, ways);
  if (said === "answer") {
    const value = await ask(desk, "What are they told?", needed);
    return value !== null && done(desk.store.answer(waitId, value, person(desk)));
  }
  const settlement = await settlementOf(desk, said);
  if (settlement === null || toolCallId === null) return false;
  return done(desk.store.settle(toolCallId, settlement, person(desk)));
}

async function settlementOf(desk: Desk, said: string | null): Promise<Settlement | null> {
  if (said === "retry") return { as: "retry" };
  if (said === "succeeded") {
    const result = await ask(desk, "What did it give? JSON, or a text.", needed);
    return result === null ? null : { as: "succeeded", result: jsonOrText(result) };
  }
  const why = said === "failed" ? await ask(desk, "Why? Whoever asked for it is told.", needed) : null;
  return why === null ? null : { as: "failed", why };
}

async function askFor(desk: Desk, choices: readonly string[]): Promise<string | null> {
  if (choices.length === 0) return ask(desk, "Your answer:", needed);
  const said = await choose(
    desk,
    "Your answer:",
    Object.fromEntries(choices.map((each, i) => [`${i}`, each])),
  );
  return said === null ? null : (choices[Number(said)] ?? null);
}

const LEAVE = "leave";

/** Null where the person would rather decide later. */
async function choose(
  { context, signal }: Desk,
  message: string,
  ways: { readonly [way: string]: string },
): Promise<string | null> {
  const said = await select({
    message,
    // What was typed while the run worked must not decide anything.
    initialValue: LEAVE,
    options: [
      ...Object.entries(ways).map(([value, label]) => ({ value, label: cleanText(label) })),
      { value: LEAVE, label: "Decide later" },
    ],
    ...prompting(context, signal),
  });
  return isCancel(said) || said === LEAVE ? null : said;
}

async function ask(
  { context, signal }: Desk,
  message: string,
  problem: (given: string) => string | undefined,
): Promise<string | null> {
  const said = await text({
    message,
    validate: (given) => problem(given ?? ""),
    ...prompting(context, signal),
  });
  return isCancel(said) ? null : said;
}

function prompting({ stdin, stderr }: CliContext, signal: AbortSignal) {
  return { input: stdin.stream, output: stderr.stream, signal, showInstructions: false, withGuide: false };
}

/** What there is to decide about, with the arguments just as they would go out. */
function show(context: CliContext, wait: WaitRecord): void {
  const { kind, question, subject, toolCallId } = wait;
  const { bold, dim } = paint(context);
  const columns = context.stderr.columns - 1;
  const isAboutCall = kind !== "question" && toolCallId !== null;
  const lines = [
    "",
    ...wrap(cleanText(question), columns).map(bold),
    ...(isAboutCall ? wrap(cleanText(toolCallId), columns).map(dim) : []),
    ...(isAboutCall ? shownArguments(subject.arguments ?? null, columns) : []),
    ...(subject.requested === undefined
      ? []
      : [dim("asked for as"), ...shownArguments(subject.requested, columns)]),
    ...(needsMore(wait) ? wrap(cleanText(stillNeeded(wait)), columns) : []),
    ...(isAboutCall ? hiddenBecause(subject).flatMap((why) => wrap(cleanText(why), columns)) : []),
    "",
  ];
  context.stderr.write(`${lines.join("\n")}\n`);
}

/** All of them, however many lines it takes: who approves them has to see them. */
function shownArguments(value: Json, columns: number): readonly string[] {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .flatMap((line) => {
      const indent = line.slice(0, line.search(/\S/));
      return wrap(cleanLine(line.trim()), columns - indent.length).map((part) => `${indent}${part}`);
    });
}

function nameOf(budget: Json | undefined): string {
  return typeof budget === "string" ? budget : "limit";
}

function needed(given: string): string | undefined {
  return given.trim() === "" ? "Say something, or press Escape to decide later." : undefined;
}

function limitProblem(given: string, used: Json | undefined): string | undefined {
  const limit = Number(given);
  const least = typeof used === "number" ? used : 0;
  if (given.trim() !== "" && Number.isFinite(limit) && limit > 0 && limit >= least) return undefined;
  return least > 0 ? `Give a number of at least ${least}, which it needs now.` : "Give a number above 0.";
}

function jsonOrText(given: string): Json {
  try {
    return JSON.parse(given) as Json;
  } catch {
    return given;
  }
}

function person({ context }: Desk): Person {
  return userOf(context);
}

async function done(intent: Promise<void>): Promise<true> {
  await intent;
  return true;
}
