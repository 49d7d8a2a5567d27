import type { NextStep } from "../../account/next-steps.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { formatHints } from "../context/command-hint.ts";
import { paragraph } from "../context/terminal-text.ts";
import { actCommand } from "./wait-hints.ts";

/** A possible next step and its commands, any one of which will do. */
export type CommandStep = { readonly what: string; readonly commands: readonly string[] };

/** The next steps, each act as its command. */
export function commandSteps(input: CommandInput, steps: readonly NextStep[]): readonly CommandStep[] {
  return steps.map(({ what, acts }) => ({ what, commands: acts.map((act) => actCommand(input, act)) }));
}

export function formatNextSteps(context: Pick<CliContext, "stdout">, steps: readonly CommandStep[]): string {
  return steps
    .map(
      ({ what, commands }) =>
        `${paragraph(`${what}:`, context.stdout.columns)}${formatHints(context, commands)}`,
    )
    .join("");
}
