import type { Json } from "../core/json.ts";
import { visibleLine, visibleText } from "../core/visible-text.ts";

// Markdown around untrusted texts: whatever they contain, they cannot break out of their place.

const MAX_CHARACTERS = 4_000;
const MAX_INLINE = 300;

/** A text between fences that are longer than any in it. */
export function fence(text: string, language: "text" | "json" = "text"): string {
  const shown = visibleText(text);
  const marks = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `${marks}${language}\n${shown}${shown.endsWith("\n") ? "" : "\n"}${marks}`;
}

/** The same, but a long text is cut, and `whole` says where all of it is. */
export function shortFence(text: string, whole: string, language: "text" | "json" = "text"): string {
  const kept = beginningOf(text, MAX_CHARACTERS);
  return kept === text ? fence(text, language) : `${fence(`${kept}…`, language)}\n\nShortened: ${whole}.`;
}

/** Indented JSON. A string is shown as plain text. */
export function jsonFence(value: Json, whole: string): string {
  return typeof value === "string"
    ? shortFence(value, whole)
    : shortFence(JSON.stringify(value, null, 2), whole, "json");
}

/** At most that many characters, without splitting a surrogate pair. */
export function beginningOf(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
}

/** On one line, with the special characters of Markdown and HTML escaped. */
export function inline(text: string): string {
  const line = visibleLine(text);
  const kept = beginningOf(line, MAX_INLINE);
  return (kept === line ? line : `${kept}…`).replaceAll(/[\\`*_[\]<>|~&$]/g, (mark) => `\\${mark}`);
}

/** The same as the end of a sentence: with exactly one full stop. */
export function sentence(text: string): string {
  return `${inline(text).replace(/\.$/, "")}.`;
}

/** An id or a name, as code. A bar is escaped only in a table, where it would end the cell. */
export function code(text: string): string {
  const line = visibleLine(text);
  if (line === "") return "(empty)";
  const marks = "`".repeat(longestRun(line) + 1);
  const room = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${marks}${room}${line}${room}${marks}`;
}

/** A table of two columns; the cells are Markdown already. */
export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const cell = (text: string) => text.replaceAll(/(?<!\\)\|/g, "\\|");
  return [
    "| | |",
    "| --- | --- |",
    ...rows.map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`),
  ].join("\n");
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
