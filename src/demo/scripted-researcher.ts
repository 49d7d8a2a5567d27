import type { checkCitations } from "../core/citations.ts";
import { type AssistantPart, isToolCallPart, type Message } from "../core/message.ts";
import type { ModelPort, ModelResponse } from "../engine/ports/model-port.ts";
import type { JobModels } from "./job-agents.ts";
import type { ReadPage } from "./read-page.ts";
import { jobInput, type Report, type ResearchNotes, researchNotes, researchPlan } from "./research.ts";

/** How many pages are read at a time. */
const AT_ONCE = 3;
/** How many sentences of a page are worth a note. */
const POINTS = 3;

type Conversation = readonly Message[];
type Script = (conversation: Conversation) => Reply;
type CitationCheck = ReturnType<typeof checkCitations>;
type Reply = { readonly answer: object } | { readonly tool: string; readonly inputs: readonly object[] };

/**
 * Stands in for a language model where there is none. It follows the agents' instructions by looking at the conversation
 * and at nothing else: what it writes is made from what the tools gave it.
 */
export function scriptedResearcher(): JobModels {
  return { planner: scripted(plan), crawler: scripted(crawl), writer: scripted(write) };
}

function scripted(script: Script): ModelPort {
  return {
    provider: "scripted",
    modelId: "researcher",
    respond: ({ instructions, messages }) =>
      Promise.resolve(responseOf(script(messages), messages, tokensOf([instructions, messages]))),
  };
}

function responseOf(reply: Reply, messages: Conversation, inputTokens: number): ModelResponse {
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

/** About what a tokenizer would count. */
function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function plan(conversation: Conversation): Reply {
  const { subject, site } = jobInput.parse(inputOf(conversation));
  const [first] = pagesIn(conversation);
  if (first === undefined) return { tool: "fetch_page", inputs: [{ url: site }] };
  const questions = first.links.map(({ title }) => `${title}: what does it do, and what came of it?`);
  return { answer: { subject, questions, pages: first.links.map(({ url }) => url) } };
}

function crawl(conversation: Conversation): Reply {
  const { subject, questions, pages } = researchPlan.parse(inputOf(conversation));
  const read = pagesIn(conversation);
  const known = new Set([...asked(conversation), new URL("/", pages[0]).href]);
  const wanted = new Set([...pages, ...read.flatMap(({ links }) => links.map(({ url }) => url))]);
  const next = [...wanted].filter((url) => !known.has(url)).slice(0, AT_ONCE);
  if (next.length > 0) return { tool: "fetch_page", inputs: next.map((url) => ({ url })) };
  const notes = read
    .filter(({ text }) => text !== "")
    .map(({ url, title, text }) => ({ url, title, points: points(text, questions) }));
  return { answer: { subject, questions, notes } };
}

/** The first draft names one page for each section. The check says what else it draws on, and the second names that too. */
function write(conversation: Conversation): Reply {
  const notes = researchNotes.parse(inputOf(conversation));
  const check = checksIn(conversation).at(-1);
  const isFirst = check === undefined;
  const draft = draftOf(notes, isFirst);
  if (!isFirst && check.uncited.length + check.unfetched.length === 0) return { answer: draft };
  return { tool: "check_citations", inputs: [{ report: draft }] };
}

function draftOf({ subject, questions, notes }: ResearchNotes, isFirst: boolean): Report {
  const chosen = notes.map((note) => ({ ...note, question: closest(topicOf(note), questions) }));
  const sections = questions.flatMap((question) => {
    const own = chosen.filter((note) => note.question === question);
    if (own.length === 0) return [];
    const paragraphs = own.map(({ url, points: sentences }, i) => ({
      text: sentences.join(" "),
      sources: isFirst && i > 0 ? [] : [url],
    }));
    return [{ heading: question.split(":")[0] ?? question, paragraphs }];
  });
  const summary = `This report draws on ${notes.length} pages about the subject. It has ${sections.length} sections and follows each idea from the device that came first to those that its shortcomings called for.`;
  return { title: subject, summary, sections };
}

/** The first sentence says what a page is about; beside it, those that have most to do with the questions. */
function points(text: string, questions: readonly string[]): string[] {
  const [first = "", ...rest] = text.replaceAll("\n", " ").match(/[^.!?]+[.!?]+/g) ?? [];
  const best = rest
    .toSorted((a, b) => overlap(b, questions.join(" ")) - overlap(a, questions.join(" ")))
    .slice(0, POINTS - 1);
  return [first, ...rest.filter((sentence) => best.includes(sentence))].map((sentence) => sentence.trim());
}

/** The title counts for more than any sentence. */
function topicOf({ title, points: sentences }: ResearchNotes["notes"][number]): string {
  return [title, title, title, ...sentences].join(" ");
}

function closest(text: string, questions: readonly string[]): string {
  const [best = ""] = questions.toSorted((a, b) => overlap(text, b) - overlap(text, a));
  return best;
}

/** How many words of the text are words of the topic; short ones say nothing. */
function overlap(text: string, topic: string): number {
  const words = new Set(wordsOf(topic));
  return wordsOf(text).filter((word) => words.has(word)).length;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}{5,}/gu) ?? [];
}

/** What the agent was given: the first message of the user. */
function inputOf(conversation: Conversation): unknown {
  const first = conversation.find(({ role }) => role === "user");
  return JSON.parse(typeof first?.content === "string" ? first.content : "null");
}

/** The addresses that were asked for, whatever came of it. */
function asked(conversation: Conversation): string[] {
  return conversation
    .flatMap((message) => (message.role === "assistant" ? message.content : []))
    .filter(isToolCallPart)
    .map(({ input }) => (input as { readonly url: string }).url);
}

function pagesIn(conversation: Conversation): ReadPage[] {
  return resultsOf(conversation, "fetch_page") as ReadPage[];
}

function checksIn(conversation: Conversation): CitationCheck[] {
  return resultsOf(conversation, "check_citations") as CitationCheck[];
}

/** What a tool gave, in order; a call that failed gave a text. */
function resultsOf(conversation: Conversation, tool: string): unknown[] {
  return conversation
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .filter(({ toolName, output }) => toolName === tool && output.type === "json")
    .map(({ output }) => output.value);
}
