import type { Person } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandInput, CommandOption } from "./command.ts";

/** For every command by which a person decides something: who it was is kept. */
export const BY_OPTION: CommandOption = {
  flags: "--by <name>",
  summary: "who decides (your user name unless said)",
};

export function personOf({ userName }: CliContext, input: CommandInput): Person {
  const by = input.text("by") ?? userName;
  return by === null ? {} : { by };
}
