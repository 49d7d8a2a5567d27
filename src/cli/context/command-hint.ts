import { quoted } from "../../account/command-line.ts";
import { withoutPassword } from "../../store/postgres-address.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandInput } from "./command.ts";
import { cleanLine, widthOf } from "./terminal-text.ts";

/**
 * A command line ready to paste, with the --store and --config that this command was given. A password is left out: it
 * would be in a terminal, a log or a ticket. `PGPASSWORD` or a password file can give it.
 */
export function commandHint(input: CommandInput, ...words: readonly string[]): string {
  const given = ["store", "config"].flatMap((name) => {
    const value = input.text(name);
    return value === null ? [] : [`--${name}`, name === "store" ? withoutPassword(value) : value];
  });
  // Words may come from a model, so they are cleaned before they can reach a terminal.
  return ["pawl", ...words, ...given].map((word) => quoted(cleanLine(word))).join(" ");
}

/** Command lines for a terminal; a line that is too long is continued with a backslash. */
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
  // The last line needs no backslash, so the whole line may fit after all.
  const all = [...lines, line];
  const whole = all.map((each) => each.trim()).join(" ");
  return indent + (widthOf(whole) <= columns ? whole : all.join(` \\\n${indent}`));
}
