import { isJsonList, isJsonObject, type Json } from "../json.ts";
import type { ToolOutput } from "../message.ts";
import { shareOut } from "./result-share.ts";
import { estimatePartTokens, type TextEstimator, TOKENS_AROUND_RESULT } from "./token-estimate.ts";

/** What is needed to shorten a result: the texts for its note, and how its tokens are counted. */
export type Cutting = {
  readonly toolName: string;
  /** Calling the tool again only reads. */
  readonly isRead: boolean;
  readonly estimate: TextEstimator;
};

/** A result as the model sees it. It can be shortened further without the stored result. */
export type ShownOutput = {
  readonly output: ToolOutput;
  readonly within: (maxTokens: number) => ShownOutput;
};

/** A whole result. A shortened one is always a text: half of a JSON value is no JSON. */
export function shownOutput(output: ToolOutput, cutting: Cutting): ShownOutput {
  const { type, value } = output;
  if (type === "content" && isJsonList(value)) return shownParts(value, cutting);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const kind = type === "error-text" ? type : "text";
  return {
    output,
    within: (maxTokens) => cutText(wholeText(text), maxTokens - TOKENS_AROUND_RESULT, kind, cutting),
  };
}

/** Several parts share the limit. If they are too many for that, they are shown as one text. */
function shownParts(parts: readonly Json[], cutting: Cutting): ShownOutput {
  return {
    output: { type: "content", value: parts },
    within: (maxTokens) => {
      const together = maxTokens - TOKENS_AROUND_RESULT;
      const tokens = parts.map((part) => estimatePartTokens(part, cutting.estimate));
      const shares = shareOut(tokens, { each: together, together });
      if (shares.reduce((sum, share) => sum + share, 0) > together)
        return cutText(wholeText(JSON.stringify(parts)), together, "text", cutting);
      return shownParts(
        parts.map((part, i) =>
          (tokens[i] ?? 0) > (shares[i] ?? 0) ? cutPart(part, shares[i] ?? 0, cutting) : part,
        ),
        cutting,
      );
    },
  };
}

/** A file is shown whole or not at all. */
function cutPart(part: Json, maxTokens: number, cutting: Cutting): Json {
  if (isJsonObject(part) && part.type === "text" && typeof part.text === "string")
    return { type: "text", text: textWithin(wholeText(part.text), maxTokens, cutting).text };
  const kind = isJsonObject(part) && typeof part.mediaType === "string" ? part.mediaType : "unknown type";
  return { type: "text", text: `[A file of ${kind} is too large to be shown. ${advice(cutting)}]` };
}

/** A text whose middle may be missing: the rest of it, where it is cut, and how many characters are missing. */
type Excerpt = { readonly kept: string; readonly cutAt: number; readonly omitted: number };

function wholeText(text: string): Excerpt {
  return { kept: text, cutAt: text.length, omitted: 0 };
}

function cutText(
  excerpt: Excerpt,
  maxTokens: number,
  type: "text" | "error-text",
  cutting: Cutting,
): ShownOutput {
  const cut = textWithin(excerpt, maxTokens, cutting);
  return {
    output: { type, value: cut.text },
    within: (fewer) => cutText(cut.excerpt, fewer - TOKENS_AROUND_RESULT, type, cutting),
  };
}

/** The longest excerpt that fits, to within 1/64. No more of the text is examined than may fit. */
function textWithin(
  whole: Excerpt,
  maxTokens: number,
  cutting: Cutting,
): { readonly text: string; readonly excerpt: Excerpt } {
  const { estimate } = cutting;
  const longest = fullNote(whole.kept.length, whole.kept.length + whole.omitted, cutting);
  const note = estimate(longest) > maxTokens ? shortNote : fullNote;
  const textOf = (excerpt: Excerpt) => rendered(excerpt, note, cutting);
  const fits = (length: number) => estimate(textOf(shortened(whole, length))) <= maxTokens;
  let most = 0;
  let tooMany = Math.max(64, maxTokens);
  while (tooMany < whole.kept.length && fits(tooMany)) {
    most = tooMany;
    tooMany *= 2;
  }
  if (tooMany >= whole.kept.length) {
    tooMany = whole.kept.length;
    // The whole text may fit: it was counted differently when it was stored, as JSON or by another estimator.
    if (fits(tooMany)) most = tooMany;
  }
  while (tooMany - most > 1 + most / 64) {
    const middle = Math.floor((most + tooMany) / 2);
    if (fits(middle)) most = middle;
    else tooMany = middle;
  }
  const excerpt = shortened(whole, most);
  return { text: textOf(excerpt), excerpt };
}

/** Two thirds from the beginning and the rest from the end; no character is cut in half. */
function shortened({ kept, cutAt, omitted }: Excerpt, length: number): Excerpt {
  let head = Math.min(cutAt, Math.ceil((length * 2) / 3));
  let tail = Math.max(omitted === 0 ? head : cutAt, kept.length - (length - head));
  if (isInsidePair(kept, head)) head--;
  if (isInsidePair(kept, tail)) tail++;
  return {
    kept: `${kept.slice(0, head)}${kept.slice(tail)}`,
    cutAt: head,
    omitted: omitted + tail - head,
  };
}

function isInsidePair(text: string, at: number): boolean {
  return at > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

function rendered({ kept, cutAt, omitted }: Excerpt, note: typeof fullNote, cutting: Cutting): string {
  if (omitted === 0) return kept;
  return [kept.slice(0, cutAt), note(omitted, kept.length + omitted, cutting), kept.slice(cutAt)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function fullNote(omitted: number, total: number, cutting: Cutting): string {
  return `[${omitted} of ${total} characters of this result are not shown. ${advice(cutting)}]`;
}

function shortNote(omitted: number, total: number): string {
  return `[${omitted} of ${total} characters not shown]`;
}

/** The model cannot read the stored result: it can only call again for less, unless the call has an effect. */
function advice({ toolName, isRead }: Cutting): string {
  return isRead
    ? `To read the rest, call ${toolName} again for a smaller part, if it takes arguments for that.`
    : `To read the rest, use a tool that only reads; calling ${toolName} again may repeat its effect.`;
}
