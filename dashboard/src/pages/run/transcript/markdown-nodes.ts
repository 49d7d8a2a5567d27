import { lexer, type MarkedToken, type Token, type Tokens } from "marked";

/** Markdown as what may be shown of it. There is no HTML in it, and no address that a click could run. Its texts are as written. */
export type MarkdownNode =
  | { readonly kind: "text" | "code" | "inline_code"; readonly text: string }
  | { readonly kind: "break" | "rule" }
  | { readonly kind: "heading"; readonly level: number; readonly children: readonly MarkdownNode[] }
  | {
      readonly kind: "paragraph" | "quote" | "strong" | "em" | "del";
      readonly children: readonly MarkdownNode[];
    }
  | { readonly kind: "link"; readonly href: string; readonly children: readonly MarkdownNode[] }
  | {
      readonly kind: "list";
      readonly start: number | null;
      readonly items: readonly (readonly MarkdownNode[])[];
    }
  | {
      readonly kind: "table";
      readonly head: readonly (readonly MarkdownNode[])[];
      readonly rows: readonly (readonly (readonly MarkdownNode[])[])[];
    };

/** Deeper lists and quotes are shown as they were written: a page must not be nested until it breaks. */
const MOST_DEPTH = 12;

/** The time of the lexer grows with the square of a block: 6,000 characters of `_a_a` take a tenth of a second, 50,000 take nine. */
const MOST_IN_BLOCK = 6_000;
const MOST_CHARACTERS = 50_000;

/** False for texts that would hold the page up. */
function isQuick(text: string): boolean {
  return (
    text.length <= MOST_CHARACTERS && text.split(/\n\s*\n/).every((block) => block.length <= MOST_IN_BLOCK)
  );
}

/** The nodes of a text. One that the lexer cannot read, such as a quote in a thousand quotes, is shown as it was written. */
export function markdownNodes(text: string): readonly MarkdownNode[] {
  if (!isQuick(text)) return [{ kind: "paragraph", children: [shown(text)] }];
  try {
    return nodesOf(lexer(text, { gfm: true }), 0);
  } catch {
    return [{ kind: "paragraph", children: [shown(text)] }];
  }
}

function nodesOf(tokens: readonly Token[], depth: number): readonly MarkdownNode[] {
  if (depth > MOST_DEPTH) return [shown(tokens.map(({ raw }) => raw).join(""))];
  return tokens.flatMap((token) => nodeOf(token as MarkedToken, depth + 1));
}

function shown(text: string): MarkdownNode {
  return { kind: "text", text };
}

function nodeOf(token: MarkedToken, depth: number): readonly MarkdownNode[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "br":
      return [{ kind: "break" }];
    case "hr":
      return [{ kind: "rule" }];
    case "code":
      return [{ kind: "code", text: token.text }];
    case "codespan":
      return [{ kind: "inline_code", text: token.text }];
    case "heading":
      return [{ kind: "heading", level: token.depth, children: nodesOf(token.tokens, depth) }];
    case "paragraph":
      return [{ kind: "paragraph", children: nodesOf(token.tokens, depth) }];
    case "blockquote":
      return [{ kind: "quote", children: nodesOf(token.tokens, depth) }];
    case "strong":
    case "em":
    case "del":
      return [{ kind: token.type, children: nodesOf(token.tokens, depth) }];
    case "link":
      return token.raw === token.text
        ? bareAddress(token.text, token.href)
        : [linkNode(token.href, nodesOf(token.tokens, depth))];
    // An image would be fetched from elsewhere, and say there what the conversation is about.
    case "image":
      return [linkNode(token.href, [shown(token.text === "" ? token.href : token.text)])];
    case "list":
      return [listNode(token, depth)];
    case "list_item":
      return nodesOf(token.tokens, depth);
    case "checkbox":
      return [shown(token.checked ? "☑ " : "☐ ")];
    case "table":
      return [tableNode(token, depth)];
    case "text":
      return "tokens" in token && token.tokens !== undefined
        ? nodesOf(token.tokens, depth)
        : [shown(token.text)];
    case "escape":
      return [shown(token.text)];
    case "html":
      return [shown(token.raw)];
    // A later version of the lexer may have more.
    default:
      return [shown((token as Token).raw)];
  }
}

/** A link with a scheme that only leads somewhere; else its words, and where it would have led. */
function linkNode(href: string, children: readonly MarkdownNode[]): MarkdownNode {
  const address = safeAddress(href);
  if (address !== null) return { kind: "link", href: address, children };
  return { kind: "em", children: [...children, shown(` (${href})`)] };
}

/** An address that stands in a text by itself. The lexer takes all up to the next blank, with what JSON and quotes put after it. */
function bareAddress(text: string, href: string): readonly MarkdownNode[] {
  const end = addressEnd(text);
  const rest = text.slice(end);
  const link = linkNode(href.slice(0, href.length - rest.length), [shown(text.slice(0, end))]);
  return rest === "" ? [link] : [link, shown(rest)];
}

/** Where an address ends: before a character that none has, and before what closes the sentence or bracket around it. */
function addressEnd(text: string): number {
  let end = /["“”<>`{}|\\^]|$/.exec(text)?.index ?? text.length;
  for (; end > 0; end -= 1) {
    const last = text.charAt(end - 1);
    const opening = { ")": "(", "]": "[" }[last];
    if (opening === undefined ? !"'’»,.;:!?".includes(last) : isBalanced(text.slice(0, end), opening, last))
      return end;
  }
  return text.length;
}

function isBalanced(text: string, opening: string, closing: string): boolean {
  return text.split(closing).length <= text.split(opening).length;
}

/** An address of `http`, `https` or `mailto`, as a browser reads it; null for every other. */
export function safeAddress(href: string): string | null {
  const url = URL.canParse(href) ? new URL(href) : null;
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

function listNode({ ordered, start, items }: Tokens.List, depth: number): MarkdownNode {
  return {
    kind: "list",
    start: ordered ? Number(start) || 1 : null,
    items: items.map((item) => nodesOf(item.tokens, depth)),
  };
}

function tableNode({ header, rows }: Tokens.Table, depth: number): MarkdownNode {
  return {
    kind: "table",
    head: header.map(({ tokens }) => nodesOf(tokens, depth)),
    rows: rows.map((row) => row.map(({ tokens }) => nodesOf(tokens, depth))),
  };
}
