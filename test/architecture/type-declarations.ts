import type { Token } from "./source-tokens.ts";

export type TypeDeclaration = { readonly name: string; readonly line: number };

const keywords: readonly string[] = ["type", "interface", "class", "enum"];

/** What follows the name in a declaration; in `import { type A }` and `export type { A }` something else does. */
const afterName: readonly string[] = ["=", "<", "{", "extends", "implements"];

/** The types, interfaces, classes and enums that a file declares, exported or not; those inside functions are left out. */
export function typesIn(tokens: readonly Token[]): readonly TypeDeclaration[] {
  let depth = 0;
  return tokens.flatMap((token, index) => {
    if (token.kind === "punctuation") depth += depthChange(token.text);
    const [name, next] = [tokens[index + 1], tokens[index + 2]];
    if (depth !== 0 || token.kind !== "word" || !keywords.includes(token.text)) return [];
    const isDeclared = name?.kind === "word" && afterName.includes(next?.text ?? "");
    return isDeclared ? [{ name: name.text, line: name.line }] : [];
  });
}

function depthChange(text: string): number {
  if (text === "{" || text === "${") return 1;
  return text === "}" ? -1 : 0;
}
