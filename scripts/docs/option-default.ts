// The default of an option, as its doc comment states it.

/** A piece of text that is not the end of a clause: code, a number with commas, parentheses, or anything but punctuation. */
const PIECE = String.raw`(?:\x60[^\x60]*\x60|\([^)]*\)|\d,(?=\d{3})|,(?= or | else )|[^.;:,()\x60])+`;

const FORMS = [
  new RegExp(String.raw`(?<said>\x60[^\x60]+\x60)(?: is)?,? the default\b`),
  new RegExp(String.raw`\bdefaults to (?<said>${PIECE})`, "i"),
  new RegExp(String.raw`\bby default:?,? (?<said>${PIECE})`, "i"),
  new RegExp(String.raw`(?:^|[.;:,] )(?<said>${PIECE}) by default`),
];

/** "30,000 ms" of "…, by default 30,000 ms."; null if the text states no default. */
export function statedDefault(text: string): string | null {
  const [first = null] = FORMS.flatMap((form) => form.exec(text)?.groups?.said ?? []);
  return first === null ? null : first.trim().replace(/^(?:True|False)$/, (word) => word.toLowerCase());
}
