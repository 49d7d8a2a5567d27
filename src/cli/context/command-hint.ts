import type { CliContext } from "./cli-context.ts";
import type { CommandInput } from "./command.ts";
import { cleanLine, widthOf } from "./terminal-text.ts";

/** A command line that can be typed as it is: with the store and the configuration that this one was given. */
export function commandHint(input: CommandInput, ...words: readonly string[]): string {
  const given = ["store", "config"].flatMap((name) => {
    const value = input.text(name);
    return value === null ? [] : [`--${name}`, value];
  });
  // Words may come from a model: none of them reaches a terminal raw, wherever the hint is printed.
  return ["pawl", ...words, ...given].map((word) => quoted(cleanLine(word))).join(" ");
}

/** For a POSIX shell, and only where it needs it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-][\w@%+=:,./~#-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Command lines for a terminal: one that is too long goes on in the next line as a shell reads it. */
export function formatHints(
  { stdout }: Pick<CliContext, "stdout">,
  hints: readonly string[],
  indent = "  ",
): string {
  return hints.map((hint) => `${continued(hint, stdout.columns - indent.length, indent)}\n`).join("");
}

function continued(hint: string, columns: number, indent: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of cleanLine(hint).match(/(?:'[^']*'|\\.|[^\s'])+/g) ?? []) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || widthOf(longer) + " \\".length <= columns) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = `  ${word}`;
  }
  // The last line needs no backslash, so a word that was moved for its sake may fit after all.
  const all = [...lines, line];
  const whole = all.map((each) => each.trim()).join(" ");
  return indent + (widthOf(whole) <= columns ? whole : all.join(` \\\n${indent}`));
}
