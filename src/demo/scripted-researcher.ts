import type { CitationCheck } from "../core/citations.ts";
import { type AssistantPart, isToolCallPart, type Message } from "../core/message.ts";
import type { ModelPort, ModelResponse } from "../engine/ports/model-port.ts";
import type { JobModels } from "./job-agents.ts";
import type { ReadPage } from "./read-page.ts";
import { jobInput, type Report, type ResearchNotes, researchNotes, researchPlan } from "./research.ts";

/** How many pages are read at a time. */
const AT_ONCE = 3;
/** How many sentences of a page go into a note. */
const POINTS = 3;

type Messages = readonly Message[];
type ReplyScript = (messages: Messages) => Reply;

type Reply = { readonly answer: object } | { readonly tool: string; readonly inputs: readonly object[] };

/**
 * Replaces a language model if no API key is set. It follows the agents' instructions using only the conversation: everything
 * it writes is derived from the tool results.
 */
export function scriptedResearcher(): JobModels {
  return { planner: scripted(plan), crawler: scripted(crawl), writer: scripted(write) };
}

function scripted(script: ReplyScript): ModelPort {
  return {
    provider: "scripted",
    modelId: "researcher",
    respond: ({ instructions, messages }) =>
      Promise.resolve(responseOf(script(messages), messages, tokensOf([instructions, messages]))),
  };
}

function responseOf(reply: Reply, messages: Messages, inputTokens: number): ModelResponse {
  const turn = messages.filter(({ role }) => role === "assistant").length + 1;
  const content: AssistantPart[] =
    "answer" in reply
      ? [{ type: "text", text: JSON.stringify(reply.answer) }]
      : reply.inputs.map((input, i) => ({
          type: "tool-call",
          toolCallId: `call-${turn}-${i + 1}`,
          toolName: reply.tool,
          input: { ...input },
        }));
  return {
    content,
    finishReason: "answer" in reply ? "stop" : "tool-calls",
    usage: { inputTokens, outputTokens: tokensOf(content), cachedInputTokens: 0, reasoningTokens: 0 },
    invalidCalls: {},
    responseId: null,
  };
}

/** A rough token count. */
function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function plan(messages: Messages): Reply {
  const { subject, site } = jobInput.parse(inputOf(messages));
  const [first] = pagesIn(messages);
  if (first === undefined) return { tool: "fetch_page", inputs: [{ url: site }] };
  const questions = first.links.map(({ title }) => `${title}: what does it do, and what came of it?`);
  return { answer: { subject, questions, pages: first.links.map(({ url }) => url) } };
}

function crawl(messages: Messages): Reply {
  const { subject, questions, pages } = researchPlan.parse(inputOf(messages));
  const read = pagesIn(messages);
  const known = new Set([...requestedUrls(messages), new URL("/", pages[0]).href]);
  const wanted = new Set([...pages, ...read.flatMap(({ links }) => links.map(({ url }) => url))]);
  const next = [...wanted].filter((url) => !known.has(url)).slice(0, AT_ONCE);
  if (next.length > 0) return { tool: "fetch_page", inputs: next.map((url) => ({ url })) };
  const notes = read
    .filter(({ text }) => text !== "")
    .map(({ url, title, text }) => ({ url, title, points: points(text, questions) }));
  return { answer: { subject, questions, notes } };
}

/** The first draft cites one page per section. The check reports the missing ones, and the second draft cites them too. */
function write(messages: Messages): Reply {
  const notes = researchNotes.parse(inputOf(messages));
  const check = checksIn(messages).at(-1);
  const isFirst = check === undefined;
  const draft = draftOf(notes, isFirst ? "one per section" : "all");
  if (!isFirst && check.uncited.length + check.unfetched.length === 0) return { answer: draft };
  return { tool: "check_citations", inputs: [{ report: draft }] };
}

function draftOf({ subject, questions, notes }: ResearchNotes, cited: "one per section" | "all"): Report {
  const chosen = notes.map((note) => ({ ...note, question: closest(topicOf(note), questions) }));
  const sections = questions.flatMap((question) => {
    const own = chosen.filter((note) => note.question === question);
    if (own.length === 0) return [];
    const paragraphs = own.map(({ url, points: sentences }, i) => ({
      text: sentences.join(" "),
      sources: cited === "one per section" && i > 0 ? [] : [url],
    }));
    return [{ heading: question.split(":")[0] ?? question, paragraphs }];
  });
  const summary = `This report draws on ${notes.length} pages about the subject. It has ${sections.length} sections and follows each idea from the device that came first to those that its shortcomings called for.`;
  return { title: subject, summary, sections };
}

/** The first sentence of a page, and those closest to the questions. */
function points(text: string, questions: readonly string[]): string[] {
  const [first = "", ...rest] = text.replaceAll("\n", " ").match(/[^.!?]+[.!?]+/g) ?? [];
  const best = rest
    .toSorted((a, b) => overlap(b, questions.join(" ")) - overlap(a, questions.join(" ")))
    .slice(0, POINTS - 1);
  return [first, ...rest.filter((sentence) => best.includes(sentence))].map((sentence) => sentence.trim());
}

/** The title weighs more than any sentence. */
function topicOf({ title, points: sentences }: ResearchNotes["notes"][number]): string {
  return [title, title, title, ...sentences].join(" ");
}

function closest(text: string, questions: readonly string[]): string {
  const [best = ""] = questions.toSorted((a, b) => overlap(text, b) - overlap(text, a));
  return best;
}

/** How many words of the text occur in the topic; short words are ignored. */
function overlap(text: string, topic: string): number {
  const words = new Set(wordsOf(topic));
  return wordsOf(text).filter((word) => words.has(word)).length;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}{5,}/gu) ?? [];
}

/** The agent's input: the first user message. */
function inputOf(messages: Messages): unknown {
  const first = messages.find(({ role }) => role === "user");
  return JSON.parse(typeof first?.content === "string" ? first.content : "null");
}

/** The addresses that were requested, with or without success. */
function requestedUrls(messages: Messages): string[] {
  return messages
    .flatMap((message) => (message.role === "assistant" ? message.content : []))
    .filter(isToolCallPart)
    .map(({ input }) => (input as { readonly url: string }).url);
}

function pagesIn(messages: Messages): ReadPage[] {
  return resultsOf(messages, "fetch_page") as ReadPage[];
}

function checksIn(messages: Messages): CitationCheck[] {
  return resultsOf(messages, "check_citations") as CitationCheck[];
}

/** The results of a tool, in order, without failed calls, which have text results. */
function resultsOf(messages: Messages, tool: string): unknown[] {
  return messages
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .filter(({ toolName, output }) => toolName === tool && output.type === "json")
    .map(({ output }) => output.value);
}
