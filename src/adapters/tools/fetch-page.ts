import { z } from "zod";
import { FinalFailure } from "../../core/errors.ts";
import { type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import { guardedFetch, NetworkRefusedError } from "../net/guarded-fetch.ts";
import { OffThreadError, offThread, type ThreadJob } from "../net/off-thread.ts";
import {
  beginningOf,
  charsetIn,
  contentTypeOf,
  decoded,
  isTextType,
  readAtMost,
} from "../net/response-text.ts";
import { MOST_TITLE_READ } from "./page-limits.ts";
import type { PageText } from "./page-text.ts";
import { failureText, hostOf } from "./request-outcome.ts";

const MOST_BYTES = 2_000_000;
const USUAL_CHARACTERS = 20_000;
const MOST_CHARACTERS = 100_000;

/** The result of `fetch_page`. */
export type FetchedPage = {
  readonly url: string;
  /** The final URL, if there was a redirect. */
  readonly redirectedTo?: string;
  readonly title: string | null;
  readonly text: string;
  readonly note?: string;
};

/** Reading changes nothing, so an interrupted read is simply repeated. */
export const fetchPage = tool({
  name: "fetch_page",
  description:
    "Read a web page as text: headings begin with #, links are written as text [address]. JSON and plain text are returned as they are. Long pages are cut; `note` says how to continue reading.",
  inputSchema: z.object({
    url: z.url({ protocol: /^https?$/ }).describe("An absolute http or https URL."),
    maxCharacters: z
      .int()
      .min(1)
      .max(MOST_CHARACTERS)
      .optional()
      .describe(`The maximum number of characters to return; ${USUAL_CHARACTERS} by default.`),
    from: z.int().min(0).optional().describe("The character of the text to start at, to continue reading."),
  }),
  effect: "read_only",
  recovery: "repeat",
  timeoutMs: 60_000,
  urls: ({ url }) => [url],
  execute: async ({ url, maxCharacters = USUAL_CHARACTERS, from = 0 }, call): Promise<FetchedPage> => {
    const response = await get(url, call);
    const page = await readContent(response, url, call.signal);
    const { isWhole } = page;
    const title = page.title === null ? null : titleOf(page.title, call);
    const text = await call.hideLong(page.text, { end: !isWhole });
    const given = beginningOf(text, from, maxCharacters);
    const notes = [
      ...(isWhole ? [] : ["The page is too large: the rest of it was not read."]),
      ...(given.rest > 0
        ? [`${given.rest} more characters follow: continue with from ${text.length - given.rest}.`]
        : []),
    ];
    return {
      url,
      ...(response.redirected ? { redirectedTo: response.url } : {}),
      title,
      text: given.text,
      ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
    };
  },
});

const MOST_TITLE = 300;

function titleOf(title: string, call: ToolCallContext): string {
  return beginningOf(call.hide(title, { end: title.length >= MOST_TITLE_READ }), 0, MOST_TITLE).text;
}

async function get(url: string, call: ToolCallContext): Promise<Response> {
  const headers = { accept: "text/html, application/xhtml+xml, text/*, application/json, */*;q=0.1" };
  let response: Response;
  try {
    response = await guardedFetch(call)(url, { headers });
  } catch (error) {
    if (NetworkRefusedError.isInstance(error)) throw new FinalFailure(error.message, {}, { cause: error });
    throw new Error(`${hostOf(url)} gave no answer: ${failureText(error, call)}.`, { cause: error });
  }
  const { status } = response;
  if (response.ok) return response;
  await response.body?.cancel().catch(() => undefined);
  const answer = `${hostOf(url)} answered ${status} for this page.`;
  if (status >= 500 || status === 429 || status === 408) throw new Error(answer);
  throw new FinalFailure(answer);
}

type PageContent = PageText & { readonly isWhole: boolean };
type PageSource = { readonly html: string; readonly url: string };
export const PAGE_TEXT: ThreadJob<PageSource, PageContent> = { name: "pageText" };

async function readContent(response: Response, url: string, signal: AbortSignal): Promise<PageContent> {
  const { type, charset } = contentTypeOf(response);
  const isHtml = type === "text/html" || type === "application/xhtml+xml";
  if (!isHtml && type !== "" && !isTextType(type)) {
    await response.body?.cancel().catch(() => undefined);
    throw new FinalFailure(`This address returned ${type}, which is not text: it cannot be read.`);
  }
  const { bytes, isWhole, isBroken } = await readAtMost(response, MOST_BYTES);
  if (isBroken) throw new Error(`The connection to ${hostOf(url)} broke in the middle of the page.`);
  if (!isHtml) {
    if (type === "" && bytes.includes(0))
      throw new FinalFailure(
        "This address returned content without a type that is not text: it cannot be read.",
      );
    return { title: null, text: decoded(bytes, charset), isWhole };
  }
  const named = charset ?? charsetIn(decoded(bytes.subarray(0, 2_048), "latin1"));
  const html = decoded(bytes, named);
  const page = await textOfPage(html, response.url === "" ? url : response.url, signal);
  return { ...page, isWhole: isWhole && page.isWhole };
}

/** Longer than any real page takes. */
const LONGEST_MS = 20_000;

async function textOfPage(html: string, url: string, signal: AbortSignal): Promise<PageContent> {
  try {
    return await offThread(PAGE_TEXT, { html, url }, { timeoutMs: LONGEST_MS, signal });
  } catch (error) {
    if (!(error instanceof OffThreadError)) throw error;
    throw new FinalFailure(`Reading this page ${error.why}: do without it.`, {}, { cause: error });
  }
}
