import type { Person } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../context/command.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** For every command that records a person's decision. */
export const BY_OPTION: CommandOption = {
  flags: "--by <name>",
  summary: "your name (default: your user name); your user account is recorded as well",
};

/** The person who acts: the name they give, and beside it the user that the operating system reports. */
export function personOf(context: CliContext, input: CommandInput): Person {
  const by = input.text("by");
  if (by?.trim() === "") throw new WrongUseError("--by is blank: give your name, or leave it out.");
  return { ...userOf(context), ...(by === null ? {} : { by }) };
}

/** The current user as reported by the operating system. */
export function userOf({ userName, userId }: Pick<CliContext, "userName" | "userId">): Person {
  if (userName === null && userId === null) return {};
  const name = userName ?? `uid ${userId}`;
  return { authenticated: { name, by: "os", ...(userId === null ? {} : { id: userId }) } };
}
